// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble as tables of nodes.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "ops/as_onnx.h"
#include "ops/ml_scores.h"
#include "ops/ml_trees.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

/// A list of floats, or the tensor of the same name `…_as_tensor`.
std::vector<double> numbers(const OnnxNode& n, const std::string& name) {
  if (const Constant c = n.attr_tensor(name + "_as_tensor")) return numbers_of(*c);
  const std::vector<float> list = n.attr_floats(name);
  return std::vector<double>(list.begin(), list.end());
}

void need_lengths(const OnnxNode& n, bool equal) {
  if (!equal)
    n.refuse("ops.trees.lists", "the lists that describe the nodes have different lengths",
             "give every list one entry for each node, and every list of leaves one for each leaf");
}

TreeMode mode_of(const OnnxNode& n, const std::string& name) {
  static const std::map<std::string, TreeMode> modes = {
      {"BRANCH_LEQ", TreeMode::LessEqual},    {"BRANCH_LT", TreeMode::Less},
      {"BRANCH_GTE", TreeMode::GreaterEqual}, {"BRANCH_GT", TreeMode::Greater},
      {"BRANCH_EQ", TreeMode::Equal},         {"BRANCH_NEQ", TreeMode::NotEqual}};
  const auto found = modes.find(name);
  if (found == modes.end())
    n.refuse("ops.trees.mode", str("a node has the mode `", name, "`"),
             "use LEAF or one of the BRANCH modes");
  return found->second;
}

/// Versions 1 and 3: nodes by (tree, number); those of mode LEAF have weights in lists `prefix_…`.
TreeTable table_by_ids(const OnnxNode& n, const std::string& prefix) {
  const std::vector<int64_t> trees = n.attr_ints("nodes_treeids"),
                             ids = n.attr_ints("nodes_nodeids"),
                             features = n.attr_ints("nodes_featureids"),
                             yes = n.attr_ints("nodes_truenodeids"),
                             no = n.attr_ints("nodes_falsenodeids");
  std::vector<int64_t> missing = n.attr_ints("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = n.attr_strings("nodes_modes");
  const std::vector<double> splits = numbers(n, "nodes_values");
  const size_t count = trees.size();
  missing.resize(std::max(missing.size(), count), 0);
  need_lengths(n, ids.size() == count && features.size() == count && yes.size() == count &&
                      no.size() == count && modes.size() == count && splits.size() == count);

  TreeTable table;
  // Where a node of the lists stands: a node of the table, or a leaf as -1 - its number.
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  std::vector<std::pair<int64_t, int64_t>> leaves;
  int64_t inner = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::pair key(trees[i], ids[i]);
    const bool leaf = modes[i] == "LEAF";
    if (leaf) leaves.push_back(key);
    const int64_t place = leaf ? -static_cast<int64_t>(leaves.size()) : inner++;
    if (!places.emplace(key, place).second)
      n.refuse("ops.trees.node", str("tree ", key.first, " has two nodes ", key.second),
               "number the nodes of a tree differently");
    if (i == 0 || trees[i] != trees[i - 1]) table.roots.push_back(place);
  }
  const auto place_of = [&](int64_t tree, int64_t id) {
    const auto found = places.find({tree, id});
    if (found == places.end())
      n.refuse("ops.trees.node", str("tree ", tree, " has no node ", id),
               "let every way lead to a node of the same tree");
    return found->second;
  };
  for (size_t i = 0; i < count; ++i) {
    if (modes[i] == "LEAF") continue;
    table.feature.push_back(features[i]);
    table.mode.push_back(static_cast<int64_t>(mode_of(n, modes[i])));
    table.split.push_back(splits[i]);
    table.yes.push_back(place_of(trees[i], yes[i]));
    table.no.push_back(place_of(trees[i], no[i]));
    table.missing.push_back(missing[i] != 0);
  }
  const std::vector<int64_t> of_tree = n.attr_ints(prefix + "_treeids"),
                             of_node = n.attr_ints(prefix + "_nodeids"),
                             targets = n.attr_ints(prefix + "_ids");
  const std::vector<double> weights = numbers(n, prefix + "_weights");
  need_lengths(n, of_node.size() == of_tree.size() && targets.size() == of_tree.size() &&
                      weights.size() == of_tree.size());
  std::multimap<std::pair<int64_t, int64_t>, size_t> by_leaf;
  for (size_t k = 0; k < of_tree.size(); ++k) by_leaf.emplace(std::pair(of_tree[k], of_node[k]), k);
  for (const auto& leaf : leaves) {
    const auto [begin, end] = by_leaf.equal_range(leaf);
    for (auto it = begin; it != end; ++it) {
      table.target.push_back(targets[it->second]);
      table.weight.push_back(weights[it->second]);
    }
    table.first.push_back(static_cast<int64_t>(table.target.size()));
  }
  return table;
}

