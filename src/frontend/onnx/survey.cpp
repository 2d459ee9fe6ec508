// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/survey.h"

#include <map>
#include <unordered_map>

#include "ops/all.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

class Survey {
 public:
  explicit Survey(const LocalFunctions& functions) : functions_(functions) {}

  void nodes(const std::vector<NodeProto>& nodes, const Opsets& opsets, const std::string& place) {
    for (const NodeProto& node : nodes) {
      if (const FunctionProto* f = functions_.called_by(node))
        function(*f, origin_text(node, place));
      else
        operator_of(node, opsets, place);
      for (const AttributeProto& attribute : node.attribute)
        if (attribute.g) this->nodes(attribute.g->node, opsets, " of a subgraph");
    }
  }

  void refuse_unknown() const {
    if (unknown_.empty()) return;
    std::vector<std::string> notes;
    for (const auto& [key, unknown] : unknown_)
      notes.push_back(str("`", full_name(key.domain, key.op), "` in opset ", key.opset, ", ",
                          unknown.nodes, unknown.nodes == 1 ? " node: " : " nodes, the first is ",
                          unknown.first, other_versions(key)));
    throw Error(
        {.code = "frontend.onnx.operator",
         .at = {},
         .message =
             unknown_.size() == 1
                 ? str("the model uses an operator that is not known: `",
                       full_name(unknown_.begin()->first.domain, unknown_.begin()->first.op), "`")
                 : str("the model uses ", unknown_.size(), " operators that are not known"),
         .notes = std::move(notes),
         .help = "say what it computes with tw.register_op(domain, name, te=…), convert the "
                 "model to an opset that has it, or use a newer version of Tilewright"});
  }

 private:
  struct Key {
    std::string_view domain, op;
    int opset;
    auto operator<=>(const Key&) const = default;
  };
  struct Unknown {
    int64_t nodes = 0;
    std::string first;
  };

  void operator_of(const NodeProto& node, const Opsets& opsets, const std::string& place) {
    const Key key{domain_of(node.domain), node.op_type, opsets.version(node.domain)};
    const auto [at, is_new] = known_.try_emplace(key);
    if (is_new) at->second = ops::onnx_rule(key.domain, key.op, key.opset) != nullptr;
    if (at->second) return;
    Unknown& unknown = unknown_[key];
    if (unknown.nodes++ == 0) unknown.first = origin_text(node, place);
  }

  void function(const FunctionProto& f, const std::string& caller) {
    const auto [at, is_new] = open_.emplace(&f, true);
    if ((!is_new && at->second) || calls_ >= kMaxCalls)
      throw Error({.code = "frontend.onnx.recursion",
                   .at = {},
                   .message = str("function `", full_name(f.domain, f.name), "` ",
                                  at->second && !is_new
                                      ? "calls itself"
                                      : str("is called more than ", kMaxCalls, " calls deep")),
                   .notes = {str("called by ", caller)},
                   .help = "functions of a model are expanded where they are called; for "
                           "repetition use Loop or Scan"});
    if (!is_new) return;
    ++calls_;
    const std::string name = full_name(f.domain, f.name);
    nodes(f.node, Opsets(f.opset_import, str("function `", name, "`")),
          str(" of function \"", name, "\""));
    --calls_;
    open_[&f] = false;
  }

  static std::string other_versions(const Key& key) {
    int first = 0;
    for (const graph::OpDef* op : ops::all())
      for (const graph::OnnxRule& rule : op->onnx)
        if (rule.domain == key.domain && rule.op == key.op && (first == 0 || rule.from < first))
          first = rule.from;
    return first == 0 ? "" : str("; it is known from opset ", first, " on");
  }

  const LocalFunctions& functions_;
  std::map<Key, bool> known_;
  std::map<Key, Unknown> unknown_;
  std::unordered_map<const FunctionProto*, bool> open_;
  int calls_ = 0;
};

}  // namespace

void survey(const ModelProto& model, const Opsets& opsets, const LocalFunctions& functions) {
  Survey survey(functions);
  survey.nodes(model.graph->node, opsets, "");
  survey.refuse_unknown();
}

}  // namespace tilewright::frontend::onnx
