// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module/view.h"
#include "support/bare/memory.h"

namespace tilewright {

/// What the verifier found out about a plan and a run needs to know.
struct PlanFacts {
  Array<uint8_t> at_entry;   // for each value: 1 when it is defined before the body runs
  Array<ValueId> outputs;    // for each output, its value
  uint32_t max_buffers = 0;  // of one kernel call
  uint32_t max_scalars = 0;
  int64_t workspace_bytes = 0;  // the largest of those that are constant
  int64_t scratch_bytes = 0;
};

/// Proves that a plan stays inside its tables when it runs:
/// - every register, value, kernel, name, attribute and jump target exists, every value has the
/// type
///   that its instruction works on;
/// - constants, bound registers and what the prologue computes are not written later;
/// - inputs and constants are not written to;
/// - the parameters of a Call lie apart and inside the arena. Of a CallChecked, and of values with
///   computed offsets or sizes, a run checks it.
/// What a jump leads to is not followed: a run finds values that are not yet defined.
bool verify_plan(const ModuleView& module, const VariantView& variant, const Allocator& allocator,
                 PlanFacts& facts, ErrorText& error);

}  // namespace tilewright
