// SPDX-License-Identifier: Apache-2.0
#include "tune/model/leaves.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/rewrite.h"
#include "lower/meaning.h"
#include "tune/choose/sizes.h"

namespace tilewright::tune {
namespace {

/// About linear in the loops around: a constant and a step for each loop.
using Linear = std::vector<double>;

class Collector {
 public:
  Collector(const ir::LoopFunc& func, const std::vector<std::string>& constants)
      : sizes_(func), constants_(constants) {
    for (const ir::Param& p : func.params)
      if (p.access != ir::Access::In) results_.push_back(p.buffer);
  }

  void stmt(const ir::Stmt& s) {
    if (const auto* loop = s.as<ir::For>()) {
      around_.push_back(
          {.extent = static_cast<double>(extent_of(loop->extent)), .kind = loop->loop});
      Linear step(around_.size(), 0.0);
      step.back() = 1;
      known_.push_back({loop->var, step});
      stmt(loop->body);
      known_.pop_back();
      around_.pop_back();
    } else if (const auto* block = s.as<ir::Block>()) {
      enter(*block);
    } else if (const auto* store = s.as<ir::Store>()) {
      Leaf leaf = begin(store->value);
      access(leaf, store->buffer, store->indices, true);
      finish(std::move(leaf));
    } else if (const auto* update = s.as<ir::Update>()) {
      Leaf leaf = begin(update->values[0]);
      for (size_t i = 1; i < update->values.size(); ++i) add_value(leaf, update->values[i]);
      for (const ir::Target& t : update->targets) access(leaf, t.buffer, t.indices, true);
      leaf.operations += static_cast<double>(update->targets.size());
      leaf.update = true;
      finish(std::move(leaf));
    } else if (const auto* call = s.as<ir::InstrCall>()) {
      instruction_ = around_.size();
      stmt(lower::meaning_of(*call));
      instruction_.reset();
    } else {
      ir::for_each_child(s, [](const ir::Expr&) {}, [&](const ir::Stmt& c) { stmt(c); });
    }
  }

  std::vector<Leaf> leaves;

 private:
  int64_t extent_of(const ir::Expr& e) const {
    // The size of a window that is cut short at a border: the larger bound.
    if (const auto* b = e.as<ir::Binary>(); b && b->op == ir::BinaryOp::Min) {
      const auto one = ir::const_int(b->a), other = ir::const_int(b->b);
      if (one || other) return std::max<int64_t>(1, one ? *one : *other);
    }
    return std::max<int64_t>(sizes_.of(e), 1);
  }

  void enter(const ir::Block& block) {
    const size_t before = known_.size();
    double points = 1, runs = 1;
    std::vector<bool> used(around_.size());
    const std::vector<LeafLoop> outside = around_;
    for (const ir::BlockIter& it : block.iters) {
      Linear form = linear(it.binding);
      points *= static_cast<double>(extent_of(it.extent));
      for (size_t l = 0; l < form.size(); ++l)
        if (form[l] != 0) {
          used[l] = true;
          around_[l].sums = around_[l].sums || it.kind == ir::IterKind::Reduction;
        }
      known_.push_back({it.var, std::move(form)});
    }
    for (size_t l = 0; l < around_.size(); ++l)
      if (used[l]) runs *= around_[l].extent;
    const double outer = needed_;
    if (block.predicate) needed_ = std::clamp(points / runs, 1e-3, 1.0);
    if (block.init) {
      // Before the first term only.
      const double all = needed_;
      for (const ir::BlockIter& it : block.iters)
        if (it.kind == ir::IterKind::Reduction)
          needed_ /= static_cast<double>(extent_of(it.extent));
      stmt(block.init);
      needed_ = all;
    }
    stmt(block.body);
    needed_ = outer;
    around_ = outside;
    known_.resize(before);
  }

  Leaf begin(const ir::Expr& value) {
    Leaf leaf{.loops = around_, .accesses = {}, .operations = 0, .needed = needed_};
    add_value(leaf, value);
    return leaf;
  }

  void add_value(Leaf& leaf, const ir::Expr& value) {
    int64_t n = operations(value);
    ir::walk(
        value, [](const ir::Load&) { return false; },
        [&](const ir::Guard& g) {
          // Loops are cut where a choice changes that all lanes share.
          if (!differs_by_lane(g.cond)) n -= 1 + operations(g.cond);
        });
    leaf.operations += static_cast<double>(std::max<int64_t>(n, 0));
    ir::walk(value, [&](const ir::Load& l) { access(leaf, l.buffer, l.indices, false); });
  }

  bool differs_by_lane(const ir::Expr& e) const {
    bool data = false;
    ir::walk(e, [&](const ir::Load&) { data = true; });
    if (data) return true;
    for (size_t l = 0; l < around_.size(); ++l)
      if (around_[l].kind == ir::ForKind::Vectorized)
        for (const auto& [var, form] : known_)
          if (l < form.size() && form[l] != 0 && ir::uses(e, var)) return true;
    return false;
  }

  void access(Leaf& leaf, const ir::Buffer& buffer, const std::vector<ir::Expr>& indices,
              bool store) {
    LeafAccess a{.buffer = &*buffer,
                 .store = store,
                 .in_registers = buffer->scope.kind == ir::ScopeKind::Register ||
                                 buffer->scope.kind == ir::ScopeKind::Tile,
                 .in_tile = buffer->scope.kind == ir::ScopeKind::Tile,
                 .bytes = ir::bits(buffer->elem) / 8.0,
                 .shape = {},
                 .steps = {}};
    for (const ir::Expr& e : buffer->shape) a.shape.push_back(static_cast<double>(sizes_.of(e)));
    for (const ir::Expr& e : indices) a.steps.push_back(linear(e));
    constant_ = constant_ && (store || std::ranges::count(constants_, buffer->name) > 0);
    reads_ = reads_ || !store;
    if (store && std::ranges::count(results_, buffer)) constant_ = false;
    leaf.accesses.push_back(std::move(a));
  }

