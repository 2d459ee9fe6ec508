// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/onnx/proto.h"
#include "support/function_ref.h"

namespace tilewright::frontend::onnx {

/// Puts nodes into an order in which they can run.
class NodeOrder {
 public:
  /// Each node after those that make what it uses; the given order where that is one. `outside`
  /// tells whether a name is known without these nodes. Refuses cycles, names that nobody makes
  /// and names that are made twice; `place` as for origin_text.
  std::vector<const NodeProto*> sorted(const std::vector<NodeProto>& nodes, std::string_view place,
                                       FunctionRef<bool(std::string_view)> outside);

  /// Names that the node uses: its inputs, and what its subgraphs take from around them.
  std::vector<std::string_view> uses_of(const NodeProto& node);

 private:
  const std::vector<std::string_view>& free_names(const GraphProto& graph);

  std::unordered_map<const GraphProto*, std::vector<std::string_view>> free_;
};

}  // namespace tilewright::frontend::onnx
