// SPDX-License-Identifier: Apache-2.0
// The operators by name, for import rules and passes that make calls of them.
#pragma once

#include <span>

#include "graph/op_def.h"

namespace tilewright::ops {

// One line per operator or family, in alphabetical order of the files.
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

struct PrefixAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{graph::field("axis", &PrefixAttrs::axis)};
};
/// (x, n): the first n indices of the axis.
const graph::OpDef& prefix_op();

std::span<const graph::OpDef> scatter_ops();

struct SoftmaxAttrs {
  int64_t axis = -1;
  static constexpr auto fields = std::tuple{graph::field("axis", &SoftmaxAttrs::axis)};
};
const graph::OpDef& softmax_op();

const graph::OpDef& top_k_op();

}  // namespace tilewright::ops
