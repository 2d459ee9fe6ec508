// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/names.h"

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

constexpr int64_t kNewestOpset = 28;  // of onnx 1.23

std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
  return str(domain_of(domain), "\n", name, "\n", overload);
}

}  // namespace

std::string_view domain_of(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

Opsets::Opsets(const std::vector<OperatorSetIdProto>& imports, const std::string& whose) {
  for (const OperatorSetIdProto& import : imports) {
    const std::string_view domain = domain_of(import.domain);
    if (import.version < 1 || import.version > (domain.empty() ? kNewestOpset : 1'000'000))
      throw Error(
          {.code = "frontend.onnx.opset",
           .at = {},
           .message = str(whose, " asks for opset ", import.version, " of ",
                          domain.empty() ? "ONNX" : str("domain `", shortened(domain), "`")),
           .notes = {str("the newest known opset of ONNX is ", kNewestOpset)},
           .help = "export the model for an opset that is known, or use a newer version of "
                   "Tilewright"});
    versions_[domain] = static_cast<int>(import.version);
  }
}

int Opsets::version(std::string_view domain) const {
  const auto found = versions_.find(domain_of(domain));
  return found == versions_.end() ? 1 : found->second;
}

LocalFunctions::LocalFunctions(const std::vector<FunctionProto>& functions) {
  for (const FunctionProto& f : functions)
    if (!functions_.emplace(key(f.domain, f.name, f.overload), &f).second)
      throw Error(
          {.code = "frontend.onnx.function_twice",
           .at = {},
           .message = str("the model defines function `", full_name(f.domain, f.name), "` twice"),
           .notes = {},
           .help = "give one of them another name or overload"});
}

const FunctionProto* LocalFunctions::called_by(const NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(key(node.domain, node.op_type, node.overload));
  return found == functions_.end() ? nullptr : found->second;
}

std::string full_name(std::string_view domain, std::string_view name) {
  return domain_of(domain).empty() ? shortened(name)
                                   : str(shortened(domain), "::", shortened(name));
}

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 100;
  return text.size() <= kMost ? std::string(text) : str(text.substr(0, kMost), "…");
}

std::string origin_text(const NodeProto& node, std::string_view place) {
  std::string out = shortened(node.op_type);
  if (!node.name.empty()) out += str(" \"", shortened(node.name), "\"");
  return str(out, " (#", node.number, place, ")");
}

}  // namespace tilewright::frontend::onnx
