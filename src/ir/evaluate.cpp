// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate.h"

#include "ir/build.h"
#include "ir/scalar.h"

namespace tilewright::ir {

std::optional<int64_t> evaluate(const Expr& e, const Values& values) {
  if (const auto c = const_int(e)) return c;
  if (const VarNode* v = e.as<VarNode>()) {
    const auto known = values.find(v);
    return known == values.end() ? std::nullopt : std::optional(known->second);
  }
  if (const Select* s = e.as<Select>()) {
    const auto condition = evaluate(s->cond, values);
    if (!condition) return std::nullopt;
    return evaluate(*condition != 0 ? s->yes : s->no, values);
  }
  const Binary* binary = e.as<Binary>();
  if (!binary) return std::nullopt;
  const auto a = evaluate(binary->a, values), b = evaluate(binary->b, values);
  if (!a || !b) return std::nullopt;
  return int_binary(binary->op, Elem::I64, *a, *b);
}

}  // namespace tilewright::ir