Aggregate aggregate_of(const OnnxNode& n) {
  const std::string name = n.attr_string("aggregate_function", "SUM");
  if (name == "SUM") return Aggregate::Sum;
  if (name == "AVERAGE") return Aggregate::Average;
  if (name == "MIN") return Aggregate::Min;
  if (name == "MAX") return Aggregate::Max;
  n.refuse("ops.trees.aggregate", str("aggregate_function is `", name, "`"),
           "use SUM, AVERAGE, MIN or MAX");
}

/// Scores plus base_values, when there are any.
ValueId with_base(Builder& g, ValueId scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  const Constant c =
      float_constant(g.tensor(scores).elem, {static_cast<int64_t>(base.size())}, base);
  return g.call(op("add"), {}, {scores, g.constant(c)});
}

ValueId as_f32(Builder& g, ValueId x) {
  return g.tensor(x).elem == Elem::F32 ? x : g.call(op("cast"), CastAttrs{.to = Elem::F32}, {x});
}

void regressor(const OnnxNode& n, Builder& g) {
  TreeTable table = table_by_ids(n, "target");
  table.aggregate = aggregate_of(n);
  table.targets = n.attr_int("n_targets", 1);
  check_trees(n, table);
  const ValueId sums = call_trees(g, ml_input(g, n.need(0)), table);
  const ValueId scores = as_f32(g, with_base(g, sums, numbers(n, "base_values")));
  g.output(n, post_transformed(n, g, scores, n.attr_string("post_transform", "NONE")));
}

/// Two classes, of which only one has weights: its score s, and of the other 1 - s or -s.
void binary_classifier(const OnnxNode& n, Builder& g, TreeTable table) {
  const bool positive =
      std::all_of(table.weight.begin(), table.weight.end(), [](double w) { return w >= 0; });
  std::fill(table.target.begin(), table.target.end(), 0);
  table.targets = 1;
  check_trees(n, table);
  std::vector<double> base = numbers(n, "base_values");
  if (base.size() == 2) base.erase(base.begin());
  const ValueId s = as_f32(g, with_base(g, call_trees(g, ml_input(g, n.need(0)), table), base));
  const std::string transform = n.attr_string("post_transform", "NONE");
  const ValueId other =
      positive ? g.call(op("sub"), {}, {g.scalar(Elem::F32, 1), s}) : g.call(op("neg"), {}, {s});
  const ValueId both = as_onnx(n, g, "Concat", {other, s}, {{"axis", int64_t{1}}});
  const ValueId chosen = g.call(op("greater"), {}, {s, g.scalar(Elem::F32, positive ? 0.5 : 0)});
  const ValueId column = g.call(op("cast"), CastAttrs{.to = Elem::I64}, {chosen});
  const ValueId index = g.call(op("reshape"), ReshapeAttrs{}, {column, g.ints({-1})});
  // Shares of a whole are what they are: only signed scores are transformed.
  const ValueId scores =
      positive && transform != "PROBIT" ? both : post_transformed(n, g, both, transform);
  g.outputs(n, {labels_of(n, g, index, "classlabels_int64s", "classlabels_strings"), scores});
}

void classifier(const OnnxNode& n, Builder& g) {
  TreeTable table = table_by_ids(n, "class");
  const size_t labels = std::max(n.attr_ints("classlabels_int64s").size(),
                                 n.attr_strings("classlabels_strings").size());
  table.targets = static_cast<int64_t>(labels);
  const bool one_has_weights = std::adjacent_find(table.target.begin(), table.target.end(),
                                                  std::not_equal_to<>()) == table.target.end();
  if (labels == 2 && one_has_weights) return binary_classifier(n, g, std::move(table));
  check_trees(n, table);
  const ValueId sums = call_trees(g, ml_input(g, n.need(0)), table);
  const ValueId scores = as_f32(g, with_base(g, sums, numbers(n, "base_values")));
  const ValueId index =
      as_onnx(n, g, "ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  g.outputs(n, {labels_of(n, g, index, "classlabels_int64s", "classlabels_strings"),
                post_transformed(n, g, scores, n.attr_string("post_transform", "NONE"))});
}

