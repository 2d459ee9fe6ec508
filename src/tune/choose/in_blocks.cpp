// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/in_blocks.h"

#include <algorithm>
#include <map>
#include <set>

#include "arith/affine.h"
#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/function_ref.h"
#include "support/str.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

using Cuts = std::map<size_t, int64_t>;  // dimensions or iterators, and the size of their pieces

bool divides(int64_t size, const Expr& extent) {
  const auto known = ir::const_int(extent);
  return known && *known > 0 && *known % size == 0;
}

/// An iterator of a block in groups of so many.
struct Group {
  const ir::Block* block;
  size_t iter;
  int64_t size;
};

/// What is cut: from the parameters through the iterators along them to what those index.
class Finder {
 public:
  Finder(const ir::LoopFunc& func, const std::vector<Pieces>& params) {
    for (const Stage& s : stages_of(func)) {
      if (s.kind != StageKind::Other) {
        stages_.emplace_back(s, uses_of(*s.block));
        continue;
      }
      for (const auto* regions : {&s.block->reads, &s.block->writes})
        for (const ir::Region& r : *regions) frozen_.insert(r.buffer.get());
      for (const Use& u : uses_of(*s.block)) frozen_.insert(u.buffer.get());
    }
    for (const Pieces& p : params) {
      const Buffer& b = func.params[p.param].buffer;
      possible_ = possible_ && !frozen_.contains(b.get()) && divides(p.size, b->shape[p.dim]);
      dims[b.get()][p.dim] = p.size;
    }
    while (possible_ && grow()) {
    }
  }
  /// Beginning with an iterator of a block.
  Finder(const ir::LoopFunc& func, const Group& group) : Finder(func, std::vector<Pieces>()) {
    iters[group.block][group.iter] = group.size;
    while (grow()) {
    }
  }

  bool possible() const { return possible_; }

  std::map<const ir::BufferNode*, Cuts> dims;
  std::map<const ir::Block*, Cuts> iters;

 private:
  bool grow() {
    bool grown = false;
    for (const auto& [stage, uses] : stages_) {
      Cuts& cut = iters[stage.block];
      const auto& all = stage.block->iters;
      const auto cut_iter = [&](const Expr& var, int64_t size) {
        for (size_t i = 0; i < all.size(); ++i)
          if (all[i].var == var && divides(size, all[i].extent))
            grown = cut.try_emplace(i, size).second || grown;
      };
      for (const Use& u : uses)
        for (size_t d = 0; d < u.indices.size(); ++d) {
          const Expr& e = u.indices[d];
          Cuts& of_buffer = dims[u.buffer.get()];
          if (const auto found = of_buffer.find(d); found != of_buffer.end()) {
            if (const auto form = arith::affine_of(e))
              for (const arith::Affine::Term& t : form->terms)
                if (t.coefficient == 1) cut_iter(t.expr, found->second);
            continue;
          }
          if (frozen_.contains(u.buffer.get())) continue;
          for (const auto& [i, size] : cut)
            if (e == all[i].var && divides(size, u.buffer->shape[d])) {
              of_buffer[d] = size;
              grown = true;
            }
        }
    }
    return grown;
  }

  std::vector<std::pair<Stage, std::vector<Use>>> stages_;
  std::set<const ir::BufferNode*> frozen_;
  bool possible_ = true;
};

class Rewriting {
 public:
  Rewriting(const ir::LoopFunc& func, const std::vector<Pieces>& params, const Finder& cuts)
      : func_(func), cuts_(cuts), side_by_side_(params.empty()) {
    for (const ir::Param& p : func.params) in_pieces_[p.buffer.get()];
    for (const Pieces& p : params) in_pieces_[func.params[p.param].buffer.get()].insert(p.dim);
  }

  ir::LoopFunc run() {
    ir::LoopFunc out = func_;
    for (ir::Param& p : out.params) p.buffer = buffer(p.buffer);
    out.body = with_stages(
        func_, [&](const Buffer& b) { return buffer(b); },
        [&](const Stage& stage) { return plain(stage); });
    return out;
  }

 private:
  const Cuts& dims_of(const Buffer& b) const {
    static const Cuts none;
    const auto found = cuts_.dims.find(b.get());
    return found == cuts_.dims.end() ? none : found->second;
  }

