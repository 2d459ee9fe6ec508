// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/pieces.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "arith/affine.h"
#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "tune/choose/moves.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Stmt;

/// Pieces that one stage is cut into, and cuts of unknown order that are compared with each other.
constexpr size_t kMostPieces = 512, kMostUnknown = 64;

/// A condition that is `below` where an iterator is less than a point, and the opposite from there.
struct Cut {
  size_t iter = 0;
  Expr point;
  bool below = true;
};

/// The only iterator that a difference mentions, as ±1 times it; nothing otherwise.
std::optional<size_t> moved_by(const arith::Affine& form, const std::vector<ir::BlockIter>& iters) {
  std::optional<size_t> found;
  for (const arith::Affine::Term& t : form.terms) {
    if (ir::has_load(t.expr)) return std::nullopt;
    for (size_t i = 0; i < iters.size(); ++i) {
      if (!ir::uses(t.expr, iters[i].var)) continue;
      if (found || t.expr != iters[i].var || (t.coefficient != 1 && t.coefficient != -1))
        return std::nullopt;
      found = i;
    }
  }
  return found;
}

/// Where `a < b`, or `a <= b`, changes.
std::optional<Cut> cut_of(const Expr& a, const Expr& b, bool strict,
                          const std::vector<ir::BlockIter>& iters) {
  if (a.type() != ir::kIndex) return std::nullopt;
  const auto form = arith::difference(a, b);
  const auto iter = form ? moved_by(*form, iters) : std::nullopt;
  if (!iter) return std::nullopt;
  const int64_t sign = form->coefficient(iters[*iter].var);
  arith::Affine rest = *form;
  std::erase_if(rest.terms, [&](const auto& t) { return t.expr == iters[*iter].var; });
  const Expr still = arith::to_expr(rest);
  // v + rest < 0 up to -rest; rest - v < 0 from rest + 1 on.
  if (sign > 0) return Cut{*iter, strict ? -still : 1 - still, true};
  return Cut{*iter, strict ? still + 1 : still, false};
}

/// The cut of a node that chooses: a comparison, or the lesser or greater of two indices, which is
/// its first operand where `a <= b`, or where `b <= a`.
std::optional<Cut> cut_of(const ir::Binary& b, const std::vector<ir::BlockIter>& iters) {
  switch (b.op) {
    case BinaryOp::Lt: return cut_of(b.a, b.b, true, iters);
    case BinaryOp::Le: return cut_of(b.a, b.b, false, iters);
    case BinaryOp::Min: return cut_of(b.a, b.b, false, iters);
    case BinaryOp::Max: return cut_of(b.b, b.a, false, iters);
    default: return std::nullopt;
  }
}

/// The nodes of a value that choose by the place of an iterator.
std::unordered_map<const ir::ExprNode*, Cut> cuts_of(const Expr& value,
                                                     const std::vector<ir::BlockIter>& iters) {
  std::unordered_map<const ir::ExprNode*, Cut> out;
  const auto choice = [&](const Expr& e) {
    ir::walk(e, [&](const ir::Binary& b) {
      if (const auto cut = cut_of(b, iters)) out.emplace(&b, *cut);
    });
  };
  ir::walk(
      value, [&](const ir::Guard& g) { choice(g.cond); },
      [&](const ir::Select& s) { choice(s.cond); },
      [&](const ir::Load& l) {
        for (const Expr& e : l.indices) choice(e);
      });
  return out;
}

/// The points at which an iterator is cut, in ascending order; those that are constants lie between
/// 0 and its extent. Nothing when the order is not known.
std::optional<std::vector<Expr>> ordered(const std::vector<Expr>& points, const Expr& extent,
                                         const arith::Context& context) {
  std::vector<Expr> known, unknown;
  for (const Expr& p : points) (ir::const_int(p) ? known : unknown).push_back(p);
  std::ranges::sort(known, {}, [](const Expr& p) { return *ir::const_int(p); });
  if (const auto n = ir::const_int(extent); n && unknown.empty()) {
    std::erase_if(known,
                  [&](const Expr& p) { return *ir::const_int(p) <= 0 || *ir::const_int(p) >= *n; });
    return known;
  }
  if (points.size() > kMostUnknown) return std::nullopt;
  std::vector<Expr> out = std::move(known);
  for (const Expr& p : unknown) {
    size_t at = 0;
    for (size_t end = out.size(); at < end;) {
      const size_t middle = (at + end) / 2;
      if (context.can_prove(out[middle] <= p))
        at = middle + 1;
      else if (context.can_prove(p <= out[middle]))
        end = middle;
      else
        return std::nullopt;
    }
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), p);
  }
  return out;
}

