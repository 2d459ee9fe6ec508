// SPDX-License-Identifier: Apache-2.0
#include "schedule/match.h"

#include <algorithm>

#include "arith/operand.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/operand.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/function_ref.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;

bool commutes(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::Add:
    case ir::BinaryOp::Mul:
    case ir::BinaryOp::And:
    case ir::BinaryOp::Or:
    case ir::BinaryOp::BitAnd:
    case ir::BinaryOp::BitOr:
    case ir::BinaryOp::BitXor:
    case ir::BinaryOp::Eq:
    case ir::BinaryOp::Ne: return true;
    default: return false;  // min and max tell -0 from 0 and keep the first NaN
  }
}

/// An access of the instruction and the one of the nest that stands in its place.
struct Pair {
  ir::Buffer operand, buffer;
  std::vector<Expr> index, at;
  bool write = false;
};

std::string text(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
  return ir::print(ir::load(buffer, indices));
}

/// A search over the orders of commutative operands and over the loops for each axis. The first
/// reason of the kind that comes furthest is kept.
class Matcher {
 public:
  Matcher(const ir::InstructionNode& instruction, const Meaning& meaning, const Meaning& nest,
          const arith::Context& context)
      : instruction_(instruction), meaning_(meaning), nest_(nest), context_(context) {
    for (const Meaning::Axis& a : meaning.axes) context_.bind(a.var, 0, a.extent);
  }

  Match run() {
    if (!statements()) return {{}, reason_};
    return {regions_, {}};
  }

 private:
  using Next = FunctionRef<bool()>;
  enum Level { kExpression, kAxis, kOperand };

  bool fail(Level level, std::string reason) {
    if (reason_.empty() || level > level_) {
      reason_ = std::move(reason);
      level_ = level;
    }
    return false;
  }
  bool differ(const Expr& i, const Expr& n) {
    return fail(kExpression, str("the instruction has `", ir::print(i), "` where the nest has `",
                                 ir::print(n), "`"));
  }

  bool statements() {
    const ir::Stmt &i = meaning_.leaf, &n = nest_.leaf;
    if (const auto *a = i.as<ir::Store>(), *b = n.as<ir::Store>(); a && b) {
      pairs_.push_back({a->buffer, b->buffer, a->indices, b->indices, true});
      return same(a->value, b->value, [&] { return axes(); });
    }
    if (const auto *a = i.as<ir::Update>(), *b = n.as<ir::Update>(); a && b) {
      if (!ir::equal(a->reducer, b->reducer))
        return fail(kExpression, str("the instruction reduces by `", a->reducer->name,
                                     "`, the nest by `", b->reducer->name, "`"));
      for (size_t t = 0; t < a->targets.size(); ++t)
        pairs_.push_back({a->targets[t].buffer, b->targets[t].buffer, a->targets[t].indices,
                          b->targets[t].indices, true});
      return all_same(a->values, b->values, 0, [&] { return axes(); });
    }
    return fail(kExpression, i.as<ir::Update>()
                                 ? "the instruction adds to its result, the nest overwrites it"
                                 : "the instruction overwrites its result, the nest adds to it");
  }

  bool all_same(const std::vector<Expr>& i, const std::vector<Expr>& n, size_t at, Next next) {
    if (at == i.size()) return next();
    return same(i[at], n[at], [&] { return all_same(i, n, at + 1, next); });
  }