  /// Do the places inside the pieces of a dimension that is cut come last? A parameter's bytes are
  /// given: only those of the dimensions that lie in pieces do, others stay side by side.
  bool places_last(const Buffer& b, size_t dim) const {
    if (side_by_side_) return false;
    const auto param = in_pieces_.find(b.get());
    return param == in_pieces_.end() || param->second.contains(dim);
  }

  /// One of `outer` and `inner` for each dimension that is cut, in the order of memory.
  template <class T>
  std::vector<T> arranged(const Buffer& b, const std::vector<T>& all,
                          FunctionRef<std::pair<T, T>(const T&, int64_t)> cut) const {
    const Cuts& cuts = dims_of(b);
    std::vector<T> out, last;
    for (size_t d = 0; d < all.size(); ++d) {
      const auto found = cuts.find(d);
      if (found == cuts.end()) {
        out.push_back(all[d]);
        continue;
      }
      const auto [outer, inner] = cut(all[d], found->second);
      out.push_back(outer);
      (places_last(b, d) ? last : out).push_back(inner);
    }
    out.insert(out.end(), last.begin(), last.end());
    return out;
  }

  Buffer buffer(const Buffer& b) {
    if (dims_of(b).empty()) return b;
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    const std::vector<Expr> shape = arranged<Expr>(b, b->shape, [](const Expr& e, int64_t size) {
      return std::pair<Expr, Expr>(*ir::const_int(e) / size, size);
    });
    return buffers_[b] =
               ir::make_buffer(b->name, b->elem, shape, b->scope, b->layout, b->alignment, b->span);
  }

  /// What is known of a stage's iterators after the cut.
  struct Places {
    ir::VarMap values;
    arith::Context context;
  };

  std::vector<Expr> indices(const Buffer& b, const std::vector<Expr>& all, const Places& at) const {
    std::vector<Expr> now;
    for (const Expr& e : all) {
      now.push_back(ir::substitute(e, at.values));
      if (side_by_side_ && !ir::equal(e, now.back())) now.back() = at.context.simplify(now.back());
    }
    return arranged<Expr>(b, now, [&](const Expr& e, int64_t size) {
      return std::pair(at.context.simplify(e / size), at.context.simplify(e % size));
    });
  }

  ir::Region region(const ir::Region& r, const Places& at) {
    std::vector<ir::Range> now;
    for (const ir::Range& range : r.ranges)
      now.push_back({at.context.simplify(ir::substitute(range.min, at.values)),
                     ir::substitute(range.extent, at.values)});
    size_t d = 0;
    std::vector<Expr> extents;
    for (const auto& [dim, size] : dims_of(r.buffer))
      extents.push_back(*ir::const_int(r.buffer->shape[dim]) / size);
    const auto ranges =
        arranged<ir::Range>(r.buffer, now, [&](const ir::Range& range, int64_t size) {
          const Expr pieces = extents[d++];
          if (!ir::is_const(range.extent, 1))
            return std::pair(ir::Range{0, pieces}, ir::Range{0, size});
          return std::pair(ir::Range{at.context.simplify(range.min / size), 1},
                           ir::Range{at.context.simplify(range.min % size), 1});
        });
    return {buffer(r.buffer), ranges, r.rank};
  }

  Stmt body(const Stmt& s, const Places& at) {
    if (!s) return s;
    return ir::rewrite(
        s,
        [&](const ir::VarNode& v, auto&) -> Expr {
          const auto found = at.values.find(ir::Var::of(v));
          return found == at.values.end() ? Expr::of(v) : found->second;
        },
        [&](const ir::Load& l, auto& self) -> Expr {
          if (std::ranges::any_of(l.indices, ir::has_load)) {
            // Indices that read memory: the cut is written out.
            std::vector<Expr> inner;
            for (const Expr& e : l.indices) inner.push_back(self(e));
            return ir::make<ir::Load>(
                l.span, buffer(l.buffer),
                arranged<Expr>(l.buffer, inner, [](const Expr& e, int64_t size) {
                  return std::pair(e / size, e % size);
                }));
          }
          return ir::make<ir::Load>(l.span, buffer(l.buffer), indices(l.buffer, l.indices, at));
        },
        [&](const ir::Store& st, auto& self) -> Stmt {
          return ir::make_stmt<ir::Store>(st.span, buffer(st.buffer),
                                          indices(st.buffer, st.indices, at), self(st.value));
        },
        [&](const ir::Update& u, auto& self) -> Stmt {
          ir::Update out = u;
          for (ir::Target& t : out.targets)
            t = {buffer(t.buffer), indices(t.buffer, t.indices, at)};
          for (Expr& v : out.values) v = self(v);
          return ir::make_stmt<ir::Update>(u.span, u.reducer, out.targets, out.values);
        });
  }

