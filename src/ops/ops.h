// SPDX-License-Identifier: Apache-2.0
// The operators by name, for import rules and passes that make calls of them.
#pragma once

#include <span>

#include "graph/op_def.h"

namespace tilewright::ops {

/// The operator of this name, which must be there: `op("add")`.
const graph::OpDef& op(std::string_view name);

// One line per operator or family, in alphabetical order of the files.
struct ActivationAttrs {
  double alpha = 0, beta = 0;
  static constexpr auto fields = std::tuple{graph::field("alpha", &ActivationAttrs::alpha),
                                            graph::field("beta", &ActivationAttrs::beta)};
};
struct IsInfAttrs {
  bool positive = true, negative = true;
  static constexpr auto fields = std::tuple{graph::field("positive", &IsInfAttrs::positive),
                                            graph::field("negative", &IsInfAttrs::negative)};
};
std::span<const graph::OpDef> activation_ops();

std::span<const graph::OpDef> binary_ops();  // add, sub, mul, … of two tensors, broadcast

struct MatMulAttrs {
  bool trans_a = false, trans_b = false;  // of the last two dimensions
  double alpha = 1, beta = 1;
  static constexpr auto fields = std::tuple{graph::field("trans_a", &MatMulAttrs::trans_a),
                                            graph::field("trans_b", &MatMulAttrs::trans_b),
                                            graph::field("alpha", &MatMulAttrs::alpha),
                                            graph::field("beta", &MatMulAttrs::beta)};
};
/// (A, B[, C]): alpha * A B + beta * C.
const graph::OpDef& matmul_op();
/// (A, B[, A's zero point, B's]): i32.
const graph::OpDef& matmul_integer_op();

std::span<const graph::OpDef> non_max_suppression_ops();

std::span<const graph::OpDef> nonzero_ops();

const graph::OpDef& pow_op();

struct PrefixAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{graph::field("axis", &PrefixAttrs::axis)};
};
/// (x, n): the first n indices of the axis.
const graph::OpDef& prefix_op();

/// extent (x): of an axis, as i64[]; arrange (x): what was stacked, along another axis.
std::span<const graph::OpDef> scan_ops();

std::span<const graph::OpDef> scatter_ops();

std::span<const graph::OpDef> select_ops();  // clip, prelu, where

struct SoftmaxAttrs {
  int64_t axis = -1;
  static constexpr auto fields = std::tuple{graph::field("axis", &SoftmaxAttrs::axis)};
};
const graph::OpDef& softmax_op();

const graph::OpDef& top_k_op();

std::span<const graph::OpDef> unary_ops();  // exp, sqrt, relu, … of one tensor

struct AxisAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{graph::field("axis", &AxisAttrs::axis)};
};
struct ReshapeAttrs {
  bool allowzero = false;
  static constexpr auto fields = std::tuple{graph::field("allowzero", &ReshapeAttrs::allowzero)};
};
std::span<const graph::OpDef> view_ops();  // flatten, identity, reshape, squeeze, unsqueeze

}  // namespace tilewright::ops
