// SPDX-License-Identifier: Apache-2.0
// What the words of each instruction mean: one row per PlanOp, read by the builder, the verifier
// and the printer.
#pragma once

#include <cstdint>

#include "module/plan.h"

namespace tilewright {

/// Kinds of operands:  d register written   r register read   v value   w value that is set
///                     t jump target        m message         n number, checked by the operation
/// Calls have a fixed head and then as many operands as it says.
struct PlanOpInfo {
  const char* name;
  const char* operands;
};

const PlanOpInfo& info_of(PlanOp op);

constexpr uint32_t plan_word(PlanOp op, uint32_t words) {
  return static_cast<uint32_t>(op) | words << 8;
}
constexpr uint32_t words_of(uint32_t head) { return head >> 8; }
constexpr uint32_t op_number(uint32_t head) { return head & 0xff; }

/// Call and CallChecked: [head kernel workspace scratch n_buffers n_scalars buffers… scalars…].
constexpr uint32_t kCallHead = 6;
/// HostCall: [head host_op attributes n_inputs n_outputs inputs… outputs…].
constexpr uint32_t kHostCallHead = 5;

/// The attributes of a host call: [count], then for each [name kind n payload…]. An integer and a
/// float take two words, low one first; a string is [name bytes]: its place in the names.
enum class AttributeKind : uint32_t { Int, Float, String };
constexpr uint32_t kAttributeList = 0x100;  // added to the kind of a list

}  // namespace tilewright
