// SPDX-License-Identifier: Apache-2.0
// Fused operators of com.microsoft, as what they are fused from.
#include "ops/contrib.h"

#include <array>

#include "ops/as_onnx.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

ValueId activation(const Make& m, std::string_view name, ValueId x, double alpha = 0) {
  return m.g.call(op(name), ActivationAttrs{.alpha = alpha}, {x});
}

void gelu(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  g.output(n, activation(m, "gelu", m.add_if(n.need(0), n.in(1))));
}

void fast_gelu(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  g.output(n, activation(m, "gelu_tanh", m.add_if(n.need(0), n.in(1))));
}

void quick_gelu(const OnnxNode& n, Builder& g) {
  g.output(n, activation({n, g}, "swish", n.need(0), n.attr_float("alpha", 1.702F)));
}

/// The first half of the last dimension times gelu of the second.
void bias_split_gelu(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId x = m.add(n.need(0), n.need(1));
  const Dim half = simplified(m.dim(x, -1) / Dim(2));
  const std::vector<ValueId> parts = m.split(x, {half, half}, -1);
  g.output(n, m.mul(parts[0], activation(m, "gelu", parts[1])));
}

/// The first dimension behind those of the batch, which come before it then.
ValueId behind_batch(const Make& m, ValueId x) {
  std::vector<int64_t> order;
  for (int64_t d = 1; d + 1 < m.g.tensor(x).rank(); ++d) order.push_back(d);
  if (order.empty()) return x;
  order.insert(order.end(), {0, std::ssize(order) + 1});
  return m.transpose(x, order);
}

void fused_matmul(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const MatMulAttrs attrs{.trans_a = n.attr_int("transA", 0) != 0,
                          .trans_b = n.attr_int("transB", 0) != 0,
                          .alpha = n.attr_float("alpha", 1)};
  const bool batch_a = n.attr_int("transBatchA", 0) != 0,
             batch_b = n.attr_int("transBatchB", 0) != 0;
  g.output(n, g.call(matmul_op(), attrs,
                     {batch_a ? behind_batch(m, n.need(0)) : n.need(0),
                      batch_b ? behind_batch(m, n.need(1)) : n.need(1)}));
}

/// The activation that the node names; numbers of it are attributes, or a list of them.
ValueId activated(const OnnxNode& n, Builder& g, ValueId x) {
  const std::string name = n.attr_string("activation", "");
  if (name.empty()) return x;
  AttrPairs attributes;
  const std::vector<float> params = n.attr_floats("activation_params");
  static constexpr std::array<std::string_view, 3> kNames = {"alpha", "beta", "gamma"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    const std::string own = "activation_" + std::string(kNames[i]);
    if (n.has_attr(own))
      attributes.emplace_back(kNames[i], n.attr_float(own, 0));
    else if (i < params.size())
      attributes.emplace_back(kNames[i], params[i]);
  }
  if (name == "Clip" && params.size() == 2) {
    const Elem elem = g.tensor(x).elem;
    return as_onnx(n, g, name, {x, g.scalar(elem, params[0]), g.scalar(elem, params[1])},
                   AttrPairs{});
  }
  return as_onnx(n, g, name, {x}, std::move(attributes));
}

void fused_gemm(const OnnxNode& n, Builder& g) {
  g.output(n, activated(n, g, as_onnx(n, g, "Gemm", n.inputs).at(0)));
}

/// (X, W, bias, Z): Z is added before the activation.
void fused_conv(const OnnxNode& n, Builder& g) {
  const ValueId y = as_onnx(n, g, "Conv", {n.need(0), n.need(1), n.in(2)}).at(0);
  g.output(n, activated(n, g, Make{n, g}.add_if(y, n.in(3))));
}

/// X and the result have their channels last; the weights are [out, height, width, in].
void nhwc_conv(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId y =
      as_onnx(n, g, "Conv",
              {m.transpose(n.need(0), {0, 3, 1, 2}), m.transpose(n.need(1), {0, 3, 1, 2}), n.in(2)})
          .at(0);
  g.output(n, activated(n, g, m.transpose(y, {0, 2, 3, 1})));
}

/// gelu_tanh of a product and a bias.
void gemm_fast_gelu(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId product = m.g.call(matmul_op(), MatMulAttrs{}, {n.need(0), n.need(1)});
  g.output(n, activation(m, "gelu_tanh", m.add_if(product, n.in(2))));
}

/// The channels are last unless said otherwise; activation 1 is x * sigmoid(x).
void group_norm(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const bool last = n.attr_int("channels_last", 1) != 0;
  const NormAttrs attrs{.epsilon = n.attr_float("epsilon", 1e-5F), .groups = n.attr_int("groups")};
  ValueId y = last ? m.transpose(n.need(0), {0, 3, 1, 2}) : n.need(0);
  const Elem elem = g.tensor(y).elem;
  y = g.call(group_norm_op(), attrs, {y, m.cast(n.need(1), elem), m.cast(n.need(2), elem)});
  if (n.attr_int("activation", 0) == 1) y = activation(m, "swish", y, 1);
  g.output(n, last ? m.transpose(y, {0, 2, 3, 1}) : y);
}

NormAttrs norm_attrs(const OnnxNode& n, float epsilon) {
  return {.axis = n.attr_int("axis", -1), .epsilon = n.attr_float("epsilon", epsilon)};
}

