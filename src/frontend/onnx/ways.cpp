// SPDX-License-Identifier: Apache-2.0
// Some facts that the nodes ask for are known only when the model runs: a rank, the length of a
// list that says a shape. What follows is made once for each case that can occur (splits.cpp lists
// them), and an `if` chooses:
//   before   s = Squeeze(x: f32[n, 64])   y = Relu(s)   z = ReduceSum(y)
//   after    z = if n != 1 {s: f32[n, 64] = x   relu   sum} else {s: f32[64] = reshape(x)   relu
//   sum}
// All ways are made node by node, side by side. They end where what they give has the same ranks
// again; the rest of the graph is then made once. A way in which a node refuses what it is given is
// dropped: the run refuses what would have taken it. A single way needs no `if`. Where ways of ways
// become too many, an `if` is made of each node alone: that is correct, and slow.
#include <algorithm>

#include "frontend/onnx/importer.h"
#include "graph/dependence.h"
#include "ir/rewrite.h"
#include "ops/control.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {

using graph::Function;
using graph::kNoValue;
using graph::Type;
using graph::ValueId;

/// A way in the making.
struct Importer::Branch {
  const Way* way = nullptr;
  Frame frame = {};
  Function body = {};
  NodesLeft left = {};
  const NodeProto* last = nullptr;  // made last
  size_t symbols = 0;               // that were there before
};

namespace {

/// A limit of ours, not something that one way alone has.
bool is_limit(const Error& e) {
  return e.diagnostic.code == "frontend.onnx.expansion" ||
         e.diagnostic.code == "frontend.onnx.unknown_rank";
}

/// Must an extent be known that only the run tells?
bool wants_extent(const Error& e) {
  return e.diagnostic.code == "graph.input.elements" ||
         e.diagnostic.code == "ops.gather_nd.length" || e.diagnostic.code == "ops.dft.complex" ||
         e.diagnostic.code == "ops.scatter_nd.indices";
}

/// May nodes after the ways take either value for the same one? What is known of lists that may say
/// a shape must not be lost.
bool settled(const graph::Value& a, const graph::Value& b) {
  const graph::TensorType *x = a.type.tensor(), *y = b.type.tensor();
  if (!x || !y) return !a.type.unranked() && graph::same(a.type, b.type);
  if (x->rank() != y->rank() || x->elem != y->elem || x->strings != y->strings) return false;
  if (a.constant && a.constant == b.constant) return true;
  if (x->rank() > 1 || x->strings || ir::is_float(x->elem)) return !a.wholes && !b.wholes;
  return graph::const_dims(x->shape) && graph::same(a.type, b.type) && !a.elements && !b.elements;
}

}  // namespace

void Importer::next(NodesLeft& left, const Names& wanted, Frame& frame) {
  const NodeProto& node = *left.back();
  std::optional<Split> split = split_of(node, frame);
  if (!split) {
    const graph::Builder::Checkpoint before = g_.checkpoint();
    try {
      this->node(node, frame);
    } catch (const Error& e) {
      if (!wants_extent(e)) throw;
      split = by_extent(node, frame);
      if (!split) throw;
      g_.rollback(before);
    }
  }
  if (split && !split->ways.empty())
    follow(*std::move(split), left, wanted, frame);
  else
    left.pop_back();
}

