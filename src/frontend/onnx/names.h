// SPDX-License-Identifier: Apache-2.0
// How a model names operators, functions and nodes.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/onnx/proto.h"

namespace tilewright::frontend::onnx {

/// "" and "ai.onnx" are the same domain.
std::string_view domain_of(std::string_view domain);

/// The version of each domain's operators that a model or a function asks for.
class Opsets {
 public:
  /// Refuses versions that are not known; `whose` stands in the error.
  Opsets(const std::vector<OperatorSetIdProto>& imports, const std::string& whose);
  /// 1 for a domain that is not imported: models leave out those that have one version only.
  int version(std::string_view domain) const;

 private:
  std::unordered_map<std::string_view, int> versions_;
};

/// Functions call functions at most this deep.
constexpr int kMaxCalls = 64;

/// The functions that a model defines itself.
class LocalFunctions {
 public:
  explicit LocalFunctions(const std::vector<FunctionProto>& functions);
  /// The function that the node calls; null when it calls none.
  const FunctionProto* called_by(const NodeProto& node) const;

 private:
  std::unordered_map<std::string, const FunctionProto*> functions_;
};

/// `my.domain::Swish`; without a domain for ONNX's own.
std::string full_name(std::string_view domain, std::string_view name);
/// The text, cut to a length that many errors and origins can repeat.
std::string shortened(std::string_view text);
/// `Conv "conv1" (#17)`; `place` says of what else than the main graph it is the 17th node.
std::string origin_text(const NodeProto& node, std::string_view place);

}  // namespace tilewright::frontend::onnx
