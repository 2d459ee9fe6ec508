// SPDX-License-Identifier: Apache-2.0
// What definitions of operators share: wide types, indices, reductions of several dimensions.
#pragma once

#include <vector>

#include "graph/call.h"
#include "te/te.h"

namespace tilewright::ops {

inline graph::Type tensor_of(ir::Elem elem, graph::Shape shape) {
  graph::TensorType type;
  type.elem = elem;
  type.shape = std::move(shape);
  return type;
}

using At = std::vector<te::Expr>;

/// The type that sums of `elem` are computed in: f32 for narrower floats, else the type itself.
ir::Elem wide(ir::Elem elem);
/// `value` in another type; itself when it has that type.
te::Expr as(ir::Elem elem, const te::Expr& value);
/// f(x), where floats narrower than f32 are computed in f32 and rounded once.
template <class F>
te::Expr in_wide(const te::Expr& x, F f) {
  return as(x.elem(), f(as(wide(x.elem()), x)));
}
/// `t` in another type; itself when it has that type.
te::Tensor as(ir::Elem elem, const te::Tensor& t);

inline At indices_of(const std::vector<te::Var>& axes) { return At(axes.begin(), axes.end()); }
te::Shape shape_of(const te::Tensor& t);
/// The element of `t` that a point of a broadcast shape reads: aligned at the last dimension, 0
/// where `t` has constant extent 1.
te::Expr broadcast_read(const te::Tensor& t, const At& point);
/// The element of input i that a point of the result reads, where a dimension may also turn out to
/// be 1 when the program runs.
te::Expr broadcast_read(const graph::Call& call, size_t i, const At& point);

using ReduceFn = te::Expr (*)(const te::Expr& value, const te::Axes& axes);
/// f(element) of `t` reduced over the dimensions `axes`, which stay with extent 1. Without axes it
/// is f of every element.
te::Tensor reduce_dims(const te::Tensor& t, const std::vector<int>& axes, ReduceFn reduction,
                       FunctionRef<te::Expr(const te::Expr&)> f);
te::Tensor reduce_dims(const te::Tensor& t, const std::vector<int>& axes, ReduceFn reduction);
/// The number of elements that such a reduction combines.
te::Expr count_of(const te::Tensor& t, const std::vector<int>& axes);

/// |x|^p, and the p-th root of a sum of such.
te::Expr power(const te::Expr& x, double p);
te::Expr root(const te::Expr& sum, double p);

/// first, first + 1, … last - 1
std::vector<int> range(int first, int last);

}  // namespace tilewright::ops