/// Makes the ways from the next node on, as far as they differ.
void Importer::follow(Split split, NodesLeft& left, const Names& wanted, Frame& frame) {
  const NodeProto& first = *left.back();
  const bool own = split.about == kNoValue;  // the ways begin with the first node's results
  NodesLeft rest, others;
  Names differs, needed = wanted;
  for (auto at = left.rbegin(); at != left.rend(); ++at) {
    const NodeProto* node = *at;
    const std::vector<std::string_view> uses = order_.uses_of(*node);
    const bool depends = std::ranges::any_of(uses, [&](std::string_view name) {
      return differs.contains(name) || (!own && known(name, frame) == split.about);
    });
    if (depends || node == &first) differs.insert(node->output.begin(), node->output.end());
    if (node == &first && own) continue;
    (depends ? rest : others).push_back(node);
    if (depends) needed.insert(uses.begin(), uses.end());
  }
  differs.erase("");
  constexpr int64_t kMaxWays = 64;
  const bool alone = ways_left_ < static_cast<int64_t>(rest.size()) ||
                     frame.ways * static_cast<int64_t>(split.ways.size()) > kMaxWays;
  Names results;
  if (alone) {
    for (const std::string_view name : first.output)
      if (!name.empty()) results.insert(name);
    rest.clear();
    if (!own) rest.push_back(&first);
  } else {
    // What has nothing to do with the ways is made before them, once.
    std::ranges::reverse(others);
    while (!others.empty()) next(others, needed, frame);
    std::ranges::reverse(rest);
  }
  const Names& ends = alone ? results : wanted;

  std::vector<Branch> branches = begin(split, rest, first, frame);
  advance(branches, split.about, ends, frame, alone);
  NodesLeft after = branches[0].left;
  if (branches.size() == 1) {
    g_.splice(std::move(branches[0].body));
    frame.values.merge(branches[0].frame.values);
    frame.better.merge(branches[0].frame.better);
  } else {
    join(branches, first, ends, frame);
  }
  if (!alone)
    left = std::move(after);
  else if (after.empty())  // else one way is left, and the node is made as that wants it
    left.pop_back();
}

/// Goes on in a branch; nothing when that is possible, else why it is not.
std::optional<Error> Importer::attempt(Branch& branch, FunctionRef<void()> make) {
  g_.resume_body(std::move(branch.body));
  const graph::Builder::Checkpoint before = g_.checkpoint();
  try {
    make();
    branch.body = g_.end_body({});
    return std::nullopt;
  } catch (const Error& e) {
    if (is_limit(e)) throw;
    g_.rollback(before);
    forget(g_.end_body({}), branch.symbols);
    return e;
  }
}

std::vector<Importer::Branch> Importer::begin(const Split& split, const NodesLeft& rest,
                                              const NodeProto& first, Frame& frame) {
  std::vector<Branch> branches;
  std::optional<Error> problem;
  for (const Way& way : split.ways) {
    g_.set_origin({origin_text(first, frame.place)});
    Branch branch{.way = &way, .left = rest, .last = &first, .symbols = g_.checkpoint().symbols};
    branch.body.name = way.name;
    branch.frame = {.outer = &frame,
                    .is_way = true,
                    .opsets = frame.opsets,
                    .attributes = frame.attributes,
                    .place = frame.place,
                    .top = frame.top,
                    .calls = frame.calls,
                    .ways = frame.ways * static_cast<int64_t>(split.ways.size())};
    if (std::optional<Error> e = attempt(branch, [&] { way.begin(branch.frame); }))
      problem.emplace(*e);
    else
      branches.push_back(std::move(branch));
  }
  if (branches.empty()) throw *problem;
  return branches;
}

/// Makes the nodes of all branches, until these meet, end, or one is left.
void Importer::advance(std::vector<Branch>& branches, ValueId about, const Names& wanted,
                       const Frame& frame, bool alone) {
  while (branches.size() > 1 && !meet(branches, about, wanted, frame)) {
    const auto branch =
        std::ranges::max_element(branches, {}, [](const Branch& b) { return b.left.size(); });
    if (branch->left.empty()) return;
    int64_t& left = alone ? alone_left_ : ways_left_;
    if (--left < 0 && alone)
      throw Error(
          {.code = "frontend.onnx.unknown_rank",
           .at = {},
           .message = str("too many nodes work on tensors whose rank only the run tells, at ",
                          origin_text(*branch->left.back(), frame.place)),
           .notes = {},
           .help = "declare the shapes of the model's inputs, with names for dimensions "
                   "that vary"});
    branch->last = branch->left.back();
    const std::optional<Error> problem =
        attempt(*branch, [&] { next(branch->left, wanted, branch->frame); });
    if (problem) branches.erase(branch);
  }
}

/// Names of the branch's values that are used after it.
std::vector<std::string_view> Importer::live(const Branch& branch, const Names& wanted) {
  Names used = wanted;
  for (const NodeProto* node : branch.left)
    for (const std::string_view name : order_.uses_of(*node)) used.insert(name);
  std::vector<std::string_view> out;
  for (const auto& [name, value] : branch.frame.values)
    if (used.contains(name)) out.push_back(name);
  std::ranges::sort(out);  // not by places in memory
  return out;
}

