// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/call.h"

namespace tilewright::ops {

/// Groups of element types that operators are defined on.
enum class Kind : uint8_t {
  Any,     // every type, strings aside
  Number,  // all but bool
  Signed,  // numbers with a sign
  Float,
  Int,
  Bool,
};

bool is(Kind kind, ir::Elem elem);
/// Refuses an input i whose elements are not of this kind. `code` is the operator's own.
void need(const graph::Call& call, size_t i, Kind kind, std::string_view code);

}  // namespace tilewright::ops
