// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <map>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

/// Products of one value with weights of one shape.
struct Siblings {
  std::vector<ValueId> results, weights, biases;  // no biases, or one each
  std::vector<ValueId> merged;                    // the parts, once they are made
};

bool is_view(const Node& n) { return n.op->special == Special::View; }

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {
    for (const Function& f : graph.functions) function(f);
  }

  std::vector<Siblings> groups;
  std::map<ValueId, std::pair<size_t, size_t>> places;  // of a result: group, and number in it

 private:
  void function(const Function& f) {
    std::map<ValueId, int> reads;
    std::map<ValueId, const Node*> reader;
    for (const Node& n : f.nodes) {
      for (const Function& body : n.bodies) {
        function(body);
        count(body, reads);
      }
      for (const ValueId id : n.inputs) {
        ++reads[id];
        reader[id] = &n;
      }
    }
    for (const ValueId id : f.outputs) ++reads[id];
    std::map<std::string, Siblings> found;
    std::vector<std::string> order;
    for (const Node& n : f.nodes) {
      if (n.op->name != "matmul" || reads[n.outputs[0]] != 1) continue;
      const auto next = reader.find(n.outputs[0]);
      if (next == reader.end() || !is_view(*next->second) || !cuts_rows(n, *next->second)) continue;
      const std::optional<std::string> key = key_of(n);
      if (!key) continue;
      Siblings& s = found[*key];
      s.results.push_back(n.outputs[0]);
      s.weights.push_back(n.inputs[1]);
      if (n.inputs.size() > 2 && n.inputs[2] != kNoValue) s.biases.push_back(n.inputs[2]);
    }
    for (auto& [key, s] : found) {
      if (s.results.size() < 2) continue;
      for (size_t i = 0; i < s.results.size(); ++i) places[s.results[i]] = {groups.size(), i};
      groups.push_back(std::move(s));
    }
  }

  static void count(const Function& f, std::map<ValueId, int>& reads) {
    for (const Node& n : f.nodes) {
      for (const ValueId id : n.inputs) ++reads[id];
      for (const Function& body : n.bodies) count(body, reads);
    }
    for (const ValueId id : f.outputs) ++reads[id];
  }

  /// Does the view only cut the last dimension into several, as index_parts wants it?
  bool cuts_rows(const Node& n, const Node& view) const {
    const TensorType *in = graph_.type(n.outputs[0]).tensor(),
                     *out = graph_.type(view.outputs[0]).tensor();
    if (!in || !out || in->rank() < 2 || out->rank() <= in->rank()) return false;
    for (size_t d = 0; d + 1 < in->shape.size(); ++d)
      if (!same(in->shape[d], out->shape[d])) return false;
    return true;
  }

  /// The same for products that can be one.
  std::optional<std::string> key_of(const Node& n) const {
    const Constant& w = graph_.value(n.inputs[1]).constant;
    if (!w || w->shape.size() != 2 || ir::bits(w->elem) < 8 || graph_.value(n.inputs[0]).constant)
      return std::nullopt;
    std::string key = std::to_string(n.inputs[0]) + " " + std::to_string(w->shape[0]) + " " +
                      std::to_string(w->shape[1]);
    for (const NamedAttr& a : n.attrs.list()) {
      if (const auto* i = std::get_if<int64_t>(&a.value)) key += " " + std::to_string(*i);
      if (const auto* d = std::get_if<double>(&a.value))
        key += " " + std::to_string(std::bit_cast<int64_t>(*d));
    }
    if (n.inputs.size() > 2 && n.inputs[2] != kNoValue) {
      const Constant& b = graph_.value(n.inputs[2]).constant;
      const int64_t columns = w->shape[attr<int64_t>(n, "trans_b") ? 0 : 1];
      if (!b || b->shape != std::vector<int64_t>{columns}) return std::nullopt;
      key += " bias";
    }
    return key;
  }

  const Graph& graph_;
};

/// The constants beside each other along an axis.
Constant joined(Rewriter& r, const std::vector<ValueId>& ids, size_t axis) {
  const ConstantNode& first = *r.value(ids[0]).constant;
  std::vector<int64_t> shape = first.shape;
  shape[axis] *= static_cast<int64_t>(ids.size());
  const size_t outer = axis == 0 ? 1 : static_cast<size_t>(first.shape[0]);
  const size_t row = first.bytes.size() / outer;
  std::vector<std::byte> bytes(first.bytes.size() * ids.size());
  for (size_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < ids.size(); ++i)
      std::memcpy(bytes.data() + (o * ids.size() + i) * row,
                  r.value(ids[i]).constant->bytes.data() + o * row, row);
  return make_constant(first.elem, shape, std::move(bytes));
}

}  // namespace

/// Makes one product of several with the same left side and constant weights of one shape, where
/// each result is cut into heads: queries, keys and values.
///   before   %q: f32[1, 8, 64] = matmul(%x, %wq: const f32[64, 64])
///            %k: f32[1, 8, 64] = matmul(%x, %wk: const f32[64, 64])
///   after    %y: f32[1, 8, 128] = matmul(%x, %w: const f32[64, 128])
///            %p: f32[1, 8, 2, 64] = reshape(%y, [1, 8, 2, 64])
///            %q: f32[1, 8, 64] = select(%p) {axis = 2, index = 0}
///            %k: f32[1, 8, 64] = select(%p) {axis = 2, index = 1}
/// index_parts and fuse then read the parts where they are. Each sum has the same terms in the same
/// order.
Graph merge_products(Graph graph, PassContext& context) {
  Finder finder(graph);
  return Rewriter::run(std::move(graph), context, [&](Rewriter& r, const Node& n) {
    const auto place = n.outputs.empty() ? finder.places.end() : finder.places.find(n.outputs[0]);
    if (place == finder.places.end()) return false;
    Siblings& s = finder.groups[place->second.first];
    if (s.merged.empty()) {
      const size_t columns = attr<int64_t>(n, "trans_b") ? 0 : 1;
      std::vector<ValueId> inputs = {n.inputs[0],
                                     r.constant(joined(r, s.weights, columns), "weights")};
      if (!s.biases.empty()) inputs.push_back(r.constant(joined(r, s.biases, 0), "biases"));
      const ValueId y = r.call(*n.op, n.attrs, inputs);
      Shape parts = r.tensor(n.outputs[0])->shape;
      parts.insert(parts.end() - 1, Dim(static_cast<int64_t>(s.results.size())));
      const ValueId seen = r.reshape(y, parts);
      const auto axis = static_cast<int64_t>(parts.size()) - 2;
      for (int64_t i = 0; i < static_cast<int64_t>(s.results.size()); ++i)
        s.merged.push_back(r.call("select", {seen}, {{"axis", axis}, {"index", i}}));
    }
    return r.replace(n.outputs[0], s.merged[place->second.second]);
  });
}

}  // namespace tilewright::graph
