// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/canonical.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "tune/choose/digits.h"
#include "tune/choose/in_blocks.h"
#include "tune/choose/inits.h"
#include "tune/choose/pieces.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

/// Which neighbouring dimensions of buffers and iterators of blocks belong together: `first` is
/// joined with the one after it.
struct Joins {
  std::map<const ir::BufferNode*, std::set<size_t>> dims;
  std::map<const ir::Block*, std::set<size_t>> iters;
};

/// How often a variable is mentioned by a statement's expressions, in all.
void count_mentions(const Stmt& s, std::map<const ir::ExprNode*, int>& counts) {
  if (s) ir::walk(s, [&](const ir::VarNode& v) { ++counts[&v]; });
}

/// Finds what can be joined: first everything that looks like it, then less until it fits together.
class Finder {
 public:
  Finder(std::vector<Stage> stages, const std::set<const ir::BufferNode*>& frozen)
      : stages_(std::move(stages)) {
    for (const Stage& s : stages_) {
      if (s.kind == StageKind::Other) continue;
      uses_[s.block] = uses_of(*s.block);
      const auto& iters = s.block->iters;
      for (size_t i = 0; i + 1 < iters.size(); ++i)
        if (iters[i].kind == iters[i + 1].kind) joins_.iters[s.block].insert(i);
      for (const Use& u : uses_[s.block])
        if (!frozen.contains(u.buffer.get()))
          for (size_t d = 0; d + 1 < u.indices.size(); ++d) joins_.dims[u.buffer.get()].insert(d);
    }
    while (drop_misfits()) {
    }
  }

  Joins result() && { return std::move(joins_); }

 private:
  bool joined(const Buffer& b, size_t d) const {
    const auto found = joins_.dims.find(b.get());
    return found != joins_.dims.end() && found->second.contains(d);
  }

  bool drop_misfits() {
    bool dropped = false;
    for (const Stage& s : stages_) {
      if (s.kind == StageKind::Other) continue;
      const auto& iters = s.block->iters;
      const auto iter_of = [&](const Expr& e) {
        return static_cast<size_t>(
            std::ranges::find_if(iters, [&](const ir::BlockIter& it) { return it.var == e; }) -
            iters.begin());
      };
      std::map<const ir::ExprNode*, int> mentions, fitting;
      count_mentions(s.block->init, mentions);
      count_mentions(s.block->body, mentions);
      std::set<size_t>& pairs = joins_.iters[s.block];
      for (const Use& u : uses_[s.block]) {
        for (size_t d = 0; d + 1 < u.indices.size(); ++d) {
          if (!joined(u.buffer, d)) continue;
          const size_t i = iter_of(u.indices[d]);
          const bool fits = i + 1 < iters.size() && pairs.contains(i) &&
                            u.indices[d + 1] == iters[i + 1].var &&
                            ir::equal(u.buffer->shape[d + 1], iters[i + 1].extent);
          if (!fits) {
            joins_.dims[u.buffer.get()].erase(d);
            dropped = true;
          } else {
            ++fitting[iters[i].var.get()];
          }
        }
      }
      // A pair of iterators goes together when each of its mentions is in a pair of dimensions.
      for (size_t i = 0; i + 1 < iters.size(); ++i) {
        if (!pairs.contains(i)) continue;
        const int n = fitting[iters[i].var.get()];
        const bool inside =
            mentions[iters[i].var.get()] == n && mentions[iters[i + 1].var.get()] == n && n > 0;
        if (inside) continue;
        pairs.erase(i);
        dropped = true;
      }
    }
    return dropped;
  }

  std::vector<Stage> stages_;
  std::map<const ir::Block*, std::vector<Use>> uses_;
  Joins joins_;
};

/// Groups of neighbours: [first, last] of each.
std::vector<std::pair<size_t, size_t>> groups_of(size_t count, const std::set<size_t>& joined) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && joined.contains(i - 1))
      out.back().second = i;
    else
      out.push_back({i, i});
  }
  return out;
}

