// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "graph/op_def.h"
#include "graph/parts.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

class Nest {
 public:
  bool operator()(Rewriter& r, const Node& n) {
    // Where parts cannot lie in place, a copy of a copy would be worse than one of all parts.
    if (n.op->name != "concat" || stretches(r.graph(), symbols_, n).pieces.empty()) return false;
    const int rank = r.tensor(n.outputs[0])->rank();
    const auto given = attr<int64_t>(n, "axis");
    const int64_t axis = given < 0 ? given + rank : given;
    const Seen* longest = nullptr;
    for (size_t count = n.inputs.size() - 1; count > 0 && !longest; --count)
      longest = beginning(r, n, axis, count);
    ValueId whole = n.outputs[0];
    if (longest) {
      std::vector<ValueId> inputs{longest->whole};
      inputs.insert(inputs.end(),
                    n.inputs.begin() + static_cast<std::ptrdiff_t>(longest->inputs.size()),
                    n.inputs.end());
      whole = r.call("concat", inputs, n.attrs.list());
      if (!r.replace(n.outputs[0], whole)) return false;
    }
    const bool nested = longest != nullptr;
    seen_.emplace(key(axis, n.inputs, n.inputs.size()), Seen{whole, r.scope(), n.inputs});
    return nested;
  }

 private:
  struct Seen {
    ValueId whole;
    int scope;
    std::vector<ValueId> inputs;
  };
  using Key = std::tuple<int64_t, ValueId, ValueId, size_t>;
  static Key key(int64_t axis, const std::vector<ValueId>& inputs, size_t count) {
    return {axis, inputs[0], inputs[count - 1], count};
  }

  /// An earlier concat of the first `count` inputs.
  const Seen* beginning(const Rewriter& r, const Node& n, int64_t axis, size_t count) const {
    const auto [first, last] = seen_.equal_range(key(axis, n.inputs, count));
    for (auto it = first; it != last; ++it)
      if (const Seen& s = it->second;
          r.is_open(s.scope) && std::equal(s.inputs.begin(), s.inputs.end(), n.inputs.begin()))
        return &s;
    return nullptr;
  }

  std::multimap<Key, Seen> seen_;  // thousands may begin with the same input
  SymbolIndex symbols_;
};

}  // namespace

/// Begins a concat with an earlier one of its first inputs, so that one memory holds them all and
/// each part is written once (parts.h): dense blocks join what they made before at every layer.
///   before   %c: f32[1, 32, 8, 8] = concat(%a, %b) {axis = 1}
///            %e: f32[1, 48, 8, 8] = concat(%a, %b, %d) {axis = 1}
///   after    %c: f32[1, 32, 8, 8] = concat(%a, %b) {axis = 1}
///            %e: f32[1, 48, 8, 8] = concat(%c, %d) {axis = 1}
Graph nest_concats(Graph graph, PassContext& context) {
  Nest nest;
  return Rewriter::run(std::move(graph), context,
                       [&](Rewriter& r, const Node& n) { return nest(r, n); });
}

}  // namespace tilewright::graph