  bool same(const Expr& i, const Expr& n, Next next) {
    if (i.type() != n.type()) return differ(i, n);
    if (i.type() == ir::kIndex && !ir::has_load(i) && !ir::has_load(n)) {
      // Indices as values are compared once it is known which loop is which axis.
      numbers_.emplace_back(i, n);
      const bool ok = next();
      numbers_.pop_back();
      return ok;
    }
    if (i->kind != n->kind) return differ(i, n);
    if (const auto* a = i.as<ir::Load>()) {
      const auto& b = *n.as<ir::Load>();
      if (a->mask || b.mask || a->rank || b.rank) return differ(i, n);
      pairs_.push_back({a->buffer, b.buffer, a->indices, b.indices, false});
      const bool ok = next();
      pairs_.pop_back();
      return ok;
    }
    if (const auto* a = i.as<ir::Binary>()) {
      const auto& b = *n.as<ir::Binary>();
      if (a->op != b.op) return differ(i, n);
      if (same(a->a, b.a, [&] { return same(a->b, b.b, next); })) return true;
      return commutes(a->op) && same(a->a, b.b, [&] { return same(a->b, b.a, next); });
    }
    std::vector<Expr> mine, theirs;
    ir::for_each_child(i, [&](const Expr& e) { mine.push_back(e); });
    ir::for_each_child(n, [&](const Expr& e) { theirs.push_back(e); });
    if (mine.size() != theirs.size()) return differ(i, n);
    // With equal children only the node's own fields can make them differ.
    const Expr own = with_children(i, theirs);
    if (!own || !ir::equal(own, n)) return differ(i, n);
    return all_same(mine, theirs, 0, next);
  }

  static Expr with_children(const Expr& e, const std::vector<Expr>& children) {
    size_t at = 0;
    for (const Expr& c : children) {
      size_t i = 0;
      Expr old;
      ir::for_each_child(e, [&](const Expr& o) {
        if (i++ == at) old = o;
      });
      if (old.type() != c.type()) return {};
      ++at;
    }
    at = 0;
    return ir::map_children(
        e, {[&](const Expr&) { return children[at++]; }, [](const ir::Stmt& s) { return s; },
            [](const ir::Buffer& b) { return b; }});
  }

  /// In which accesses the variable occurs, as bits.
  uint64_t used_in(const ir::Var& v, std::vector<Expr> Pair::* indices) const {
    uint64_t bits = 0;
    for (size_t p = 0; p < pairs_.size() && p < 64; ++p)
      for (const Expr& e : pairs_[p].*indices)
        if (ir::uses(e, v)) bits |= uint64_t{1} << p;
    return bits;
  }

  std::string operands_in(uint64_t bits) const {
    std::string out;
    for (size_t p = 0; p < pairs_.size(); ++p)
      if (bits >> p & 1) out += str(out.empty() ? "`" : ", `", pairs_[p].operand->name, "`");
    return out.empty() ? "nothing" : out;
  }

  /// Finds a loop of the nest for each axis: one that occurs in the same accesses.
  bool axes() {
    std::vector<uint64_t> ours, theirs;
    for (const Meaning::Axis& a : meaning_.axes) ours.push_back(used_in(a.var, &Pair::index));
    for (const Meaning::Axis& a : nest_.axes) theirs.push_back(used_in(a.var, &Pair::at));
    for (size_t i = 0; i < ours.size(); ++i) {
      const auto wanted = std::count(ours.begin(), ours.end(), ours[i]);
      const auto found = std::count(theirs.begin(), theirs.end(), ours[i]);
      if (found < wanted)
        return fail(kAxis, str("no loop of the nest runs as axis `", meaning_.axes[i].var.name(),
                               "` of the instruction does, over ", operands_in(ours[i])));
    }
    for (size_t n = 0; n < theirs.size(); ++n)
      if (std::count(ours.begin(), ours.end(), theirs[n]) <
          std::count(theirs.begin(), theirs.end(), theirs[n]))
        return fail(kAxis, str("no axis of the instruction runs as loop `",
                               nest_.axes[n].var.name(), "` does, over ", operands_in(theirs[n])));
    for (size_t i = 0; i < ours.size(); ++i) {
      const int64_t extent = meaning_.axes[i].extent;
      int64_t spare = 0;
      const Meaning::Axis* other = nullptr;
      for (size_t n = 0; n < theirs.size(); ++n) {
        if (theirs[n] != ours[i]) continue;
        if (nest_.axes[n].extent == extent)
          ++spare;
        else
          other = &nest_.axes[n];
      }
      for (size_t j = 0; j < ours.size(); ++j)
        spare -= ours[j] == ours[i] && meaning_.axes[j].extent == extent;
      if (spare < 0)
        return fail(kAxis,
                    str("axis `", meaning_.axes[i].var.name(), "` of the instruction has ", extent,
                        " iterations, loop `", other->var.name(), "` of the nest ", other->extent));
    }
    std::vector<bool> taken(nest_.axes.size(), false);
    ir::VarMap loops;
    return assign(0, ours, theirs, taken, loops);
  }

