// SPDX-License-Identifier: Apache-2.0
// What the passes that recover patterns ask of the nodes before a value.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "graph/rewriter.h"

namespace tilewright::graph {

/// The number that all elements of a constant are; nothing for other values.
std::optional<double> number_of(Rewriter& r, ValueId id);
/// The node that makes the value, when it is a call of the operator and nobody else reads it.
const Node* inner(Rewriter& r, ValueId id, std::string_view op);

/// The operand of `n` beside a constant number, which may stand on either side.
std::optional<std::pair<ValueId, double>> beside_number(Rewriter& r, const Node& n);
/// The operand of `n` beside `one`.
std::optional<ValueId> beside(const Node& n, ValueId one);

/// The dimensions that a reduction with kept dimensions works along, sorted; nothing when they are
/// not known or not kept.
std::optional<std::vector<int64_t>> kept_axes(Rewriter& r, const Node& reduction);

/// 1 / root(x): the x, for reciprocal(sqrt(x)), 1 / sqrt(x) and pow(x, -0.5).
std::optional<ValueId> inverse_root_of(Rewriter& r, ValueId id);
/// x * x as a product or a power: the x.
std::optional<ValueId> square_of(Rewriter& r, ValueId id);

/// A polynomial of one value: factors of its powers from 0 to 3.
struct Polynomial {
  std::array<double, 4> factors = {};
  bool operator==(const Polynomial&) const = default;
};
/// Equal as far as the rounding of constants to this type goes.
bool about(const Polynomial& p, const Polynomial& wanted, ir::Elem elem);

/// A + B * t, where A and B are polynomials of x, and t is what one call of another operator makes.
struct WithOneFunction {
  Polynomial a, b;
};
/// The node's result in that form; nothing when it has none. Values between are read by nobody
/// else.
std::optional<WithOneFunction> with_one_function(Rewriter& r, const Node& n, ValueId x, ValueId t);
std::optional<Polynomial> polynomial(Rewriter& r, ValueId id, ValueId x);

}  // namespace tilewright::graph
