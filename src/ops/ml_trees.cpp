// SPDX-License-Identifier: Apache-2.0
// Ensembles of decision trees. All versions become one table of nodes and leaves.
#include "ops/ml_trees.h"

#include <limits>

#include "ops/checks.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Buffer;
using ir::Elem;
using ir::Expr;
using ir::Stmt;

struct TreeAttrs {
  Aggregate aggregate = Aggregate::Sum;
  int64_t targets = 1;
  static constexpr auto fields =
      std::tuple{field("aggregate", &TreeAttrs::aggregate), field("targets", &TreeAttrs::targets)};
};

// Inputs: x, then the columns of the table: roots, feature, mode, split, yes, no, missing, first,
// target, weight.
enum Input : size_t { X, Roots, Feature, Mode, Split, Yes, No, Missing, First, Target, Weight };

std::vector<Type> infer(const Call& call) {
  need_rank(call, X, 2);
  return {tensor_of(call.elem(Split), {call.shape(X)[0], call.attrs<TreeAttrs>().targets})};
}

/// Does x take the way `yes` at a node?
Expr goes_yes(const Expr& x, const Expr& split, const Expr& mode) {
  const auto is = [&](TreeMode m) { return ir::eq(mode, static_cast<int64_t>(m)); };
  Expr result = ir::ne(x, split);
  result = ir::select(is(TreeMode::Equal), ir::eq(x, split), result);
  result = ir::select(is(TreeMode::Greater), split < x, result);
  result = ir::select(is(TreeMode::GreaterEqual), split <= x, result);
  result = ir::select(is(TreeMode::Less), x < split, result);
  return ir::select(is(TreeMode::LessEqual), x <= split, result);
}

Expr start_of(Aggregate how, Elem elem) {
  const double inf = std::numeric_limits<double>::infinity();
  return ir::float_imm(elem, how == Aggregate::Min ? inf : how == Aggregate::Max ? -inf : 0);
}

Expr aggregated(Aggregate how, const Expr& old, const Expr& value) {
  if (how == Aggregate::Min) return ir::min(old, value);
  if (how == Aggregate::Max) return ir::max(old, value);
  return old + value;
}

ir::LoopFunc loops(const Call& call) {
  const TreeAttrs& attrs = call.attrs<TreeAttrs>();
  const LoopForm f(call, "tree_ensemble", 1);
  const Buffer& out = f.out(0);
  const Elem elem = out->elem;
  const Scalar at("at", Elem::I64);
  const Expr trees = call.shape(Roots)[0];
  const auto column = [&](Input i, const Expr& row) { return ir::load(f.in(i), {row}); };

  const auto sample = [&](const Coords& v) {
    // Nodes are numbers from 0 on, leaves are -1 - their number.
    const Stmt descend = let("node", at.get(), [&](const Expr& node) {
      const Expr feature = column(Feature, node);
      const Expr inside = ir::logical_and(Expr(0) <= feature, feature < call.shape(X)[1]);
      const Expr nan = ir::float_imm(elem, std::numeric_limits<double>::quiet_NaN());
      const Expr value = ir::cast(elem, ir::load(f.in(X), {v[0], feature}));
      return let("x", ir::guard(inside, value, nan), [&](const Expr& x) {
        const Expr missing =
            ir::logical_and(ir::call(ir::MathFn::IsNan, {x}), column(Missing, node));
        const Expr yes =
            ir::logical_or(missing, goes_yes(x, column(Split, node), column(Mode, node)));
        return at.set(ir::select(yes, column(Yes, node), column(No, node)));
      });
    });
    const auto collect = [&](const Expr& w) {
      return let("target", column(Target, w), [&](const Expr& t) {
        return store(out, {v[0], t},
                     aggregated(attrs.aggregate, ir::load(out, {v[0], t}), column(Weight, w)));
      });
    };
    const auto tree = [&](const Expr& t) {
      return steps({at.set(column(Roots, t)), loop_while(Expr(0) <= at.get(), descend),
                    let("leaf", Expr(-1) - at.get(), [&](const Expr& leaf) {
                      return let("first", column(First, leaf), [&](const Expr& first) {
                        return each("k", column(First, leaf + 1) - first,
                                    [&](const Expr& k) { return collect(first + k); });
                      });
                    })});
    };
    const auto finish = [&](const Expr& t) {
      const Expr sum = ir::load(out, {v[0], t});
      if (attrs.aggregate == Aggregate::Average)
        return store(out, {v[0], t}, sum / ir::cast(elem, ir::max(trees, 1)));
      // What no leaf adds to is 0.
      return store(
          out, {v[0], t},
          ir::select(ir::eq(sum, start_of(attrs.aggregate, elem)), ir::float_imm(elem, 0), sum));
    };
    std::vector<Stmt> all{
        each("t", attrs.targets,
             [&](const Expr& t) { return store(out, {v[0], t}, start_of(attrs.aggregate, elem)); }),
        each("tree", trees, tree)};
    if (attrs.aggregate != Aggregate::Sum) all.push_back(each("t", attrs.targets, finish));
    return with({at}, steps(std::move(all)));
  };
  return f.func(independent(
      "tree_ensemble", {call.shape(X)[0]},
      [&](const Coords& v) {
        std::vector<ir::Region> reads{part(f.in(X), {v[0], Expr()}), part(out, {v[0], Expr()})};
        for (size_t i = Roots; i <= Weight; ++i) reads.push_back(whole(f.in(i)));
        return reads;
      },
      [&](const Coords& v) { return std::vector{part(out, {v[0], Expr()})}; }, sample));
}

}  // namespace

