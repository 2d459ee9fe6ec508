// SPDX-License-Identifier: Apache-2.0
// Inverse and CDist of com.microsoft.
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/contrib.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Buffer;
using ir::Elem;
using ir::Expr;
using ir::Stmt;

std::vector<Type> infer_inverse(const Call& call) {
  need_float(call, 0);
  need_min_rank(call, 0, 2);
  const Shape& shape = call.shape(0);
  call.equal(shape[shape.size() - 2], shape.back(), "the sides of a matrix to invert");
  return {call.type(0)};
}

/// Gauss and Jordan, with the greatest pivot of a column. A singular matrix gives inf and NaN.
ir::LoopFunc inverse(const Call& call) {
  const LoopForm f(call, "inverse", 1);
  const Elem elem = wide(call.elem(0));
  const Expr n = call.shape(0).back();
  const Buffer left = ir::make_buffer("left", elem, {n, n}),
               right = ir::make_buffer("right", elem, {n, n});
  const Scalar pivot("pivot", Elem::I64);
  const Shape stack(call.shape(0).begin(), call.shape(0).end() - 2);

  const auto swap = [&](const Buffer& m, const Expr& r, const Expr& c) {
    return let("upper", ir::load(m, {r, c}), [&](const Expr& upper) {
      return steps(
          {store(m, {r, c}, ir::load(m, {pivot.get(), c})), store(m, {pivot.get(), c}, upper)});
    });
  };
  const auto column = [&](const Expr& k) {
    const auto size = [&](const Expr& r) {
      return ir::unary(ir::UnaryOp::Abs, ir::load(left, {r, k}));
    };
    const Stmt choose = steps({pivot.set(k), each("r", n - k, [&](const Expr& d) {
                                 return when(size(pivot.get()) < size(k + d), pivot.set(k + d));
                               })});
    const Stmt exchange =
        each("c", n, [&](const Expr& c) { return steps({swap(left, k, c), swap(right, k, c)}); });
    const Stmt scale = let("divisor", ir::load(left, {k, k}), [&](const Expr& divisor) {
      return each("c", n, [&](const Expr& c) {
        return steps({store(left, {k, c}, ir::load(left, {k, c}) / divisor),
                      store(right, {k, c}, ir::load(right, {k, c}) / divisor)});
      });
    });
    const Stmt clear = each("r", n, [&](const Expr& r) {
      const Stmt row = let("factor", ir::load(left, {r, k}), [&](const Expr& factor) {
        const auto less = [&](const Buffer& m, const Expr& c) {
          return store(m, {r, c}, ir::load(m, {r, c}) - factor * ir::load(m, {k, c}));
        };
        return each("c", n, [&](const Expr& c) { return steps({less(left, c), less(right, c)}); });
      });
      return when(ir::ne(r, k), row);
    });
    return steps({choose, exchange, scale, clear});
  };
  const auto matrix = [&](const Coords& v) {
    const auto at = [&](const Expr& r, const Expr& c) {
      Coords place = v;
      place.push_back(r);
      place.push_back(c);
      return place;
    };
    const auto every = [&](FunctionRef<Stmt(const Expr&, const Expr&)> body) {
      return each("r", n, [&](const Expr& r) {
        return each("c", n, [&](const Expr& c) { return body(r, c); });
      });
    };
    const Stmt start = every([&](const Expr& r, const Expr& c) {
      return steps({store(left, {r, c}, ir::cast(elem, ir::load(f.in(0), at(r, c)))),
                    store(right, {r, c}, ir::cast(elem, ir::eq(r, c)))});
    });
    const Stmt end = every([&](const Expr& r, const Expr& c) {
      return store(f.out(0), at(r, c), ir::cast(call.elem(0), ir::load(right, {r, c})));
    });
    return with({pivot, left, right}, steps({start, each("k", n, column), end}));
  };
  const auto all_of = [](const Buffer& b) {
    return [b](const Coords& v) {
      Coords at = v;
      at.resize(v.size() + 2);
      return std::vector{part(b, at)};
    };
  };
  return f.func(independent("inverse", stack, all_of(f.in(0)), all_of(f.out(0)), matrix));
}

struct DistanceAttrs {
  bool root = true;
  static constexpr auto fields = std::tuple{field("root", &DistanceAttrs::root)};
};

std::vector<Type> infer_distance(const Call& call) {
  need_float(call, 0);
  need_same_elem(call, 0, 1);
  need_rank(call, 0, 2);
  need_rank(call, 1, 2);
  call.equal(call.shape(0)[1], call.shape(1)[1], "the coordinates of the points");
  return {tensor_of(call.elem(0), {call.shape(0)[0], call.shape(1)[0]})};
}

std::vector<te::Tensor> distance(const Call& call) {
  const Elem elem = call.elem(0);
  const te::Axis k = te::reduce_axis(te::Expr(call.shape(0)[1]), "k");
  return {te::compute("distance", call.out_shape(), [&](const te::Var& a, const te::Var& b) {
    const te::Expr d = as(wide(elem), call.in(0)(a, k)) - as(wide(elem), call.in(1)(b, k));
    const te::Expr square = te::sum(d * d, k);
    return as(elem, call.attrs<DistanceAttrs>().root ? te::sqrt(square) : square);
  })};
}

void inverse_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(contrib_math_ops()[0], {}, {n.need(0)}));
}

void distance_from_onnx(const OnnxNode& n, Builder& g) {
  const std::string metric = n.attr_string("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean")
    n.refuse("ops.cdist.metric", str("metric is `", metric, "`"), "use euclidean or sqeuclidean");
  g.output(n, g.call(contrib_math_ops()[1], DistanceAttrs{.root = metric == "euclidean"},
                     {n.need(0), n.need(1)}));
}

}  // namespace

std::span<const OpDef> contrib_math_ops() {
  static const std::array<OpDef, 2> defs = {
      define_op(
          {.name = "inverse",
           .infer = infer_inverse,
           .loops = inverse,
           .onnx = {{.op = "Inverse", .rule = inverse_from_onnx, .domain = "com.microsoft"}}}),
      define_op<DistanceAttrs>(
          {.name = "distance",
           .fusion = FusionKind::Reduction,
           .infer = infer_distance,
           .algorithms = {{.name = "direct", .define = distance}},
           .onnx = {{.op = "CDist", .rule = distance_from_onnx, .domain = "com.microsoft"}}})};
  return defs;
}

}  // namespace tilewright::ops