/// Version 5: nodes and leaves by their places in the lists.
void ensemble(const OnnxNode& n, Builder& g) {
  const auto tensor = [&](std::string_view name) {
    const Constant c = n.attr_tensor(name);
    return c ? numbers_of(*c) : std::vector<double>();
  };
  const std::vector<double> modes = tensor("nodes_modes"), splits = tensor("nodes_splits"),
                            members = tensor("membership_values");
  const std::vector<int64_t> features = n.attr_ints("nodes_featureids"),
                             yes = n.attr_ints("nodes_truenodeids"),
                             no = n.attr_ints("nodes_falsenodeids"),
                             yes_leaf = n.attr_ints("nodes_trueleafs"),
                             no_leaf = n.attr_ints("nodes_falseleafs");
  std::vector<int64_t> missing = n.attr_ints("nodes_missing_value_tracks_true");
  const size_t count = features.size();
  missing.resize(std::max(missing.size(), count), 0);
  need_lengths(n, modes.size() == count && splits.size() == count && yes.size() == count &&
                      no.size() == count && yes_leaf.size() == count && no_leaf.size() == count);
  TreeTable table;
  table.aggregate = static_cast<Aggregate>(n.attr_int("aggregate_function", 1));
  table.targets = n.attr_int("n_targets", 1);
  table.roots = n.attr_ints("tree_roots");
  const auto way = [](int64_t to, int64_t leaf) { return leaf ? -1 - to : to; };
  table.feature = features;
  for (size_t i = 0; i < count; ++i) {
    table.mode.push_back(static_cast<int64_t>(modes[i]));
    table.yes.push_back(way(yes[i], yes_leaf[i]));
    table.no.push_back(way(no[i], no_leaf[i]));
    table.missing.push_back(missing[i] != 0);
  }
  table.split = splits;
  // A set of values becomes a chain of comparisons with each of them. NaN ends a set.
  size_t member = 0;
  for (size_t i = 0; i < count; ++i) {
    if (modes[i] != static_cast<double>(TreeMode::Member)) continue;
    size_t at = i;
    bool first = true;
    const int64_t yes_way = table.yes[i], no_way = table.no[i];
    for (; member < members.size() && members[member] == members[member]; ++member) {
      if (!first) {
        table.no[at] = static_cast<int64_t>(table.feature.size());
        at = table.feature.size();
        table.feature.push_back(table.feature[i]);
        table.mode.push_back(0);
        table.split.push_back(0);
        table.yes.push_back(yes_way);
        table.no.push_back(no_way);
        table.missing.push_back(table.missing[i]);
      }
      table.mode[at] = static_cast<int64_t>(TreeMode::Equal);
      table.split[at] = members[member];
      first = false;
    }
    ++member;     // behind the NaN
    if (first) {  // an empty set: never
      table.mode[i] = static_cast<int64_t>(TreeMode::Less);
      table.split[i] = -std::numeric_limits<double>::infinity();
    }
  }
  table.target = n.attr_ints("leaf_targetids");
  table.weight = tensor("leaf_weights");
  need_lengths(n, table.target.size() == table.weight.size());
  for (size_t leaf = 0; leaf < table.target.size(); ++leaf)
    table.first.push_back(static_cast<int64_t>(leaf) + 1);
  check_trees(n, table);
  static constexpr std::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                     "PROBIT"};
  const int64_t transform = n.attr_int("post_transform", 0);
  if (transform < 0 || transform > 4 || table.aggregate > Aggregate::Max)
    n.refuse("ops.trees.attribute", "post_transform or aggregate_function is out of range",
             "use a number that the specification lists");
  const ValueId sums = call_trees(g, ml_input(g, n.need(0)), table);
  g.output(n, post_transformed(n, g, sums, kTransforms[transform]));
}

}  // namespace

const OpDef& tree_ensemble_op() {
  static const OpDef def = [] {
    OpDef trees = define_trees();
    trees.onnx = {{.op = "TreeEnsembleRegressor", .rule = regressor, .domain = "ai.onnx.ml"},
                  {.op = "TreeEnsembleClassifier", .rule = classifier, .domain = "ai.onnx.ml"},
                  {.op = "TreeEnsemble", .from = 5, .rule = ensemble, .domain = "ai.onnx.ml"}};
    return trees;
  }();
  return def;
}

}  // namespace tilewright::ops
