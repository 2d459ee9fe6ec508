// SPDX-License-Identifier: Apache-2.0
#include "te/elementwise.h"

#include <algorithm>

#include "ir/equal.h"
#include "ir/print.h"
#include "support/str.h"

namespace tilewright::te {
namespace {

using Indices = std::vector<Expr>;

Shape shape_of(const Tensor& t) { return Shape(t.shape().begin(), t.shape().end()); }

Indices all_of(const std::vector<Var>& axes) { return Indices(axes.begin(), axes.end()); }

std::string print_shape(const Tensor& t) {
  std::string out;
  for (const ir::Expr& e : t.shape()) out += str(out.empty() ? "" : ", ", ir::print(e));
  return str("[", out, "]");
}

/// The extent of two that are aligned.
ir::Expr broadcast(const Tensor& a, const ir::Expr& m, const Tensor& b, const ir::Expr& n) {
  if (ir::is_const(m, 1)) return n;
  if (ir::is_const(n, 1) || ir::equal(m, n)) return m;
  throw Error({.code = "te.elementwise.shape",
               .message = str("`", a.name(), "` and `", b.name(), "` have shapes that do not fit"),
               .notes = {str("`", a.name(), "` is ", print_shape(a), ", `", b.name(), "` is ",
                             print_shape(b)),
                         "aligned at the last dimension, extents must be equal, or one of them 1"},
               .help = "reshape one of them with `compute`"});
}

/// The element of `t` that a point of the broadcast shape reads.
Expr element(const Tensor& t, const std::vector<Var>& point) {
  const size_t missing = point.size() - t.shape().size();
  Indices at;
  for (size_t d = 0; d < t.shape().size(); ++d)
    at.push_back(ir::is_const(t.shape()[d], 1) ? Expr(0) : Expr(point[missing + d]));
  return t.at(at);
}

Tensor reduce_over(const char* name, const Tensor& t, int axis,
                   Expr (*reduction)(const Expr&, const Axes&)) {
  const int rank = t.rank();
  if (axis < -rank || axis >= rank)
    throw Error({.code = "te.elementwise.axis",
                 .message = str("`", t.name(), "` has no axis ", axis),
                 .notes = {str("it has ", rank, " dimensions")},
                 .help = str("use an axis from ", -rank, " to ", rank - 1)});
  const size_t d = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const Axis k = reduce_axis(t.shape()[d], "k");
  Shape shape = shape_of(t);
  shape[d] = 1;
  return compute(str(t.name(), "_", name), shape, [&](const std::vector<Var>& axes) {
    Indices at = all_of(axes);
    at[d] = k;
    return reduction(t.at(at), k);
  });
}

}  // namespace

Tensor map(const Tensor& t, FunctionRef<Expr(const Expr&)> f) {
  return compute(shape_of(t), [&](const std::vector<Var>& axes) { return f(t.at(all_of(axes))); });
}

Tensor map(const Tensor& a, const Tensor& b, FunctionRef<Expr(const Expr&, const Expr&)> f) {
  const size_t rank = std::max(a.shape().size(), b.shape().size());
  Shape shape;
  for (size_t d = 0; d < rank; ++d) {
    const auto extent = [&](const Tensor& t) {
      const size_t missing = rank - t.shape().size();
      return d < missing ? ir::Expr(1) : t.shape()[d - missing];
    };
    shape.push_back(broadcast(a, extent(a), b, extent(b)));
  }
  return compute(
      shape, [&](const std::vector<Var>& axes) { return f(element(a, axes), element(b, axes)); });
}

Tensor sum_over(const Tensor& t, int axis) { return reduce_over("sum", t, axis, sum); }
Tensor max_over(const Tensor& t, int axis) { return reduce_over("max", t, axis, max_over); }
Tensor min_over(const Tensor& t, int axis) { return reduce_over("min", t, axis, min_over); }

}  // namespace tilewright::te