  bool assign(size_t i, const std::vector<uint64_t>& ours, const std::vector<uint64_t>& theirs,
              std::vector<bool>& taken, ir::VarMap& loops) {
    if (i == ours.size()) return accesses(loops);
    for (size_t n = 0; n < theirs.size(); ++n) {
      if (taken[n] || theirs[n] != ours[i] || nest_.axes[n].extent != meaning_.axes[i].extent)
        continue;
      taken[n] = true;
      loops[nest_.axes[n].var] = meaning_.axes[i].var;
      if (assign(i + 1, ours, theirs, taken, loops)) return true;
      taken[n] = false;
      loops.erase(nest_.axes[n].var);
    }
    return false;
  }

  bool accesses(const ir::VarMap& loops) {
    for (const auto& [i, n] : numbers_)
      if (!context_.can_prove_equal(i, ir::substitute(n, loops))) return differ(i, n);
    if (!order_is_free()) return false;
    std::vector<ir::Region> found(instruction_.operands.size());
    for (const Pair& p : pairs_) {
      const auto operand = std::find_if(instruction_.operands.begin(), instruction_.operands.end(),
                                        [&](const ir::Param& o) { return o.buffer == p.operand; });
      if (operand == instruction_.operands.end())
        return fail(kOperand, str("`", p.operand->name, "` is no operand of the instruction"));
      ir::Region& region = found[static_cast<size_t>(operand - instruction_.operands.begin())];
      ir::Region here{p.buffer, {}, {}};
      if (!region_of(p, loops, here)) return false;
      if (!region.buffer) {
        if (!fits(*p.operand, here)) return false;
        region = std::move(here);
      } else if (region.buffer != here.buffer || !same_place(region, here)) {
        return fail(kOperand, str("operand `", p.operand->name, "` would stand for `",
                                  ir::print(region), "` and for `", ir::print(here), "`"));
      }
    }
    regions_ = std::move(found);
    return true;
  }

  /// May the points run in any order? Updates may; stores must not meet, nor read what others
  /// write.
  bool order_is_free() {
    for (const Pair& w : pairs_) {
      if (!w.write) continue;
      if (meaning_.leaf.as<ir::Store>())
        for (const Meaning::Axis& a : meaning_.axes)
          if (std::none_of(w.index.begin(), w.index.end(),
                           [&](const Expr& e) { return ir::uses(e, a.var); }))
            return fail(kAxis, str("axis `", a.var.name(), "` does not index the result `",
                                   w.operand->name, "`"));
      for (const Pair& other : pairs_) {
        const bool same_index =
            std::equal(w.index.begin(), w.index.end(), other.index.begin(), other.index.end(),
                       [](const Expr& a, const Expr& b) { return ir::equal(a, b); });
        if (&other == &w || other.buffer != w.buffer) continue;
        if (other.operand != w.operand || !same_index || meaning_.leaf.as<ir::Update>())
          return fail(kOperand, str("the nest reads `", text(other.buffer, other.at),
                                    "` of what it writes: the order of its points matters"));
      }
    }
    return true;
  }

