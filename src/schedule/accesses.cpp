// SPDX-License-Identifier: Apache-2.0
#include "schedule/accesses.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "arith/region.h"
#include "ir/build.h"
#include "ir/sharing.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

/// Walks down to blocks and plain statements, keeping the loops and conditions on the way.
class Collector {
 public:
  std::vector<Access> out;

  void stmt(const Stmt& s) {
    if (!s) return;
    if (const auto* loop = s.as<ir::For>()) {
      exprs(loop->min);
      exprs(loop->extent);
      loops_.push_back(loop);
      stmt(loop->body);
      loops_.pop_back();
    } else if (const auto* let = s.as<ir::Let>()) {
      exprs(let->value);
      const bool known = !has_load(let->value);
      if (known)
        lets_[let->var] = ir::substitute(let->value, lets_);
      else
        loaded_.push_back(let->var);
      stmt(let->body);
      if (!known) loaded_.pop_back();
    } else if (const auto* block = s.as<ir::Block>()) {
      add_block(*block);
    } else if (const auto* choice = s.as<ir::If>()) {
      exprs(choice->cond);
      const bool pure = !has_load(choice->cond);
      under(pure ? choice->cond : Expr(), choice->yes);
      under(pure ? ir::logical_not(choice->cond) : Expr(), choice->no);
    } else if (const auto* alloc = s.as<ir::Alloc>()) {
      private_.insert(alloc->buffer);
      stmt(alloc->body);
    } else {
      plain(s);
      ir::for_each_child(
          s, [&](const Expr& e) { exprs(e); }, [&](const Stmt& child) { stmt(child); });
    }
  }

 private:
  std::vector<const ir::For*> loops_;
  ir::VarMap lets_;
  std::vector<ir::Var> loaded_;
  std::unordered_set<ir::Buffer> private_;
  Expr condition_;

  void under(const Expr& condition, const Stmt& s) {
    const Expr outside = condition_;
    condition_ = ir::both(condition_, condition);
    stmt(s);
    condition_ = outside;
  }

  void add(const ir::Region& region, bool write, const ir::Block* block, bool reduction,
           const Expr& condition) {
    const bool is_private = private_.contains(region.buffer);
    std::vector<Expr> spatial;
    if (block)
      for (const ir::BlockIter& it : block->iters)
        if (it.kind == ir::IterKind::Spatial) spatial.push_back(ir::substitute(it.binding, lets_));
    out.push_back({.region = ir::substitute(region, lets_),
                   .write = write,
                   .reduction = reduction,
                   .block = block,
                   .spatial = std::move(spatial),
                   .loops = loops_,
                   .loaded = loaded_,
                   .condition = condition ? ir::substitute(condition, lets_) : condition,
                   .is_private = is_private});
  }

  void add_block(const ir::Block& block) {
    ir::VarMap bindings;
    bool reduces = false;
    for (const ir::BlockIter& it : block.iters) {
      bindings[it.var] = it.binding;
      reduces = reduces || it.kind == ir::IterKind::Reduction;
    }
    Expr condition = condition_;
    if (block.predicate && !has_load(block.predicate))
      condition = ir::both(condition, ir::substitute(block.predicate, bindings));
    for (const ir::Region& r : block.reads)
      add(ir::substitute(r, bindings), false, &block, false, condition);
    for (const ir::Region& r : block.writes)
      add(ir::substitute(r, bindings), true, &block, reduces && !block.opaque, condition);
  }

  static ir::Region point(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
    ir::Region region{.buffer = buffer, .ranges = {}, .rank = {}};
    for (size_t d = 0; d < indices.size(); ++d) {
      // A vector or loaded index may be anywhere in its dimension.
      if (indices[d].type().is_vector() || has_load(indices[d]))
        region.ranges.push_back({0, buffer->shape[d]});
      else
        region.ranges.push_back({indices[d], 1});
    }
    return region;
  }

  void exprs(const Expr& e) {
    ir::walk(e, [&](const ir::Load& l) {
      add(point(l.buffer, l.indices), false, nullptr, false, condition_);
    });
  }

  void plain(const Stmt& s) {
    if (const auto* store = s.as<ir::Store>())
      add(point(store->buffer, store->indices), true, nullptr, false, condition_);
    if (const auto* update = s.as<ir::Update>())
      for (const ir::Target& t : update->targets)
        add(point(t.buffer, t.indices), true, nullptr, false, condition_);
    if (const auto* atomic = s.as<ir::Atomic>()) {
      add(point(atomic->buffer, atomic->indices), true, nullptr, false, condition_);
      if (atomic->old) add(point(atomic->old, {}), true, nullptr, false, condition_);
    }
    if (const auto* call = s.as<ir::InstrCall>())
      for (size_t i = 0; i < call->operands.size(); ++i) {
        const ir::Access access = call->instr->operands[i].access;
        if (access != ir::Access::Out) add(call->operands[i], false, nullptr, false, condition_);
        if (access != ir::Access::In) add(call->operands[i], true, nullptr, false, condition_);
      }
  }
};

bool differ(const std::vector<Expr>& a, const std::vector<Expr>& b, const arith::Context& context) {
  for (size_t i = 0; i < a.size(); ++i)
    if (context.can_prove(a[i] < b[i]) || context.can_prove(b[i] < a[i])) return true;
  return false;
}

std::vector<Expr> substituted(const std::vector<Expr>& all, const ir::VarMap& map) {
  std::vector<Expr> out;
  for (const Expr& e : all) out.push_back(ir::substitute(e, map));
  return out;
}