/// The points where pieces begin and end: no farther than the iterator goes.
std::vector<Expr> bounds_of(const std::vector<Expr>& points, const Expr& extent,
                            const arith::Context& context) {
  std::vector<Expr> out = points;
  for (Expr& p : out) {
    if (!context.can_prove(0 <= p)) p = ir::max(p, Expr(0));
    if (!context.can_prove(p <= extent)) p = ir::min(p, extent);
  }
  return out;
}

/// A stage with the places where it is cut.
class Cutting {
 public:
  Cutting(const Stage& stage, const arith::Context& context)
      : stage_(stage),
        iters_(stage.block->iters),
        store_(*stage.block->body.as<ir::Store>()),
        cuts_(cuts_of(store_.value, iters_)),
        context_(context),
        edges_(iters_.size()),
        bounds_(iters_.size()),
        at_(iters_.size(), 0) {
    for (size_t i = 0; i < iters_.size(); ++i) find_edges(i);
    while (count() > kMostPieces) {
      const auto most = std::ranges::max_element(edges_, {}, &std::vector<Expr>::size);
      most->clear();
    }
    for (size_t i = 0; i < iters_.size(); ++i)
      bounds_[i] = bounds_of(edges_[i], iters_[i].extent, context_);
    for (auto& [node, cut] : cuts_)
      if (!edges_[cut.iter].empty()) places_[node] = place_of(cut);
  }

  bool is_cut() const { return count() > 1; }

  Stmt run() {
    std::vector<Stmt> out;
    do {
      if (const Stmt one = piece(out.size())) out.push_back(one);
    } while (next());
    return ir::seq(std::move(out));
  }

 private:
  size_t count() const {
    size_t n = 1;
    for (const std::vector<Expr>& e : edges_) n *= e.size() + 1;
    return n;
  }

  void find_edges(size_t iter) {
    std::vector<Expr> points;
    for (auto& [node, cut] : cuts_) {
      if (cut.iter != iter) continue;
      cut.point = context_.simplify(cut.point);
      if (std::ranges::none_of(points, [&](const Expr& p) { return ir::equal(p, cut.point); }))
        points.push_back(cut.point);
    }
    if (const auto found = ordered(points, iters_[iter].extent, context_)) edges_[iter] = *found;
  }

  /// The number of the first piece that lies behind the cut.
  size_t place_of(const Cut& cut) const {
    const std::vector<Expr>& edges = edges_[cut.iter];
    for (size_t k = 0; k < edges.size(); ++k)
      if (ir::equal(edges[k], cut.point)) return k + 1;
    return *ir::const_int(cut.point) <= 0 ? 0 : edges.size() + 1;  // it was left out
  }

  /// The next combination of pieces of the iterators.
  bool next() {
    for (size_t i = at_.size(); i-- > 0;) {
      if (++at_[i] <= edges_[i].size()) return true;
      at_[i] = 0;
    }
    return false;
  }

  /// Is this node, a comparison or a choice between indices, true in the current piece?
  std::optional<bool> decided(const Expr& e) const {
    if (const auto* u = e.as<ir::Unary>(); u && u->op == ir::UnaryOp::Not) {
      const auto a = decided(u->a);
      return a ? std::optional(!*a) : a;
    }
    const auto* b = e.as<ir::Binary>();
    if (b && (b->op == BinaryOp::And || b->op == BinaryOp::Or)) {
      const bool wins = b->op == BinaryOp::Or;
      const auto x = decided(b->a), y = decided(b->b);
      if (x == wins || y == wins) return wins;
      return x && y ? std::optional(!wins) : std::nullopt;
    }
    const auto place = places_.find(e.get());
    if (place == places_.end()) return std::nullopt;
    const Cut& cut = cuts_.at(e.get());
    return at_[cut.iter] < place->second ? cut.below : !cut.below;
  }

  /// The value with what is known of the current piece put in.
  Expr here(const Expr& value) const {
    const auto chosen = [&](const auto& node, auto& self) -> Expr {
      const auto known = decided(node.cond);
      return known ? self(*known ? node.yes : node.no) : self.children(node);
    };
    return ir::rewrite(
        value, [&](const ir::Guard& g, auto& self) -> Expr { return chosen(g, self); },
        [&](const ir::Select& s, auto& self) -> Expr { return chosen(s, self); },
        [&](const ir::Binary& b, auto& self) -> Expr {
          const auto known = decided(Expr::of(b));
          if (known && b.type.elem == ir::Elem::Bool) return ir::bool_imm(*known);
          return known ? self(*known ? b.a : b.b) : self.children(b);
        });
  }

