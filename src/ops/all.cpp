// SPDX-License-Identifier: Apache-2.0
// The list of all operators. A file of src/ops/ gives one operator or a family, and has one line
// here.
#include "ops/all.h"

#include <map>
#include <span>
#include <tuple>

#include "ops/contrib.h"
#include "ops/control.h"
#include "ops/custom.h"
#include "ops/ml.h"
#include "ops/ml_scores.h"
#include "ops/ml_trees.h"
#include "ops/old_opsets.h"
#include "ops/ops.h"
#include "ops/quantized.h"
#include "ops/strings.h"
#include "ops/to_f32.h"

namespace tilewright::ops {
namespace {

using graph::OnnxRule;
using graph::OpDef;

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> all;
  const auto one = [&](const OpDef& op) { all.push_back(&op); };
  const auto family = [&](std::span<const OpDef> ops) {
    for (const OpDef& op : ops) all.push_back(&op);
  };
  family(activation_ops());
  family(arg_reduce_ops());
  family(attention_cache_ops());
  family(attention_ops());
  one(average_pool_op());
  one(batch_norm_op());
  one(batch_norm_training_op());
  family(binary_ops());
  family(cast_ops());
  one(causal_conv_op());
  one(check_indices_op());
  one(col2im_op());
  family(concat_ops());
  family(contrib_math_ops());
  one(conv_integer_op());
  one(conv_op());
  one(conv_to_f32_op());
  one(conv_transpose_op());
  family(cumulative_ops());
  one(deform_conv_op());
  one(dequantize_op());
  one(det_op());
  one(dropout_op());
  one(dynamic_quantize_op());
  one(einsum_op());
  family(fourier_ops());
  family(gather_ops());
  family(grid_ops());
  one(group_norm_op());
  one(holds_op());
  one(if_op());
  one(image_decoder_op());
  one(layer_norm_op());
  one(linear_attention_op());
  one(loop_op());
  one(lp_norm_op());
  one(lp_pool_op());
  one(lrn_op());
  one(matmul_integer_op());
  one(matmul_nbits_op());
  one(matmul_op());
  one(matmul_to_f32_op());
  one(max_pool_indices_op());
  one(max_pool_op());
  one(max_unpool_op());
  one(mean_variance_norm_op());
  family(ml_ops());
  one(ml_transform_op());
  one(nll_loss_op());
  family(non_max_suppression_ops());
  family(nonzero_ops());
  one(one_hot_op());
  family(optimizer_ops());
  family(pad_ops());
  one(pick_op());
  one(pow_op());
  one(prefix_op());
  one(quantize_op());
  family(random_ops());
  family(range_ops());
  family(rearrange_ops());
  one(recurrence_op());
  family(recurrent_ops());
  family(reduce_ops());
  one(repeat_op());
  family(registered_ops());
  one(requantize_op());
  one(resize_interpolated_op());
  one(resize_nearest_op());
  one(resize_sizes_op());
  one(rms_norm_op());
  family(roi_ops());
  one(rotary_embedding_op());
  family(scan_ops());
  family(scatter_ops());
  family(select_ops());
  family(sequence_ops());
  family(shape_ops());
  family(signal_ops());
  one(slice_op());
  family(softmax_ops());
  family(string_ops());
  one(svm_kernel_op());
  one(tfidf_op());
  one(top_k_op());
  one(tree_ensemble_op());
  family(unary_ops());
  family(unique_ops());
  family(view_ops());
  return all;
}

}  // namespace

const std::vector<const OpDef*>& all() {
  static const std::vector<const OpDef*> ops = collect();
  return ops;
}

const OpDef* find(std::string_view name) {
  static const std::map<std::string_view, const OpDef*> by_name = [] {
    std::map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all()) require(map.emplace(op->name, op).second, "an operator twice");
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const OpDef& op(std::string_view name) {
  const OpDef* found = find(name);
  require(found, "there is no operator of this name");
  return *found;
}

const std::vector<RuleOf>& onnx_rules() {
  static const std::vector<OnnxRule> contrib = contrib_rules(), old = old_rules();
  static const std::vector<RuleOf> rules = [] {
    std::vector<RuleOf> list;
    for (const OpDef* def : all())
      for (const OnnxRule& rule : def->onnx) list.push_back({&rule, def});
    for (const OnnxRule& rule : contrib) list.push_back({&rule, nullptr});
    for (const OnnxRule& rule : old) list.push_back({&rule, nullptr});
    return list;
  }();
  return rules;
}

const OnnxRule* onnx_rule(std::string_view domain, std::string_view op, int opset) {
  static const auto rules = [] {
    std::multimap<std::pair<std::string_view, std::string_view>, const OnnxRule*> map;
    for (const auto& [rule, def] : onnx_rules())
      map.emplace(std::pair(rule->domain, rule->op), rule);
    return map;
  }();
  const auto [first, last] = rules.equal_range({domain == "ai.onnx" ? "" : domain, op});
  for (auto it = first; it != last; ++it)
    if (it->second->from <= opset && opset <= it->second->to) return it->second;
  return registered_rule(domain, op);
}

}  // namespace tilewright::ops
