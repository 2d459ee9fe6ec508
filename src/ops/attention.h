// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/onnx_node.h"
#include "ops/ops.h"

namespace tilewright::ops {

/// Attributes of the steps of attention; each uses some of them.
struct AttentionAttrs {
  int64_t q_heads = 0, kv_heads = 0;  // where inputs have three dimensions
  double scale = 0;                   // 0: one over the root of the head size
  double softcap = 0;                 // 0: none
  bool causal = false;
  int64_t left = -1, right = -1;  // how far a query sees; -1: without end
  int64_t shown = 0;  // second result of the probabilities: 0 scores, 1 capped, 2 masked, 3 after
  ir::Elem precision = ir::Elem::F32;  // at least, of the softmax
  ir::Elem elem = ir::Elem::F32;       // of the results
  bool packed = false;                 // the result has three dimensions
  static constexpr auto fields = std::tuple{graph::field("q_heads", &AttentionAttrs::q_heads),
                                            graph::field("kv_heads", &AttentionAttrs::kv_heads),
                                            graph::field("scale", &AttentionAttrs::scale),
                                            graph::field("softcap", &AttentionAttrs::softcap),
                                            graph::field("causal", &AttentionAttrs::causal),
                                            graph::field("left", &AttentionAttrs::left),
                                            graph::field("right", &AttentionAttrs::right),
                                            graph::field("shown", &AttentionAttrs::shown),
                                            graph::field("precision", &AttentionAttrs::precision),
                                            graph::field("elem", &AttentionAttrs::elem),
                                            graph::field("packed", &AttentionAttrs::packed)};
};

/// FlexAttention of ai.onnx.preview: the same steps, with the user's own functions of the scores
/// and of the probabilities between them.
void flex_attention_from_onnx(const graph::OnnxNode& node, graph::Builder& g);

}  // namespace tilewright::ops