OpDef define_trees() {
  return define_op<TreeAttrs>({.name = "tree_ensemble", .infer = infer, .loops = loops});
}

void check_trees(const OnnxNode& n, const TreeTable& t) {
  const auto nodes = static_cast<int64_t>(t.feature.size());
  const int64_t leaves = static_cast<int64_t>(t.first.size()) - 1;
  const auto known = [&](int64_t at) { return at < nodes && -1 - at < leaves; };
  std::vector<int8_t> seen(t.feature.size(), 0);
  std::vector<int64_t> open(t.roots.begin(), t.roots.end());
  bool sound = true;
  // Every node is reached once at most, so that no way goes in circles.
  while (sound && !open.empty()) {
    const int64_t at = open.back();
    open.pop_back();
    sound = known(at);
    if (!sound || at < 0) continue;
    sound = !seen[static_cast<size_t>(at)]++;
    open.push_back(t.yes[static_cast<size_t>(at)]);
    open.push_back(t.no[static_cast<size_t>(at)]);
  }
  for (const int64_t target : t.target) sound = sound && target >= 0 && target < t.targets;
  if (!sound)
    n.refuse("ops.trees.shape", "the nodes are no trees, or a leaf has a target that is not there",
             "give every node two ways to nodes or leaves that are there, and one way to it");
}

ValueId call_trees(Builder& g, ValueId x, const TreeTable& t) {
  const Elem elem = g.tensor(x).elem == Elem::F64 ? Elem::F64 : Elem::F32;
  const auto list = [&](const std::vector<int64_t>& v, Elem e = Elem::I64) {
    return g.constant(int_constant(e, {static_cast<int64_t>(v.size())}, v));
  };
  const auto floats = [&](const std::vector<double>& v) {
    return g.constant(float_constant(elem, {static_cast<int64_t>(v.size())}, v));
  };
  return g.call(
      tree_ensemble_op(), TreeAttrs{.aggregate = t.aggregate, .targets = t.targets},
      {x, list(t.roots), list(t.feature), list(t.mode), floats(t.split), list(t.yes), list(t.no),
       list(t.missing, Elem::Bool), list(t.first), list(t.target), floats(t.weight)});
}

}  // namespace tilewright::ops
