// SPDX-License-Identifier: Apache-2.0
// The passes; each is explained in its file.
#pragma once

#include "graph/pipeline.h"

namespace tilewright::graph {

Graph assign_layouts(Graph graph, PassContext& context);
Graph cancel_transposes(Graph graph, PassContext& context);
Graph check_indices(Graph graph, PassContext& context);
Graph eliminate_common(Graph graph, PassContext& context);
Graph fold_batch_norm(Graph graph, PassContext& context);
Graph fold_constants(Graph graph, PassContext& context);
Graph drop_branches(Graph graph, PassContext& context);
Graph fold_pads(Graph graph, PassContext& context);
Graph fold_scales(Graph graph, PassContext& context);
Graph fold_steps(Graph graph, PassContext& context);
Graph fuse(Graph graph, PassContext& context);
Graph index_parts(Graph graph, PassContext& context);
Graph integer_moves(Graph graph, PassContext& context);
Graph integer_products(Graph graph, PassContext& context);
Graph merge_products(Graph graph, PassContext& context);
Graph narrow_products(Graph graph, PassContext& context);
Graph nest_concats(Graph graph, PassContext& context);
Graph recover_activations(Graph graph, PassContext& context);
Graph recover_attention(Graph graph, PassContext& context);
Graph recover_norms(Graph graph, PassContext& context);
Graph recover_recurrences(Graph graph, PassContext& context);
Graph recover_softmax(Graph graph, PassContext& context);
Graph share_heads(Graph graph, PassContext& context);
Graph remove_dead(Graph graph, PassContext& context);
Graph simplify_algebra(Graph graph, PassContext& context);

}  // namespace tilewright::graph
