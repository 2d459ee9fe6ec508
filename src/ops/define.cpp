// SPDX-License-Identifier: Apache-2.0
#include "ops/define.h"

#include "support/str.h"

namespace tilewright::ops {

ir::Elem wide(ir::Elem elem) {
  return ir::is_float(elem) && ir::bits(elem) < 32 ? ir::Elem::F32 : elem;
}

te::Expr as(ir::Elem elem, const te::Expr& value) {
  return !value.is_literal() && value.elem() == elem ? value : te::cast(elem, value);
}

te::Tensor as(ir::Elem elem, const te::Tensor& t) {
  if (t.elem() == elem) return t;
  return te::map(t, [&](const te::Expr& x) { return te::cast(elem, x); });
}

te::Shape shape_of(const te::Tensor& t) { return te::Shape(t.shape().begin(), t.shape().end()); }

te::Expr broadcast_read(const te::Tensor& t, const At& point) {
  const size_t missing = point.size() - t.shape().size();
  At at;
  for (size_t d = 0; d < t.shape().size(); ++d)
    at.push_back(ir::is_const(t.shape()[d], 1) ? te::Expr(0) : point[missing + d]);
  return t.at(at);
}

te::Expr broadcast_read(const graph::Call& call, size_t i, const At& point) {
  const te::Tensor& t = call.in(i);
  const graph::Shape& out = call.out(0).shape;
  const size_t missing = point.size() - t.shape().size();
  At at;
  for (size_t d = 0; d < t.shape().size(); ++d) {
    const ir::Expr& extent = t.shape()[d];
    at.push_back(ir::is_const(extent, 1)                 ? te::Expr(0)
                 : graph::same(extent, out[missing + d]) ? point[missing + d]
                                                         : te::min(point[missing + d], extent - 1));
  }
  return t.at(at);
}

te::Tensor reduce_dims(const te::Tensor& t, const std::vector<int>& axes, ReduceFn reduction,
                       FunctionRef<te::Expr(const te::Expr&)> f) {
  if (axes.empty()) return te::map(t, f);
  te::Shape shape = shape_of(t);
  std::vector<te::Axis> over;
  for (const int axis : axes) {
    const size_t d = static_cast<size_t>(axis);
    over.push_back(te::reduce_axis(shape[d], str("k", d)));
    shape[d] = 1;
  }
  return te::compute(str(t.name(), "_over"), shape, [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    for (size_t k = 0; k < axes.size(); ++k) at[static_cast<size_t>(axes[k])] = over[k];
    return reduction(f(t.at(at)), te::Axes(over));
  });
}

te::Tensor reduce_dims(const te::Tensor& t, const std::vector<int>& axes, ReduceFn reduction) {
  return reduce_dims(t, axes, reduction, [](const te::Expr& x) { return x; });
}

te::Expr count_of(const te::Tensor& t, const std::vector<int>& axes) {
  ir::Expr count = ir::int_imm(ir::Elem::I64, 1);
  for (const int axis : axes) count = count * t.shape()[static_cast<size_t>(axis)];
  return count;
}

te::Expr power(const te::Expr& x, double p) {
  if (p == 1) return te::abs(x);
  if (p == 2) return x * x;
  return te::pow(te::abs(x), p);
}

te::Expr root(const te::Expr& sum, double p) {
  if (p == 1) return sum;
  if (p == 2) return te::sqrt(sum);
  return te::pow(sum, 1 / p);
}

std::vector<int> range(int first, int last) {
  std::vector<int> out;
  for (int i = first; i < last; ++i) out.push_back(i);
  return out;
}

}  // namespace tilewright::ops
