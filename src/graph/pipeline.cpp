// SPDX-License-Identifier: Apache-2.0
#include "graph/pipeline.h"

#include <algorithm>
#include <chrono>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

// clang-format off
constexpr Pass kDefault[] = {
    {"remove_dead", remove_dead},
    {"integer_moves", integer_moves},
    {"integer_products", integer_products},
    {"fold_constants", fold_constants},
    {"drop_branches", drop_branches},
    {"simplify_algebra", simplify_algebra},
    {"recover_activations", recover_activations},
    {"recover_norms", recover_norms},
    {"recover_softmax", recover_softmax},
    {"remove_dead", remove_dead},  // what patterns were made of: it still counts as a reader
    {"fold_batch_norm", fold_batch_norm},
    {"fold_scales", fold_scales},
    {"recover_attention", recover_attention},
    {"share_heads", share_heads},  // of keys that are scaled no longer
    {"remove_dead", remove_dead},
    {"cancel_transposes", cancel_transposes},
    {"simplify_algebra", simplify_algebra},  // pairs of transposes
    {"fold_constants", fold_constants},      // what transposes of weights became
    {"fold_pads", fold_pads},
    {"merge_products", merge_products},
    {"fold_steps", fold_steps},
    {"index_parts", index_parts},
    {"eliminate_common", eliminate_common},
    {"nest_concats", nest_concats},
    {"narrow_products", narrow_products},
    {"fold_constants", fold_constants},  // weights in the narrower type
    {"recover_recurrences", recover_recurrences},
    {"check_indices", check_indices},  // after what removes views that change nothing
    {"remove_dead", remove_dead},
    {"fuse", fuse},
    {"assign_layouts", assign_layouts},
};
// clang-format on

/// The graph came in verified, so what is wrong now is a mistake of the pass.
void verify_after(const Pass& pass, const Graph& graph) {
  try {
    verify(graph);
  } catch (const InternalError& e) {
    throw InternalError(str("after pass `", pass.name, "`: ", e.what()));
  }
}

}  // namespace

Graph run(std::span<const Pass> passes, Graph graph, PassContext& context) {
  verify(graph);
  for (const Pass& pass : passes) {
    if (std::ranges::find(context.skip, pass.name) != context.skip.end()) continue;
    context.unchanged = false;
    const auto start = std::chrono::steady_clock::now();
    graph = pass.run(std::move(graph), context);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    context.times.push_back({pass.name, took.count()});
    if (!context.unchanged) verify_after(pass, graph);
    if (context.after) context.after(pass, graph);
  }
  return graph;
}

std::span<const Pass> default_pipeline() { return kDefault; }

const Pass* find_pass(std::string_view name) {
  const auto found = std::ranges::find(kDefault, name, &Pass::name);
  return found == std::end(kDefault) ? nullptr : found;
}

}  // namespace tilewright::graph