  /// The loops of an instruction run at once: along the last dimension of what it stores as lanes.
  /// Its sums cost no more than one operation.
  void at_once(Leaf& leaf) const {
    const LeafAccess& stored = leaf.accesses.back();
    for (size_t l = *instruction_; l < leaf.loops.size(); ++l) {
      bool moves = false;
      for (const std::vector<double>& steps : stored.steps) moves = moves || steps[l] != 0;
      const bool lanes = !stored.steps.empty() && stored.steps.back()[l] == 1;
      leaf.loops[l].kind = lanes ? ir::ForKind::Vectorized : ir::ForKind::Unrolled;
      if (!moves) leaf.operations /= leaf.loops[l].extent;
    }
  }

  void finish(Leaf leaf) {
    if (instruction_) at_once(leaf);
    if (!(constant_ && reads_)) leaves.push_back(std::move(leaf));
    constant_ = true;
    reads_ = false;
  }

  /// The steps of an index. Quotients and remainders of tiles come out exactly; others about.
  Linear linear(const ir::Expr& e) const {
    Linear out(around_.size(), 0.0);
    add(e, 1, out);
    return out;
  }

  void add(const ir::Expr& e, double scale, Linear& out) const {
    if (e.as<ir::VarNode>()) {
      for (size_t i = known_.size(); i-- > 0;)
        if (known_[i].first == e) {
          for (size_t l = 0; l < known_[i].second.size(); ++l)
            out[l] += scale * known_[i].second[l];
          return;
        }
      return;
    }
    const auto* b = e.as<ir::Binary>();
    if (!b) return;
    const auto right = ir::const_int(b->b), left = ir::const_int(b->a);
    switch (b->op) {
      case ir::BinaryOp::Add:
        add(b->a, scale, out);
        add(b->b, scale, out);
        return;
      case ir::BinaryOp::Sub:
        add(b->a, scale, out);
        add(b->b, -scale, out);
        return;
      case ir::BinaryOp::Mul:
        if (right) add(b->a, scale * static_cast<double>(*right), out);
        if (!right && left) add(b->b, scale * static_cast<double>(*left), out);
        return;
      case ir::BinaryOp::Div:
      case ir::BinaryOp::Mod: {
        if (!right || *right == 0) return;
        const auto by = static_cast<double>(*right);
        const Linear inside = linear(b->a);
        for (size_t l = 0; l < inside.size(); ++l) {
          const bool whole = std::fmod(inside[l], by) == 0;
          if (b->op == ir::BinaryOp::Div)
            // A loop that stays inside of one piece moves nothing.
            out[l] +=
                whole || std::abs(inside[l]) * around_[l].extent > by ? scale * inside[l] / by : 0;
          else
            out[l] += whole ? 0 : scale * std::fmod(inside[l], by);
        }
        return;
      }
      case ir::BinaryOp::Min:
      case ir::BinaryOp::Max: add(right ? b->a : b->b, scale, out); return;
      default: return;
    }
  }

  const Sizes sizes_;
  const std::vector<std::string>& constants_;
  std::vector<ir::Buffer> results_;
  std::vector<LeafLoop> around_;
  std::vector<std::pair<ir::Var, Linear>> known_;  // loops and block iterators
  std::optional<size_t> instruction_;              // that is entered: loops around it
  double needed_ = 1;
  bool constant_ = true, reads_ = false;
};

}  // namespace

double LeafAccess::range(const std::vector<LeafLoop>& loops, size_t level, size_t dim) const {
  double out = 1;
  for (size_t l = level; l < steps[dim].size(); ++l)
    out += std::abs(steps[dim][l]) * (loops[l].extent - 1);
  return std::min(out, std::max(shape[dim], 1.0));
}

double LeafAccess::elements(const std::vector<LeafLoop>& loops, size_t level) const {
  double all = 1;
  for (size_t d = 0; d < steps.size(); ++d) all *= range(loops, level, d);
  return all;
}

double LeafAccess::lines(const std::vector<LeafLoop>& loops, size_t level) const {
  constexpr double kLine = 64;
  // Rows that are touched as a whole lie one behind the other.
  double pieces = 1, piece = 1;
  bool whole = true;
  for (size_t d = steps.size(); d-- > 0;) {
    const double touched = range(loops, level, d);
    (whole ? piece : pieces) *= touched;
    whole = whole && touched >= shape[d];
  }
  return pieces * std::ceil(piece * bytes / kLine);
}

double LeafAccess::stride(size_t loop) const {
  double total = 0, unit = 1;
  for (size_t d = steps.size(); d-- > 0;) {
    total += steps[d][loop] * unit;
    unit *= std::max(shape[d], 1.0);
  }
  return total;
}

double Leaf::runs(size_t from) const {
  double n = 1;
  for (size_t l = from; l < loops.size(); ++l) n *= loops[l].extent;
  return n;
}

std::vector<Leaf> leaves_of(const ir::LoopFunc& func, const std::vector<std::string>& constants) {
  Collector collector(func, constants);
  collector.stmt(func.body);
  return std::move(collector.leaves);
}

}  // namespace tilewright::tune