/// Have the branches come to where one sort of nodes serves them all?
bool Importer::meet(const std::vector<Branch>& branches, ValueId about, const Names& wanted,
                    const Frame& frame) {
  const Branch& a = branches[0];
  const auto agree = [&](std::string_view name) {
    const ValueId x = known(name, a.frame);
    return std::ranges::all_of(branches, [&](const Branch& b) {
      const ValueId y = known(name, b.frame);
      return x == y || (x != kNoValue && y != kNoValue && settled(g_.value(x), g_.value(y)));
    });
  };
  const auto sorted = [](NodesLeft nodes) {
    std::ranges::sort(nodes);
    return nodes;
  };
  // Most often this tells that they have not, and is soon found.
  for (const Branch& b : branches)
    if (b.left.size() != a.left.size() || b.last != a.last) return false;
  if (a.left.empty() || !std::ranges::all_of(a.last->output, agree)) return false;
  const NodesLeft left = sorted(a.left);
  for (const Branch& b : branches)
    if (b.left != a.left && sorted(b.left) != left) return false;
  for (const NodeProto* node : left)
    for (const std::string_view name : order_.uses_of(*node))
      if (about != kNoValue && known(name, frame) == about) return false;
  return std::ranges::all_of(live(a, wanted), agree);
}

/// One `if` of all ways; what is used after them has the names that it had in them.
void Importer::join(std::vector<Branch>& branches, const NodeProto& first, const Names& wanted,
                    Frame& frame) {
  const std::vector<std::string_view> names = live(branches[0], wanted);
  if (names.empty()) return;
  graph::OnnxNode all;
  all.origin.text = origin_text(first, frame.place);
  for (const std::string_view name : names)
    all.outputs.push_back(frame.is_main() ? std::string(name) : shortened(name));
  g_.set_origin(all.origin);
  std::vector<std::vector<ValueId>> given;
  for (Branch& b : branches) {
    given.emplace_back();
    for (const std::string_view name : names) given.back().push_back(find(name, b.frame));
    g_.resume_body(std::move(b.body));
    b.body = g_.end_body(given.back());
  }
  Function last = std::move(branches.back().body);  // it refuses what takes none of the ways
  for (size_t i = branches.size() - 1; i-- > 0;) {
    g_.begin_body("other ways");
    const ValueId is_taken = branches[i].way->is_taken();
    std::vector<Function> bodies;
    bodies.push_back(std::move(branches[i].body));
    bodies.push_back(std::move(last));
    last = g_.end_body(g_.calls(ops::if_op(), {}, {is_taken}, names.size(), std::move(bodies)));
  }
  g_.outputs(all, g_.splice(std::move(last)));
  const std::vector<ValueId> results = g_.take_results();
  for (size_t i = 0; i < names.size(); ++i) {
    frame.add(names[i], results[i], all.origin.text);
    if (!g_.type(results[i]).unranked()) continue;
    std::vector<ValueId> from;
    for (const std::vector<ValueId>& values : given) from.push_back(values[i]);
    if (std::vector<int64_t> ranks = ranks_of(from); !ranks.empty())
      ranks_[results[i]] = std::move(ranks);
  }
}

/// Forgets symbols that only the body could tell, of those from a place on.
void Importer::forget(const Function& body, size_t first) {
  std::unordered_set<ValueId> made;
  for (const graph::Node& node : body.nodes)
    graph::for_each_made(node, [&](ValueId id) { made.insert(id); });
  std::unordered_set<ir::Var> gone;
  graph::Graph& graph = g_.graph();
  const auto begin = graph.symbols.begin() + static_cast<ptrdiff_t>(first);
  const auto end = std::remove_if(begin, graph.symbols.end(), [&](const graph::SymbolInfo& s) {
    bool is_gone = false;
    if (const auto* e = std::get_if<graph::FromElement>(&s.source))
      is_gone = made.contains(e->value);
    if (const auto* e = std::get_if<graph::FromExtent>(&s.source))
      is_gone = made.contains(e->value);
    if (const auto* f = std::get_if<graph::FromFormula>(&s.source); f && !gone.empty())
      for (const ir::Var& v : ir::vars_of(f->formula)) is_gone = is_gone || gone.contains(v);
    if (is_gone) gone.insert(s.symbol.var);
    return is_gone;
  });
  graph.symbols.erase(end, graph.symbols.end());
  if (!gone.empty()) graph.symbol_index = {};
}

}  // namespace tilewright::frontend::onnx