/// Rewrites blocks, loops and accesses: drops what has extent 1, joins what belongs together.
class Rewriting {
 public:
  Rewriting(const ir::LoopFunc& func, Joins joins, const std::set<const ir::BufferNode*>& frozen)
      : func_(func), joins_(std::move(joins)), frozen_(frozen) {}

  ir::LoopFunc run() {
    ir::LoopFunc out = func_;
    for (ir::Param& p : out.params) p.buffer = buffer(p.buffer);
    out.body = with_stages(
        func_, [&](const Buffer& b) { return buffer(b); },
        [&](const Stage& stage) { return plain(stage); });
    return out;
  }

 private:
  const std::set<size_t>& dims_of(const Buffer& b) const {
    static const std::set<size_t> none;
    const auto found = joins_.dims.find(b.get());
    return found == joins_.dims.end() ? none : found->second;
  }

  bool is_frozen(const Buffer& b) const { return frozen_.contains(b.get()) || b->layout; }

  /// Does the iterator stand for a dimension of a result that keeps its dimensions?
  bool names_frozen(const ir::Block& b, const ir::Var& iter) const {
    return std::ranges::any_of(b.writes, [&](const ir::Region& w) {
      return is_frozen(w.buffer) &&
             std::ranges::any_of(w.ranges, [&](const ir::Range& r) { return r.min == iter; });
    });
  }

  Buffer buffer(const Buffer& b) {
    if (is_frozen(b)) return b;
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    std::vector<Expr> shape;
    for (const auto& [first, last] : groups_of(b->shape.size(), dims_of(b))) {
      Expr extent = 1;
      for (size_t d = first; d <= last; ++d) extent = extent * b->shape[d];
      if (!ir::is_const(extent, 1)) shape.push_back(extent);
    }
    const bool same = shape.size() == b->shape.size();
    return buffers_[b] = same ? b
                              : ir::make_buffer(b->name, b->elem, shape, b->scope, b->layout,
                                                b->alignment, b->span);
  }

  /// What is kept of the indices, or ranges, of an access.
  template <class T>
  std::vector<T> kept(const Buffer& b, const std::vector<T>& all) const {
    if (is_frozen(b)) return all;
    std::vector<T> out;
    for (const auto& [first, last] : groups_of(b->shape.size(), dims_of(b))) {
      const bool unit = first == last && ir::is_const(b->shape[first], 1);
      if (!unit) out.push_back(all[first]);  // the first iterator of a group stands for it
    }
    return out;
  }

  ir::Region region(const ir::Region& r, const ir::VarMap& units) {
    const std::vector<ir::Range> ranges = kept(r.buffer, ir::substitute(r, units).ranges);
    return {buffer(r.buffer), ranges, r.rank};
  }

  /// Statements of a plain block with the new buffers and indices.
  Stmt body(const Stmt& s, const ir::VarMap& units) {
    if (!s) return s;
    const auto indices = [&](const Buffer& b, const std::vector<Expr>& all, auto& self) {
      std::vector<Expr> out;
      for (const Expr& e : kept(b, all)) out.push_back(self(e));
      return out;
    };
    return ir::rewrite(
        s,
        [&](const ir::VarNode& v, auto&) -> Expr {
          const auto found = units.find(ir::Var::of(v));
          return found == units.end() ? Expr::of(v) : found->second;
        },
        [&](const ir::Binary& b, auto& self) -> Expr {
          return ir::binary(b.op, self(b.a), self(b.b));
        },
        [&](const ir::Load& l, auto& self) -> Expr {
          return ir::make<ir::Load>(l.span, buffer(l.buffer), indices(l.buffer, l.indices, self));
        },
        [&](const ir::Store& st, auto& self) -> Stmt {
          return ir::make_stmt<ir::Store>(st.span, buffer(st.buffer),
                                          indices(st.buffer, st.indices, self), self(st.value));
        },
        [&](const ir::Update& u, auto& self) -> Stmt {
          ir::Update out = u;
          for (ir::Target& t : out.targets)
            t = {buffer(t.buffer), indices(t.buffer, t.indices, self)};
          for (Expr& v : out.values) v = self(v);
          return ir::make_stmt<ir::Update>(u.span, u.reducer, out.targets, out.values);
        });
  }