  /// The box of the buffer that is the operand: at every axis the nest's index less where it starts
  /// is the operand's.
  bool region_of(const Pair& p, const ir::VarMap& loops, ir::Region& region) {
    ir::VarMap start;
    for (const Meaning::Axis& a : meaning_.axes) start[a.var] = 0;
    const auto moves = [&](const Expr& e) {
      return std::any_of(meaning_.axes.begin(), meaning_.axes.end(),
                         [&](const Meaning::Axis& a) { return ir::uses(e, a.var); });
    };
    const auto refuse = [&](const std::string& why) {
      return fail(kOperand,
                  str("operand `", p.operand->name, "` cannot stand for `", p.buffer->name,
                      "`: the instruction has `", text(p.operand, p.index), "`, the nest `",
                      text(p.buffer, p.at), "`", why));
    };
    region.ranges.resize(p.at.size());
    size_t o = p.index.size();
    for (size_t d = p.at.size(); d-- > 0;) {
      if (ir::has_load(p.at[d])) return refuse(": its index reads memory");
      const Expr at = context_.simplify(ir::substitute(p.at[d], loops));
      if (!moves(at)) {
        region.ranges[d] = {at, 1};
        continue;
      }
      while (o > 0 && !moves(p.index[o - 1])) --o;
      if (o == 0) return refuse(str(": dimension ", d, " has no like in the operand"));
      const Expr& index = p.index[--o];
      const Expr from = context_.simplify(ir::substitute(at, start) - ir::substitute(index, start));
      if (!context_.can_prove_equal(at, from + index))
        return refuse(
            str(": `", ir::print(p.at[d]), "` does not run as `", ir::print(index), "` does"));
      region.ranges[d] = {from, p.operand->shape[o]};
    }
    while (o > 0 && !moves(p.index[o - 1])) --o;
    if (o > 0)
      return refuse(
          str(": dimension ", o - 1, " of the operand has no like in `", p.buffer->name, "`"));
    if (!ir::operand_dims(region, *p.operand)) return refuse(": they have another shape");
    return true;
  }

  bool fits(const ir::BufferNode& operand, const ir::Region& region) {
    const ir::BufferNode& buffer = *region.buffer;
    const auto refuse = [&](const std::string& why) {
      return fail(kOperand,
                  str("operand `", operand.name, "` cannot lie in `", buffer.name, "`: ", why));
    };
    if (buffer.elem != operand.elem)
      return refuse(str("it holds ", ir::name(operand.elem), ", `", buffer.name, "` ",
                        ir::name(buffer.elem)));
    if (!(buffer.scope == operand.scope))
      return refuse(str("it lives in `", ir::print(operand.scope), "`, `", buffer.name, "` in `",
                        ir::print(buffer.scope), "`"));
    for (size_t d = 0; d < region.ranges.size(); ++d)
      // Where the instruction has one place it is that of the nest, which stays inside.
      if (const ir::Range& r = region.ranges[d];
          !ir::is_const(r.extent, 1) && (!context_.can_prove(Expr(0) <= r.min) ||
                                         !context_.can_prove(r.min + r.extent <= buffer.shape[d])))
        return refuse(str("`", ir::print(region), "` may leave it in dimension ", d));
    const bool spread =
        buffer.layout && std::any_of(buffer.layout->dims.begin(), buffer.layout->dims.end(),
                                     [](const auto& d) { return d.kind != ir::PhysKind::Address; });
    if (spread) return true;  // the verifier compares fragments
    const arith::OperandPlace place = arith::operand_place(region, operand, context_);
    return place.reason.empty() || refuse(place.reason);
  }

  bool same_place(const ir::Region& a, const ir::Region& b) const {
    for (size_t d = 0; d < a.ranges.size(); ++d)
      if (!context_.can_prove_equal(a.ranges[d].min, b.ranges[d].min)) return false;
    return true;
  }

  const ir::InstructionNode& instruction_;
  const Meaning& meaning_;
  const Meaning& nest_;
  arith::Context context_;
  std::vector<Pair> pairs_;
  std::vector<std::pair<Expr, Expr>> numbers_;
  std::vector<ir::Region> regions_;
  std::string reason_;
  Level level_ = kExpression;
};

}  // namespace

Match match(const ir::InstructionNode& instruction, const Meaning& meaning, const Meaning& nest,
            const arith::Context& context) {
  return Matcher(instruction, meaning, nest, context).run();
}

}  // namespace tilewright::schedule
