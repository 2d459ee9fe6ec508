// SPDX-License-Identifier: Apache-2.0
// NonZero: a count, whose value is an extent of the result, then the indices.
#include <array>

#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Expr;

std::vector<Type> infer_count(const Call& call) {
  call.tensor(0);
  return {tensor_of(ir::Elem::I64, {})};
}

std::vector<te::Tensor> count(const Call& call) {
  const te::Tensor& x = call.in(0);
  std::vector<te::Axis> axes;
  std::vector<te::Expr> at;
  for (const Dim& extent : call.shape(0)) {
    axes.push_back(te::reduce_axis(te::Expr(extent), "k"));
    at.push_back(axes.back());
  }
  const te::Expr counts = te::cast(ir::Elem::I64, te::cast(ir::Elem::Bool, x.at(at)));
  return {te::compute("count", {},
                      [&] { return axes.empty() ? counts : te::sum(counts, te::Axes(axes)); })};
}

// Inputs: x, and the number of its elements that are not 0.
std::vector<Type> infer_places(const Call& call) {
  const Dim n = call.extent(call.element(1, 0));
  return {tensor_of(ir::Elem::I64, {call.rank(0), n})};
}

ir::LoopFunc places(const Call& call) {
  const LoopForm f(call, "nonzero", 1);
  const Scalar n("n", ir::Elem::I64);
  const Expr found = call.out(0).shape[1];
  const ir::Stmt body = each(call.shape(0), [&](const Coords& at) {
    std::vector<ir::Stmt> stores;
    for (size_t d = 0; d < at.size(); ++d)
      stores.push_back(store(f.out(0), {static_cast<int64_t>(d), n.get()}, at[d]));
    stores.push_back(n.add(1));
    const Expr set = ir::cast(ir::Elem::Bool, ir::load(f.in(0), at));
    return when(ir::logical_and(set, n.get() < found), steps(std::move(stores)));
  });
  return f.func(alone("nonzero", {f.in(0)}, {f.out(0)}, with({n}, steps({n.set(0), body}))));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const ValueId count = g.call(nonzero_ops()[0], {}, {n.need(0)});
  g.output(n, g.call(nonzero_ops()[1], {}, {n.need(0), count}));
}

}  // namespace

std::span<const OpDef> nonzero_ops() {
  static const std::array<OpDef, 2> defs = {
      define_op({.name = "nonzero_count",
                 .fusion = FusionKind::Reduction,
                 .infer = infer_count,
                 .algorithms = {{.name = "direct", .define = count}}}),
      define_op({.name = "nonzero",
                 .infer = infer_places,
                 .loops = places,
                 .onnx = {{.op = "NonZero", .from = 9, .rule = from_onnx}}})};
  return defs;
}

}  // namespace tilewright::ops