/// Can `a` and `b` never meet when `mine` and `theirs` (one loop's variable, for each) differ?
bool never_meet(const Access& a, const Access& b, bool one_block, const ir::VarMap& other,
                const arith::Context& context) {
  if (one_block) {
    if (differ(a.spatial, substituted(a.spatial, other), context)) return true;
  }
  return arith::disjoint(a.region, ir::substitute(b.region, other), context);
}

}  // namespace

std::vector<Access> accesses_of(const Stmt& root) {
  Collector collector;
  collector.stmt(root);
  return std::move(collector.out);
}

std::string Conflict::text() const {
  const auto part = [](const Access& a) {
    const std::string who = a.block ? str("block `", a.block->name, "`") : "a statement";
    return str(a.write ? "written by " : "read by ", who);
  };
  return str("`", first.region.buffer->name, "` is ", part(first), " and ", part(second));
}

static arith::Context context_around(const ir::For& root, const Program& program) {
  Path outside = program.path_to(root);
  outside.pop_back();
  return program.context_at(outside);
}

Conflicts::Conflicts(const ir::For& root, const Program& program, Asked asked)
    : all_(accesses_of(ir::Stmt::of(root))), root_(root), program_(program) {
  for (size_t i = 0; i < all_.size(); ++i)
    for (size_t j = i; j < all_.size(); ++j) {
      const Access &a = all_[i], &b = all_[j];
      const ir::Buffer& buffer = a.region.buffer;
      if (buffer == b.region.buffer && (a.write || b.write) &&
          !(a.is_private && ir::is_own(*buffer, root)) && asked(a, b))
        pairs_.push_back({i, j});
    }
  // One iteration keeps the names; the other gets new variables for all that `root` binds.
  for (const Access& a : all_) {
    for (const ir::For* l : a.loops) other_.try_emplace(l->var, ir::Var(l->var.name() + "'"));
    for (const ir::Var& v : a.loaded) other_.try_emplace(v, ir::Var(v.name() + "'", v.type()));
  }
}

/// What is known where `a` runs in one iteration of a loop and `b` in another: their loops run, and
/// those around that loop. Loops beside them may have no iteration at all.
arith::Context Conflicts::context_for(const Access& a, const Access& b,
                                      const std::vector<const ir::For*>& around) const {
  arith::Context out = context_around(root_, program_);
  std::unordered_set<const ir::For*> mine, theirs;
  const auto bind = [&](const ir::For* l, bool second) {
    if (!(second ? theirs : mine).insert(l).second) return;
    if (second)
      out.bind(ir::Var::of(*other_.at(l->var).as<ir::VarNode>()), ir::substitute(l->min, other_),
               ir::substitute(l->extent, other_));
    else
      out.bind(l->var, l->min, l->extent);
  };
  for (const ir::For* l : around) bind(l, false), bind(l, true);
  for (const ir::For* l : a.loops) bind(l, false);
  for (const ir::For* l : b.loops) bind(l, true);
  return out;
}

/// Do instances of the block in different iterations of `loop` differ in a spatial binding,
/// whatever the other loops around do? Fits where one iterator is made of several loops, no order
/// of which says more: `i = (i0*4 + i1)*14 + i2`.
bool Conflicts::tells_apart(const Access& a, const ir::For& loop, const arith::Context& context) {
  const auto depend_on = [&](const ir::Var& v) {
    return std::any_of(a.spatial.begin(), a.spatial.end(),
                       [&](const Expr& e) { return ir::uses(e, v); });
  };
  if (!depend_on(loop.var)) return false;
  const auto [entry, fresh] = injective_.try_emplace(a.block, false);
  if (fresh && std::none_of(a.loaded.begin(), a.loaded.end(), depend_on)) {
    std::vector<ir::Var> used;
    for (const ir::For* l : a.loops)
      if (depend_on(l->var)) used.push_back(l->var);
    entry->second = arith::iter_map(a.spatial, used, context).injective;
  }
  return entry->second;
}

std::vector<Conflict> Conflicts::across(const ir::For& loop) {
  if (pairs_.empty() || context_around(root_, program_).can_prove(loop.extent <= 1))
    return {};  // there are no two iterations
  std::vector<const ir::For*> around = program_.loops_around(loop);
  around.push_back(&loop);
  around.erase(around.begin(), std::ranges::find(around, &root_));
  for (const ir::For* l : around) other_.try_emplace(l->var, ir::Var(l->var.name() + "'"));
  std::vector<Conflict> out;
  std::map<std::pair<std::vector<const ir::For*>, std::vector<const ir::For*>>, arith::Context>
      contexts;
  const ir::Var mine = loop.var;
  const Expr theirs = ir::substitute(Expr(mine), other_);
  for (const auto& [i, j] : pairs_) {
    const Access &a = all_[i], &b = all_[j];
    auto known = contexts.find({a.loops, b.loops});
    if (known == contexts.end())
      known = contexts.emplace(std::pair(a.loops, b.loops), context_for(a, b, around)).first;
    const bool one_block = a.block && a.block == b.block && !a.block->opaque;
    if (one_block && tells_apart(a, loop, known->second)) continue;
    const auto may_meet = [&](const Expr& order) {
      arith::Context context = known->second;
      context.assume(order);
      if (a.condition) context.assume(a.condition);
      if (b.condition) context.assume(ir::substitute(b.condition, other_));
      return !never_meet(a, b, one_block, other_, context);
    };
    const bool a_earlier = may_meet(mine < theirs), b_earlier = may_meet(theirs < mine);
    if (a_earlier || b_earlier) out.push_back({a, b, a_earlier, b_earlier});
  }
  return out;
}

}  // namespace tilewright::schedule
