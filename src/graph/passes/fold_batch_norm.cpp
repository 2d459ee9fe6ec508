// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

bool is_wide_float(ir::Elem elem) { return elem == ir::Elem::F32 || elem == ir::Elem::F64; }

bool batch_norm(Rewriter& r, const Node& n) {
  if (n.op->name != "batch_norm" || attr<int64_t>(n, "per_element")) return false;
  const TensorType* x = r.tensor(n.inputs[0]);
  if (!x || !is_wide_float(x->elem)) return false;
  const ir::Elem elem = x->elem;      // `x` does not outlive the making of values
  std::vector<double> parameters[4];  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    const Constant& c = r.value(n.inputs[i + 1]).constant;
    if (!c) return false;
    parameters[i] = numbers_of(*c);
  }
  const auto& [scale, bias, mean, variance] = parameters;
  const double epsilon = attr<double>(n, "epsilon");
  std::vector<double> factors, shifts;
  for (size_t c = 0; c < scale.size(); ++c) {
    factors.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    shifts.push_back(bias[c] - mean[c] * factors.back());
  }
  std::vector<int64_t> shape(static_cast<size_t>(std::max(x->rank() - 1, 1)), 1);
  shape[0] = static_cast<int64_t>(scale.size());
  const ValueId factor = r.constant(float_constant(elem, shape, factors));
  const ValueId shift = r.constant(float_constant(elem, shape, shifts));
  return r.replace(n.outputs[0], r.call("add", {r.call("mul", {n.inputs[0], factor}), shift}));
}

}  // namespace

/// Normalisation by constants is a multiplication and an addition; fold_scales may put both into
/// the weights before it.
///   before   %y: f32[1, 8, 4, 4] = batch_norm(%x, %scale, %bias, %mean, %variance)
///   after    %a: f32[1, 8, 4, 4] = mul(%x, %factor: const f32[8, 1, 1])
///            %y: f32[1, 8, 4, 4] = add(%a, %shift: const f32[8, 1, 1])
/// Real-equal: the constants are computed in f64 and rounded once.
Graph fold_batch_norm(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, batch_norm);
}

}  // namespace tilewright::graph
