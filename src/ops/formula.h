// SPDX-License-Identifier: Apache-2.0
// Formulas of dimensions and of the elements of shape-like tensors: what `infer` and `elements`
// rules compute with.
#pragma once

#include <optional>
#include <vector>

#include "graph/call.h"
#include "support/function_ref.h"

namespace tilewright::ops {

using graph::Dim;
using graph::Shape;

/// cond ? yes : no; one of them when the condition is known.
Dim choose(const ir::Expr& cond, const Dim& yes, const Dim& no);
/// An index or axis that may count from the end.
Dim wrapped(const Dim& index, const Dim& extent);
/// 0 or 1
Dim as_int(const ir::Expr& cond);
/// of[index], where the index may be a formula.
Dim pick(const std::vector<Dim>& of, const Dim& index);
/// from <= index < to
ir::Expr in_range(const Dim& index, const Dim& from, const Dim& to);

/// Axes given as elements of input i, each in 0 … rank - 1 and no two equal: refused when they are
/// known to be wrong, else checked when the program runs.
std::vector<Dim> axes_of(const graph::Call& call, size_t i, int rank);
std::vector<Dim> normal_axes(const graph::Call& call, std::vector<Dim> axes, int rank);
/// values[j] for the j with axes[j] == axis, `otherwise` when there is none.
Dim at_axis(const std::vector<Dim>& axes, const std::vector<Dim>& values, int64_t axis,
            const Dim& otherwise);

/// a / b for products of extents. Equal factors cancel although they may be 0.
struct Quotient {
  Dim value;
  bool exact;  // nothing is left to divide by: a product of extents
};
Quotient quotient(const Shape& a, const Shape& b);

using Elements = std::optional<std::vector<Dim>>;
/// The elements of input i when they are known and the tensor has at most one dimension.
Elements list_of(const graph::Call& call, size_t i);
/// f of the inputs' elements, broadcast against each other; nothing when some are unknown, or a
/// result may not fit `elem`. That sizes fit i32 is checked when the program runs.
Elements map_elements(const graph::Call& call, ir::Elem elem,
                      FunctionRef<Dim(const std::vector<Dim>&)> f);

/// Whole numbers in floats of this type, as integers: checks that the type holds them exactly.
void check_exact(const graph::Call& call, ir::Elem elem, const std::vector<Dim>& wholes);

}  // namespace tilewright::ops