  Stmt plain(const Stage& stage) {
    const ir::Block& b = *stage.block;
    ir::VarMap units;
    std::vector<ir::BlockIter> iters;
    const auto found = joins_.iters.find(&b);
    const std::set<size_t> joined =
        found == joins_.iters.end() ? std::set<size_t>() : found->second;
    size_t reductions = 0;
    for (const ir::BlockIter& it : b.iters) reductions += it.kind == ir::IterKind::Reduction;
    struct Loop {
      ir::Var var;
      Expr extent;
      Span span;
    };
    std::vector<Loop> loops;
    for (const auto& [first, last] : groups_of(b.iters.size(), joined)) {
      ir::BlockIter it = b.iters[first];
      Loop loop{stage.loops[first]->var, 1, stage.loops[first]->span};
      it.extent = 1;
      for (size_t i = first; i <= last; ++i) it.extent = it.extent * b.iters[i].extent;
      const bool reduces = it.kind == ir::IterKind::Reduction;
      if (ir::is_const(it.extent, 1) && !(reduces && reductions == 1) && !names_frozen(b, it.var)) {
        reductions -= reduces;
        for (size_t i = first; i <= last; ++i) units[b.iters[i].var] = 0;
        continue;
      }
      loop.extent = it.extent;
      loops.push_back(loop);
      iters.push_back(it);
    }
    const Stmt init = body(b.init, units), update = body(b.body, units);
    // An index of a dimension of extent 1 is gone, and with it what it read.
    std::unordered_set<Buffer> loaded;
    for (const Stmt& part : {init, update})
      ir::walk(part, [&](const ir::Load& l) { loaded.insert(l.buffer); });
    std::vector<ir::Region> reads, writes;
    for (const ir::Region& r : b.reads)
      if (ir::Region now = region(r, units); loaded.contains(now.buffer)) reads.push_back(now);
    for (const ir::Region& r : b.writes) writes.push_back(region(r, units));
    Stmt out = ir::make_stmt<ir::Block>(b.span, b.name, iters, nullptr, reads, writes, init, update,
                                        false, b.hints);
    for (size_t i = loops.size(); i-- > 0;)
      out = ir::make_stmt<ir::For>(loops[i].span, loops[i].var, 0, loops[i].extent, out);
    return out;
  }

  const ir::LoopFunc& func_;
  const Joins joins_;
  const std::set<const ir::BufferNode*>& frozen_;
  ir::BufferMap buffers_;
};

}  // namespace

ir::LoopFunc canonical(const ir::LoopFunc& given) {
  if (!only_blocks(given)) return given;
  const ir::LoopFunc blocks = in_pieces(in_digits(in_groups(with_inits_inside(given))));
  std::set<const ir::BufferNode*> frozen;
  for (const Stage& s : stages_of(blocks)) {
    if (s.kind != StageKind::Other) continue;
    for (const auto* regions : {&s.block->reads, &s.block->writes})
      for (const ir::Region& r : *regions) frozen.insert(r.buffer.get());
    for (const Use& u : uses_of(*s.block)) frozen.insert(u.buffer.get());
  }
  // What has extent 1 goes first: then more is next to each other.
  const ir::LoopFunc smaller = Rewriting(blocks, {}, frozen).run();
  return Rewriting(smaller, Finder(stages_of(smaller), frozen).result(), frozen).run();
}

}  // namespace tilewright::tune
