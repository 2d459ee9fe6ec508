// SPDX-License-Identifier: Apache-2.0
#include "ir/reducer.h"

#include <limits>
#include <map>
#include <mutex>

#include "ir/scalar.h"

namespace tilewright::ir {
namespace {

Expr identity_of(BinaryOp op, Elem elem) {
  if (!is_float(elem)) {
    int64_t v = 0;
    if (op == BinaryOp::Mul || op == BinaryOp::And) v = 1;
    if (op == BinaryOp::Max) v = int_min(elem);
    if (op == BinaryOp::Min) v = static_cast<int64_t>(int_max(elem));
    return make<IntImm>({}, Type{elem, 1}, v);
  }
  const double inf = std::numeric_limits<double>::infinity();
  double v = round_to(elem, 0);
  if (op == BinaryOp::Mul) v = 1;
  if (op == BinaryOp::Max) v = least_value(elem);
  if (op == BinaryOp::Min) v = round_to(elem, inf) == inf ? inf : greatest_finite(elem);
  return make<FloatImm>({}, Type{elem, 1}, v);
}

struct Builtin {
  BinaryOp op;
  std::string_view name;
};
constexpr Builtin kBuiltins[] = {
    {BinaryOp::Add, "sum"}, {BinaryOp::Mul, "prod"}, {BinaryOp::Min, "min"},
    {BinaryOp::Max, "max"}, {BinaryOp::And, "all"},  {BinaryOp::Or, "any"},
};

std::string_view name_of(BinaryOp op) {
  for (const Builtin& b : kBuiltins)
    if (b.op == op) return b.name;
  throw InternalError("no built-in reducer for this operator");
}

}  // namespace

Reducer builtin_reducer(BinaryOp op, Elem elem) {
  static std::mutex mutex;
  static std::map<std::pair<BinaryOp, Elem>, Reducer> made;
  const std::lock_guard lock(mutex);
  Reducer& known = made[{op, elem}];
  if (!known) {
    auto node = std::make_shared<ReducerNode>();
    node->name = name_of(op);
    const Var x("x", {elem, 1}), y("y", {elem, 1});
    node->lhs = {x};
    node->rhs = {y};
    node->combine = {make<Binary>({}, op, x, y)};
    node->identity = {identity_of(op, elem)};
    known = Reducer(std::shared_ptr<const ReducerNode>(std::move(node)));
  }
  return known;
}

std::optional<BinaryOp> builtin_reducer_op(std::string_view name) {
  for (const Builtin& b : kBuiltins)
    if (b.name == name) return b.op;
  return std::nullopt;
}

bool is_builtin(const Reducer& r) {
  const std::optional<BinaryOp> op = builtin_reducer_op(r->name);
  return op && single_op(*r) == op && r == builtin_reducer(*op, r->lhs[0].type().elem);
}

std::optional<BinaryOp> single_op(const ReducerNode& r) {
  if (r.lhs.size() != 1) return std::nullopt;
  const Binary* b = r.combine[0].as<Binary>();
  if (!b || b->a != r.lhs[0] || b->b != r.rhs[0]) return std::nullopt;
  return b->op;
}

}  // namespace tilewright::ir