/// (x, skip, gamma, beta, bias); results: y, mean, inverse deviation, the sum.
void skip_layer_norm(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId sum = m.add_if(m.add(n.need(0), n.need(1)), n.in(4));
  std::vector<ValueId> y =
      g.calls(layer_norm_op(), norm_attrs(n, 1e-12F), {sum, n.need(2), n.in(3)}, 3);
  y.push_back(sum);
  g.outputs(n, y);
}

/// The mean of the dimensions from the node's axis on, which stay with extent 1.
ValueId mean_of(const Make& m, ValueId x) {
  const int64_t rank = m.g.tensor(x).rank(), axis = m.n.attr_int("axis", -1);
  ReduceAttrs attrs;
  for (int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d) attrs.axes.push_back(d);
  return m.g.call(op("reduce_mean"), attrs, {m.cast(x, Elem::F32)});
}

/// One over the root of the mean square, in f32: what `rms_norm` multiplies with.
ValueId inverse_deviation(const Make& m, ValueId x) {
  const ValueId wide = m.cast(x, Elem::F32);
  const ValueId epsilon = m.g.scalar(Elem::F32, m.n.attr_float("epsilon", 1e-5F));
  return m.call("reciprocal", {m.call("sqrt", {m.add(mean_of(m, m.mul(wide, wide)), epsilon)})});
}

void simplified_layer_norm(const OnnxNode& n, Builder& g) {
  const ValueId y = g.call(rms_norm_op(), norm_attrs(n, 1e-5F), {n.need(0), n.need(1)});
  if (!n.wants(1)) return g.output(n, y);
  g.outputs(n, {y, inverse_deviation({n, g}, n.in(0))});
}

/// (x, skip, gamma, bias); results: y, mean, inverse deviation, the sum.
void skip_simplified_layer_norm(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId sum = m.add_if(m.add(n.need(0), n.need(1)), n.in(3));
  const ValueId y = g.call(rms_norm_op(), norm_attrs(n, 1e-5F), {sum, n.need(2)});
  g.outputs(n, {y, n.wants(1) ? mean_of(m, sum) : kNoValue,
                n.wants(2) ? inverse_deviation(m, sum) : kNoValue, sum});
}

/// (ids, segments, words, positions, segment table, gamma, beta, mask, position ids); results: y,
/// how many tokens of each row the mask keeps, the sum of the embeddings.
void embed_layer_norm(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId ids = n.need(0);
  const ValueId places = n.has(8) ? n.in(8) : m.positions(ids, 1);
  ValueId sum = m.add(m.gather(n.need(2), ids, 0), m.gather(n.need(3), places, 0));
  if (n.has(1)) sum = m.add(sum, m.gather(n.need(4), n.in(1), 0));
  const ValueId y =
      g.calls(layer_norm_op(), norm_attrs(n, 1e-12F), {sum, n.need(5), n.need(6)}, 3)[0];
  ValueId kept = kNoValue;
  if (n.wants(1)) {
    const ReduceAttrs rows{.axes = {1}, .keepdims = false};
    const ValueId ones = n.has(7) ? m.cast(n.in(7), Elem::I32)
                                  : m.mul(m.cast(ids, Elem::I32), g.scalar(Elem::I32, 0));
    kept = g.call(op("reduce_sum"), rows, {ones});
  }
  g.outputs(n, {y, kept, sum});
}

void expand_dims(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId x = n.need(0);
  g.output(n, g.call(op("unsqueeze"), {}, {x, m.reshape(n.need(1), {1})}));
}

/// An operator that the default domain has too.
void same(const OnnxNode& n, Builder& g) {
  g.outputs(n, as_onnx(n, g, n.op, n.inputs, n.outputs.size()));
}

OnnxRule microsoft(std::string_view op, void (*rule)(const OnnxNode&, Builder&)) {
  return {.op = op, .rule = rule, .domain = "com.microsoft"};
}

}  // namespace

std::vector<OnnxRule> contrib_rules() {
  std::vector<OnnxRule> rules = {
      microsoft("Gelu", gelu),
      microsoft("BiasGelu", gelu),
      microsoft("FastGelu", fast_gelu),
      microsoft("QuickGelu", quick_gelu),
      microsoft("BiasSplitGelu", bias_split_gelu),
      microsoft("GemmFastGelu", gemm_fast_gelu),
      microsoft("GroupNorm", group_norm),
      microsoft("FusedMatMul", fused_matmul),
      microsoft("TransposeMatMul", fused_matmul),
      microsoft("FusedGemm", fused_gemm),
      microsoft("FusedConv", fused_conv),
      microsoft("NhwcConv", nhwc_conv),
      microsoft("NhwcFusedConv", nhwc_conv),
      microsoft("SkipLayerNormalization", skip_layer_norm),
      microsoft("SimplifiedLayerNormalization", simplified_layer_norm),
      {.op = "SimplifiedLayerNormalization", .rule = simplified_layer_norm},
      microsoft("SkipSimplifiedLayerNormalization", skip_simplified_layer_norm),
      microsoft("EmbedLayerNormalization", embed_layer_norm),
      microsoft("ExpandDims", expand_dims),
  };
  for (const std::string_view op : {"LayerNormalization", "GridSample", "Trilu", "Range", "Pad",
                                    "MatMulInteger", "Identity", "GatherND"})
    rules.push_back(microsoft(op, same));
  for (const OnnxRule& rule : attention_rules()) rules.push_back(rule);
  return rules;
}

}  // namespace tilewright::ops