  /// The stage that makes the current piece; null when it is empty.
  Stmt piece(size_t number) const {
    ir::VarMap shifted;
    std::vector<ir::BlockIter> iters;
    std::vector<ir::Var> loops;
    for (size_t i = 0; i < iters_.size(); ++i) {
      const std::vector<Expr>& bounds = bounds_[i];
      const Expr begin = at_[i] == 0 ? Expr(0) : bounds[at_[i] - 1];
      const Expr end = at_[i] == bounds.size() ? iters_[i].extent : bounds[at_[i]];
      const Expr extent = context_.simplify(end - begin);
      if (ir::is_const(extent, 0)) return {};
      const ir::Var var(iters_[i].var.name());
      loops.emplace_back(stage_.loops[i]->var.name());
      iters.push_back({var, iters_[i].kind, extent, loops.back()});
      shifted[iters_[i].var] = begin + var;
    }
    // Sums of a variable, an offset and its opposite are one variable again.
    const arith::Context plain;
    const auto indices_of = [&](const std::vector<Expr>& all) {
      std::vector<Expr> out;
      for (const Expr& e : all) out.push_back(plain.simplify(ir::substitute(e, shifted)));
      return out;
    };
    const Expr value = ir::rewrite(
        here(store_.value),
        [&](const ir::VarNode& v, auto&) -> Expr {
          const auto found = shifted.find(ir::Var::of(v));
          return found == shifted.end() ? Expr::of(v) : found->second;
        },
        [&](const ir::Load& l, auto& self) -> Expr {
          std::vector<Expr> indices;
          for (const Expr& e : l.indices) indices.push_back(plain.simplify(self(e)));
          return ir::make<ir::Load>(l.span, l.buffer, std::move(indices));
        });
    const std::string name = number == 0 ? stage_.name() : str(stage_.name(), "_piece", number);
    return map_nest(stage_, name, std::move(iters), loops, store_.buffer,
                    indices_of(store_.indices), value);
  }

  const Stage& stage_;
  const std::vector<ir::BlockIter>& iters_;
  const ir::Store& store_;
  std::unordered_map<const ir::ExprNode*, Cut> cuts_;
  const arith::Context& context_;
  std::vector<std::vector<Expr>> edges_;   // by iterator, the points between its pieces
  std::vector<std::vector<Expr>> bounds_;  // the same, where pieces end
  std::unordered_map<const ir::ExprNode*, size_t> places_;  // of the cuts that were made
  std::vector<size_t> at_;                                  // the current piece of each iterator
};

/// Does each element read that element of what sums have made, so that it is their last step?
bool ends_sums(const Stage& stage, const std::set<const ir::BufferNode*>& sums) {
  const auto& iters = stage.block->iters;
  return std::ranges::any_of(stage.loads(), [&](const ir::Load* l) {
    bool same = sums.contains(l->buffer.get()) && l->indices.size() == iters.size();
    for (size_t i = 0; same && i < iters.size(); ++i)
      same = l->indices[i] == iters[i].var && ir::equal(l->buffer->shape[i], iters[i].extent);
    return same;
  });
}

}  // namespace

ir::LoopFunc in_pieces(const ir::LoopFunc& blocks) {
  const auto has_cut = [](const Stage& s) {
    return !cuts_of(s.values()[0], s.block->iters).empty();
  };
  const ir::LoopFunc func = with_moves_inlined(blocks, has_cut);
  const std::vector<std::string> ends = only_written(func);
  const std::set<const ir::BufferNode*> sums = made_together(func);
  const arith::Context context(func);
  return func.with_body(with_stages(
      func, [](const ir::Buffer& b) { return b; },
      [&](const Stage& stage) -> Stmt {
        const Stmt same = stage.loops.empty() ? Stmt::of(*stage.block) : Stmt::of(*stage.loops[0]);
        if (!is_single_store(stage) || !std::ranges::count(ends, stage.result()->name) ||
            ends_sums(stage, sums))
          return same;
        Cutting cutting(stage, context);
        return cutting.is_cut() ? cutting.run() : same;
      }));
}

}  // namespace tilewright::tune
