// SPDX-License-Identifier: Apache-2.0
// Operators from outside, by a function from their inputs as tensors to their results:
//   register_op({.domain = "my.ops", .name = "Swish", .te = [](const CustomCall& call) {
//     const te::Tensor& x = *call.inputs[0];
//     return std::vector{x / (1.0f + te::exp(0.0f - x))};
//   }});
// The types of the results are those of the tensors that it gives.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/op_def.h"

namespace tilewright::ops {

/// One use of such an operator, as its definition sees it.
struct CustomCall {
  std::vector<std::optional<te::Tensor>> inputs;  // none where the node leaves one out
  const graph::AttrList& attrs;                   // those of the node
  std::string node;                               // which one it is, for messages
};

struct CustomOp {
  std::string domain, name;
  /// Called more than once for a node, and must always say the same.
  std::function<std::vector<te::Tensor>(const CustomCall& call)> te;
  /// Each element of the result comes from one element of each input: it joins its neighbours'
  /// kernels.
  bool injective = false;
};

/// Lets models use the operator, in every opset version of its domain. One that was registered
/// before is replaced; refuses an operator that Tilewright itself has.
void register_op(CustomOp op);

/// An Error about a definition that fails: `what` tells in which way.
Error definition_error(const std::string& op, const std::string& node, const std::string& what);

/// The rule for an operator that was registered; null when it was not.
const graph::OnnxRule* registered_rule(std::string_view domain, std::string_view op);
/// What nodes of registered operators become.
std::span<const graph::OpDef> registered_ops();

}  // namespace tilewright::ops
