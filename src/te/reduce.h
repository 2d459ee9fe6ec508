// SPDX-License-Identifier: Apache-2.0
// Reductions: `sum(A(i, k) * B(k, j), k)`, and reducers of the user's own.
#pragma once

#include <string>
#include <vector>

#include "support/function_ref.h"
#include "te/expr.h"

namespace tilewright::te {

/// What a reduction runs over: 0 … extent - 1.
class Axis : public Var {
 public:
  Axis(ir::Var var, ir::Expr extent) : Var(var), iter_{std::move(var), std::move(extent)} {}
  const Iter& iter() const { return iter_; }

 private:
  Iter iter_;
};
Axis reduce_axis(const Expr& extent, std::string name = "k");

/// One axis or several: `k`, `{r, s, c}`.
class Axes : public std::vector<Axis> {
 public:
  Axes(const Axis& one) : vector{one} {}
  Axes(std::initializer_list<Axis> several) : vector(several) {}
  Axes(std::vector<Axis> several) : vector(std::move(several)) {}
};

/// Values of single elements that belong together, such as (index, value) of an argmax.
using Tuple = std::vector<Expr>;

/// A reduction as it stands inside an expression.
struct Reduction {
  ir::Reducer reducer;
  std::vector<Iter> axes;
  Tuple values;
  std::vector<ir::Var> results;  // stand for the reduced values in the expression around
};

/// The values reduced over the axes; as many results as the reducer combines.
Tuple reduce(const ir::Reducer& reducer, const Tuple& values, const Axes& axes,
             const Span& span = {});

Expr sum(const Expr& value, const Axes& axes);
Expr prod(const Expr& value, const Axes& axes);
/// `max(a, b)` is the greater of two values, so that the reductions need names of their own.
Expr max_over(const Expr& value, const Axes& axes);
Expr min_over(const Expr& value, const Axes& axes);
Expr all(const Expr& condition, const Axes& axes);
Expr any(const Expr& condition, const Axes& axes);

/// (index, value) of the greatest or least value. Of equal ones the lowest index wins, and NaN wins
/// over everything. Over an empty axis the index is the greatest i64.
Tuple argmax(const Expr& value, const Axis& axis);
Tuple argmin(const Expr& value, const Axis& axis);
ir::Reducer argmax_reducer(ir::Elem elem);
ir::Reducer argmin_reducer(ir::Elem elem);

/// A commutative and associative way to combine tuples of these types. `identity` are constants
/// with combine(identity, x) == x. The user vouches for the laws; steps reorder terms on the
/// strength of them.
ir::Reducer reducer(std::string name, const std::vector<ir::Elem>& elems,
                    FunctionRef<Tuple(const Tuple& x, const Tuple& y)> combine,
                    const Tuple& identity);
/// The same reducer with a rescale law: what becomes of a partial result when an earlier reduction
/// that its values depend on, of types `of`, moves from `from` to `to`.
ir::Reducer with_rescale(
    const ir::Reducer& reducer, const std::vector<ir::Elem>& of,
    FunctionRef<Tuple(const Tuple& partial, const Tuple& from, const Tuple& to)> rescale);

}  // namespace tilewright::te
