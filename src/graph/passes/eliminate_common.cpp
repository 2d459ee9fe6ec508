// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "graph/dependence.h"
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

class Common {
 public:
  bool operator()(Rewriter& r, const Node& n) {
    // What draws random numbers must not become one; such operators have a seed, or no inputs.
    if (!(is_computed(*n.op) || n.op->special == Special::View) || n.inputs.empty()) return false;
    const AttrList attrs = n.attrs.list();
    for (const NamedAttr& a : attrs)
      if (a.name == "seed") return false;
    std::string key = str(n.op->name, print(attrs));
    for (const ValueId id : n.inputs) key += str(",", canonical(r, id));
    const auto [first, last] = seen_.equal_range(key);
    for (auto it = first; it != last; ++it)
      if (r.is_open(it->second.scope) && it->second.node.outputs.size() == n.outputs.size() &&
          same(it->second.node.attrs.list(), attrs) && take(r, n, it->second.node))
        return true;
    seen_.emplace(std::move(key), Seen{n, r.scope()});
    return false;
  }

 private:
  struct Seen {
    Node node;
    int scope;
  };

  static bool take(Rewriter& r, const Node& n, const Node& earlier) {
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if ((n.outputs[i] == kNoValue) != (earlier.outputs[i] == kNoValue) ||
          (n.outputs[i] != kNoValue &&
           !same(r.value(n.outputs[i]).type, r.value(earlier.outputs[i]).type)))
        return false;
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != kNoValue) r.replace(n.outputs[i], earlier.outputs[i]);
    return true;
  }

  /// One number for all constants of the same content: small ones by it, large ones by its place.
  ValueId canonical(Rewriter& r, ValueId id) {
    const ConstantNode* c = id == kNoValue ? nullptr : r.value(id).constant.get();
    if (!c || c->is_strings) return id;
    std::string key = str(print(Type(c->type())), c->bytes.size(), ":");
    if (c->bytes.size() <= 256)
      key.append(reinterpret_cast<const char*>(c->bytes.data()), c->bytes.size());
    else
      key += str(static_cast<const void*>(c->bytes.data()));
    return constants_.emplace(std::move(key), id).first->second;
  }

  std::unordered_multimap<std::string, Seen> seen_;
  std::unordered_map<std::string, ValueId> constants_;
};

}  // namespace

/// Computes equal things once.
///   before   %a: f32[8] = exp(%x)
///            %b: f32[8] = exp(%x)
///            %y: f32[8] = add(%a, %b)
///   after    %a: f32[8] = exp(%x)
///            %y: f32[8] = add(%a, %a)
Graph eliminate_common(Graph graph, PassContext& context) {
  Common common;
  return Rewriter::run(std::move(graph), context,
                       [&](Rewriter& r, const Node& n) { return common(r, n); });
}

}  // namespace tilewright::graph
