// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/digits.h"

#include <algorithm>
#include <optional>

#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "tune/choose/moves.h"

namespace tilewright::tune {
namespace {

using ir::BinaryOp;
using ir::Buffer;
using ir::Expr;
using ir::Stmt;

/// An iterator, the number that it is divided by, and how many quotients there are.
struct Division {
  size_t iter = 0;
  Expr by, quotients;
};

const ir::Binary* as_division(const Expr& e, const ir::Var& var) {
  const auto* b = e.as<ir::Binary>();
  const bool divides = b && (b->op == BinaryOp::Div || b->op == BinaryOp::Mod) && b->a == var;
  return divides ? b : nullptr;
}

/// What every mention of the iterator divides it by, if they do.
std::optional<Expr> divisor_of(const Expr& value, const ir::Var& var) {
  Expr by;
  bool same = true;
  ir::walk(
      value,
      [&](const ir::Binary& b) {
        if (!as_division(Expr::of(b), var)) return true;
        same = same && (!by || ir::equal(by, b.b));
        by = b.b;
        return false;
      },
      [&](const ir::VarNode& v) { same = same && ir::Var::of(v) != var; });
  if (!by || !same || ir::has_load(by)) return std::nullopt;
  return by;
}

/// Quotients by 2 and 4 are vectors whose lanes repeat: better than rows as short as that.
bool repeats_in_lanes(const Expr& value, const Expr& by) {
  bool remains = false;
  ir::walk(value, [&](const ir::Binary& b) { remains = remains || b.op == BinaryOp::Mod; });
  return !remains && (ir::is_const(by, 2) || ir::is_const(by, 4));
}

std::optional<Division> division_of(const Stage& stage, const arith::Context& context) {
  const auto& iters = stage.block->iters;
  const Expr value = stage.values()[0];
  for (size_t i = 0; i < iters.size(); ++i) {
    const auto by = divisor_of(value, iters[i].var);
    const bool moves = by && std::ranges::any_of(iters, [&](const ir::BlockIter& it) {
                         return ir::uses(*by, it.var);
                       });
    if (!by || moves || (i + 1 == iters.size() && repeats_in_lanes(value, *by))) continue;
    const Expr quotients = context.simplify(iters[i].extent / *by);
    if (context.can_prove(*by >= 1) && context.can_prove_equal(quotients * *by, iters[i].extent))
      return Division{i, *by, quotients};
  }
  return std::nullopt;
}

/// The stage with that iterator as two, and its result, whose dimensions are its iterators.
struct Parted {
  Stmt nest;
  Buffer result;
};
Parted parted(const Stage& stage, const Division& d) {
  const ir::Store& store = *stage.block->body.as<ir::Store>();
  std::vector<ir::BlockIter> iters;
  std::vector<ir::Var> loops;
  std::vector<Expr> shape, indices;
  const auto add = [&](const ir::Var& like, const std::string& loop, const Expr& extent) {
    const ir::Var var(like.name());
    loops.emplace_back(loop);
    iters.push_back({var, ir::IterKind::Spatial, extent, loops.back()});
    shape.push_back(extent);
    indices.push_back(var);
    return var;
  };
  ir::VarMap now;
  ir::Var quotient, remainder;
  for (size_t i = 0; i < stage.loops.size(); ++i) {
    const ir::BlockIter& it = stage.block->iters[i];
    const std::string loop = stage.loops[i]->var.name();
    if (i == d.iter) {
      quotient = add(it.var, str(loop, "_turn"), d.quotients);
      remainder = add(it.var, loop, d.by);
    } else {
      now[it.var] = add(it.var, loop, it.extent);
    }
  }
  const ir::Var& old = stage.block->iters[d.iter].var;
  const Expr value = ir::rewrite(
      store.value,
      [&](const ir::Binary& b, auto& self) -> Expr {
        if (!as_division(Expr::of(b), old)) return self.children(b);
        return b.op == BinaryOp::Div ? quotient : remainder;
      },
      [&](const ir::VarNode& v, auto&) -> Expr {
        const auto found = now.find(ir::Var::of(v));
        return found == now.end() ? Expr::of(v) : found->second;
      });
  const Buffer& b = store.buffer;
  const Buffer result =
      ir::make_buffer(b->name, b->elem, shape, b->scope, b->layout, b->alignment, b->span);
  return {map_nest(stage, stage.name(), std::move(iters), loops, result, indices, value), result};
}

bool ends_plainly(const Stage& stage, const std::vector<std::string>& ends) {
  return is_single_store(stage) && stores_in_order(stage) && !stage.result()->layout &&
         std::ranges::count(ends, stage.result()->name);
}

}  // namespace

ir::LoopFunc in_digits(const ir::LoopFunc& blocks) {
  const arith::Context context(blocks);
  const std::set<const ir::BufferNode*> together = made_together(blocks);
  const auto division = [&](const Stage& s) {
    const bool alone = std::ranges::none_of(
        s.loads(), [&](const ir::Load* l) { return together.contains(l->buffer.get()); });
    return alone ? division_of(s, context) : std::nullopt;
  };
  ir::LoopFunc func =
      with_moves_inlined(blocks, [&](const Stage& s) { return division(s).has_value(); });
  const std::vector<std::string> ends = only_written(func);
  for (bool changed = true; changed;) {
    changed = false;
    ir::LoopFunc next = func;
    next.body = with_stages(
        func, [](const Buffer& b) { return b; },
        [&](const Stage& stage) -> Stmt {
          const Stmt same =
              stage.loops.empty() ? Stmt::of(*stage.block) : Stmt::of(*stage.loops[0]);
          const auto d = ends_plainly(stage, ends) ? division(stage) : std::nullopt;
          if (!d) return same;
          changed = true;
          const Parted now = parted(stage, *d);
          for (ir::Param& p : next.params)
            if (p.buffer == stage.result()) p.buffer = now.result;
          return now.nest;
        });
    func = std::move(next);
  }
  return func;
}

}  // namespace tilewright::tune