  Stmt plain(const Stage& stage) {
    const ir::Block& b = *stage.block;
    static const Cuts none;
    const auto found = cuts_.iters.find(&b);
    const Cuts& cut = found == cuts_.iters.end() ? none : found->second;
    Places at{.values = {}, .context = arith::Context(func_)};
    // Results first, then terms; of each the pieces, then the places inside.
    std::vector<ir::BlockIter> iters;
    for (const bool reduces : {false, true}) {
      std::vector<ir::BlockIter> inner;
      for (size_t i = 0; i < b.iters.size(); ++i) {
        ir::BlockIter it = b.iters[i];
        if ((it.kind == ir::IterKind::Reduction) != reduces) continue;
        const auto size = cut.find(i);
        if (size == cut.end()) {
          iters.push_back(it);
          continue;
        }
        ir::BlockIter place = it;
        it.var = ir::Var(str(b.iters[i].var.name(), "_0"));
        place.var = ir::Var(str(b.iters[i].var.name(), "_1"));
        it.extent = *ir::const_int(it.extent) / size->second;
        place.extent = size->second;
        at.values[b.iters[i].var] = it.var * size->second + place.var;
        iters.push_back(it);
        (side_by_side_ ? iters : inner).push_back(place);
      }
      iters.insert(iters.end(), inner.begin(), inner.end());
    }
    std::vector<ir::Var> loops;
    for (ir::BlockIter& it : iters) {
      at.context.bind(it.var, 0, it.extent);
      loops.emplace_back(it.var.name());
      it.binding = loops.back();
    }
    std::vector<ir::Region> reads, writes;
    for (const ir::Region& r : b.reads) reads.push_back(region(r, at));
    for (const ir::Region& r : b.writes) writes.push_back(region(r, at));
    Stmt out = ir::make_stmt<ir::Block>(b.span, b.name, iters, nullptr, reads, writes,
                                        body(b.init, at), body(b.body, at), false, b.hints);
    for (size_t i = loops.size(); i-- > 0;)
      out = ir::make_stmt<ir::For>(b.span, loops[i], 0, iters[i].extent, out);
    return out;
  }

  const ir::LoopFunc& func_;
  const Finder& cuts_;
  const bool side_by_side_;                                      // no memory changes
  std::map<const ir::BufferNode*, std::set<size_t>> in_pieces_;  // of parameters: which dimensions
  ir::BufferMap buffers_;
};

/// An iterator of a sum of whose quotient an operand is read, as of channels in groups.
std::optional<Group> group_of(const ir::LoopFunc& func) {
  for (const Stage& s : stages_of(func)) {
    if (s.kind != StageKind::Reduce) continue;
    const auto& iters = s.block->iters;
    for (size_t i = 0; i < iters.size(); ++i) {
      std::optional<int64_t> by;
      for (const ir::Load* l : s.loads())
        for (const Expr& e : l->indices)
          ir::walk(e, [&](const ir::Binary& b) {
            if (b.op == ir::BinaryOp::Div && b.a == iters[i].var) by = ir::const_int(b.b);
          });
      if (by && *by > 1 && divides(*by, iters[i].extent)) return Group{s.block, i, *by};
    }
  }
  return std::nullopt;
}

}  // namespace

ir::LoopFunc in_groups(const ir::LoopFunc& blocks) {
  ir::LoopFunc out = blocks;
  while (const std::optional<Group> group = group_of(out))
    out = Rewriting(out, {}, Finder(out, *group)).run();
  return out;
}

std::optional<ir::LoopFunc> in_blocks(const ir::LoopFunc& blocks,
                                      const std::vector<Pieces>& params) {
  if (!only_blocks(blocks)) return std::nullopt;
  const Finder cuts(blocks, params);
  if (!cuts.possible()) return std::nullopt;
  return Rewriting(blocks, params, cuts).run();
}

}  // namespace tilewright::tune
