// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"

namespace tilewright::ir {

/// A commutative, associative way to combine values; a tuple where one value is not enough.
///   reducer argmax(i: i64, x: f32 | j: i64, y: f32)
///     = (select(y > x, j, i), max(x, y)) identity (0, -inf)
/// Declaring it gives every step the right to combine the terms in any order.
///
/// The rescale law says how a partial result changes when an earlier reduction it depends on moves
/// from `from` to `to`, e.g. softmax's sum when the running maximum grows:
///   rescale (s | from, to) = s * exp(from - to)
struct ReducerNode {
  std::string name;
  std::vector<Var> lhs, rhs;   // the two tuples that are combined
  std::vector<Expr> combine;   // of lhs and rhs, one per element of the tuple
  std::vector<Expr> identity;  // combine(identity, x) == x
  // The rescale law, or all empty.
  std::vector<Var> partial;
  std::vector<Var> from, to;
  std::vector<Expr> rescale;

  static constexpr auto fields =
      members(&ReducerNode::name, &ReducerNode::lhs, &ReducerNode::rhs, &ReducerNode::combine,
              &ReducerNode::identity, &ReducerNode::partial, &ReducerNode::from, &ReducerNode::to,
              &ReducerNode::rescale);
};
using Reducer = Handle<ReducerNode>;

/// sum, prod, min, max of one element type; and, or of bool. One node per (op, elem).
Reducer builtin_reducer(BinaryOp op, Elem elem);
/// The operator of `sum`, `prod`, `min`, `max`, `all`, `any`.
std::optional<BinaryOp> builtin_reducer_op(std::string_view name);
/// Is it the very node that builtin_reducer gives?
bool is_builtin(const Reducer& reducer);
/// The operator of a built-in reducer, by structure: combine is one Binary of lhs[0] and rhs[0].
std::optional<BinaryOp> single_op(const ReducerNode& reducer);

}  // namespace tilewright::ir
