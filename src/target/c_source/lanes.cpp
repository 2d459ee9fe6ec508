// SPDX-License-Identifier: Apache-2.0
// Vector statements as loops over lanes.
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "target/c_source/emitter.h"
#include "target/c_source/types.h"

namespace tilewright::target::c_source {

using ir::Expr;

void Emitter::for_lanes(int lanes, FunctionRef<std::string()> f) {
  Lines body;
  body.line(f());
  out_->wrap(str("for (int64_t ", kLane, " = 0; ", kLane, " < ", lanes, "; ++", kLane, ")"), body);
}

Text Emitter::in_array(const Expr& e, std::string_view wanted) {
  const std::string name = frame_->names.take(wanted);
  out_->line(str(value_type(e.type().elem), " ", name, "[", e.type().lanes, "];"));
  for_lanes(e.type().lanes, [&] { return str(name, "[", kLane, "] = ", expr(e).s, ";"); });
  return {str(name, "[", kLane, "]")};
}

/// Does `e` read memory that the store writes? Not counted, where `same_element`: the very element
/// that the same lane writes.
bool Emitter::reads_target(const Expr& e, const ir::Store& s, bool same_element) {
  bool found = false;
  ir::walk(e, [&](const ir::Load& l) {
    if (l.buffer != s.buffer) return;
    const bool same = same_element && ir::equal(l.indices[0], s.indices[0]);
    found = found || !same;
  });
  return found;
}

/// All lanes are computed before the first is written. Where a lane reads only the element that it
/// writes, one loop does both; otherwise what reads the buffer goes into arrays first:
///   a[ramp(0, 1, 8)] = a[ramp(7, -1, 8)]
///     ->  float a_next[8];
///         for (lane …) a_next[lane] = a[7 - lane];
///         for (lane …) a[lane] = a_next[lane];
void Emitter::vector_store(const ir::Store& s) {
  std::vector<Expr> indices = s.indices;
  Expr mask = s.mask, value = s.value;
  // A lane array stands for the expression by a variable.
  const auto set_aside = [&](Expr& e, std::string_view suffix) {
    const ir::Var var(str(s.buffer->name, suffix), e.type());
    const Text array = in_array(e, var.name());
    bind(var, array.s.substr(0, array.s.find('[')),
         e.type().is_float() ? Range{} : range_of(e.type().elem));
    e = var;
  };
  for (Expr& index : indices)
    if (index.type().is_vector() && reads_target(index, s, false)) set_aside(index, "_at");
  if (mask && reads_target(mask, s, false)) set_aside(mask, "_mask");
  if (reads_target(value, s, true)) set_aside(value, "_next");
  for_lanes(s.value.type().lanes, [&] {
    const std::string condition = mask ? "if (" + expr(mask).s + ") " : "";
    return condition + store(place_of(s.buffer), indices, expr(value));
  });
}

}  // namespace tilewright::target::c_source
