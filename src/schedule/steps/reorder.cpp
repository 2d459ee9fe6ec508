// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arith/affine.h"
#include "arith/region.h"
#include "ir/build.h"
#include "schedule/loop_checks.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using Chain = std::vector<const ir::For*>;

/// The chain with the named loops in their new order, each in a place where a named loop stood.
Chain reordered(const Chain& chain, const Chain& named) {
  Chain out = chain;
  size_t next = 0;
  for (const ir::For*& place : out)
    if (std::find(named.begin(), named.end(), place) != named.end()) place = named[next++];
  return out;
}

void check_ranges(const Chain& now) {
  for (size_t i = 0; i < now.size(); ++i) {
    for (size_t j = i + 1; j < now.size(); ++j) {
      if (!uses(now[i]->extent, now[j]->var) && !uses(now[i]->min, now[j]->var)) continue;
      throw Error({.code = "schedule.reorder.range",
                   .message = str("cannot put `", now[i]->var.name(), "` outside of `",
                                  now[j]->var.name(), "`"),
                   .notes = {str("the range of `", now[i]->var.name(), "` depends on `",
                                 now[j]->var.name(), "`")},
                   .help = "keep the loop inside of the one its range depends on"});
    }
  }
}

/// A pair of accesses that two loops may carry must find these loops in the old order: the sign of
/// its distance is decided by the outermost of them.
void check_dependences(const Program& program, const Chain& before, const Chain& now) {
  // Only the loops between the first and the last that move matter.
  std::vector<std::vector<Conflict>> carried;
  const auto asked = [](const Access& a, const Access& b) { return !same_reduction(a, b); };
  Conflicts conflicts(*before[0], program, asked);
  for (const ir::For* l : before) carried.push_back(conflicts.across(*l));
  const auto place = [&](const ir::For* l) {
    return std::find(now.begin(), now.end(), l) - now.begin();
  };
  const auto same = [](const Access& a, const Access& b) {
    return a.region.buffer == b.region.buffer && a.block == b.block && a.write == b.write;
  };
  for (size_t i = 0; i < before.size(); ++i) {
    for (size_t j = i + 1; j < before.size(); ++j) {
      if (place(before[i]) < place(before[j])) continue;
      for (const Conflict& c : carried[i]) {
        const bool both = std::any_of(carried[j].begin(), carried[j].end(), [&](const Conflict& d) {
          return same(c.first, d.first) && same(c.second, d.second);
        });
        if (!both) continue;
        throw Error({.code = "schedule.reorder.dependence",
                     .message = str("cannot exchange `", before[i]->var.name(), "` and `",
                                    before[j]->var.name(), "`"),
                     .notes = {str(c.text(), " in different iterations of both loops")},
                     .help = "keep the order of these two loops"});
      }
    }
  }
}

/// The instance that runs `init` must stay the first of its reduction. It does when the reduction's
/// loops are its own and count up its iterators, whatever their order.
void check_inits(const Chain& chain) {
  ir::walk(chain.back()->body, [&](const ir::Block& b) {
    if (!b.init) return;
    for (const ir::For* l : chain) {
      bool spatial = false, reduction = false, counts_up = true;
      for (const ir::BlockIter& it : b.iters) {
        if (!uses(it.binding, l->var)) continue;
        const bool space = it.kind == ir::IterKind::Spatial;
        spatial = spatial || space;
        reduction = reduction || !space;
        const std::optional<arith::Affine> form = arith::pure_affine_of(it.binding);
        if (!space) counts_up = counts_up && form && form->coefficient(l->var) > 0;
      }
      if (!reduction || (!spatial && counts_up)) continue;
      throw Error(
          {.code = "schedule.reorder.init",
           .message = str("cannot reorder `", l->var.name(), "` around block `", b.name, "`"),
           .notes = {str("the block starts its reduction in the first iteration, and `",
                         l->var.name(), "` ",
                         spatial ? "serves spatial iterators too" : "does not simply count it up")},
           .help = "split the init off with decompose_reduction first"});
    }
  });
}

/// A producer computed at its consumer may run an instance several times, each time with its whole
/// reduction. A loop of the reduction must not move across the loops that repeat it.
void check_repeats(const Program& program, const Chain& before, const Chain& now) {
  const auto place = [&](const ir::For* l) {
    return std::find(now.begin(), now.end(), l) - now.begin();
  };
  ir::walk(before.back()->body, [&](const ir::Block& b) {
    const auto reduces = [&](const ir::For* l) {
      return std::any_of(b.iters.begin(), b.iters.end(), [&](const ir::BlockIter& it) {
        return it.kind == ir::IterKind::Reduction && uses(it.binding, l->var);
      });
    };
    const ir::For* moved = nullptr;
    for (size_t i = 0; i < before.size(); ++i)
      for (size_t j = i + 1; j < before.size(); ++j)
        if (place(before[j]) < place(before[i]) && reduces(before[i]) != reduces(before[j]))
          moved = reduces(before[i]) ? before[i] : before[j];
    if (!moved) return;
    std::vector<ir::Var> vars;
    bool inside = false;
    for (const ir::For* l : program.loops_around(b)) {
      inside = inside || l == before[0];
      if (inside) vars.push_back(l->var);
    }
    std::vector<ir::Expr> bindings;
    for (const ir::BlockIter& it : b.iters) bindings.push_back(it.binding);
    const Path path = program.path_to(b);
    const arith::Context context = program.context_at(Path(path.begin(), path.end() - 1));
    const arith::IterMap map = arith::iter_map(bindings, vars, context);
    if (map.injective) return;
    throw Error({.code = "schedule.reorder.repeat",
                 .message = str("cannot move `", moved->var.name(), "` of the reduction of block `",
                                b.name, "`"),
                 .notes = {str("other loops may run an instance of it again: ", map.reason)},
                 .help = "keep the loops of the reduction inside of the others"});
  });
}

}  // namespace

Results Reorder::apply(Program& program) const {
  Chain named;
  for (const LoopRef& ref : loops) {
    const ir::For* l = &program.loop(ref);
    if (std::find(named.begin(), named.end(), l) != named.end())
      throw Error({.code = "schedule.reorder.twice",
                   .message = str("`", l->var.name(), "` is named twice"),
                   .notes = {},
                   .help = "name each loop once, in the new order"});
    named.push_back(l);
  }
  if (named.size() < 2) return {};
  const Chain chain = perfect_chain(program, named, name);
  const Chain now = reordered(chain, named);
  if (now == chain) return {};
  for (size_t i = 0; i < chain.size(); ++i)
    if (chain[i] != now[i]) require_serial(*chain[i], name);
  check_ranges(now);
  check_inits(chain);
  check_dependences(program, chain, now);
  check_repeats(program, chain, now);

  ir::Stmt body = chain.back()->body;
  for (size_t i = now.size(); i-- > 0;)
    body = ir::with(*now[i], [&](ir::For& f) { f.body = body; });
  program.replace(*chain[0], body);
  return {};
}

Results Tile::apply(Program& program) const {
  if (loops.size() != factors.size())
    throw Error(
        {.code = "schedule.tile.factors",
         .message = str("tile names ", loops.size(), " loops and ", factors.size(), " factors"),
         .notes = {},
         .help = "give one factor for each loop"});
  Results outer, inner;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Results parts = Split{loops[i], {Number::open_one(), factors[i]}}.apply(program);
    outer.push_back(parts[0]);
    inner.push_back(parts[1]);
  }
  Results all = outer;
  all.insert(all.end(), inner.begin(), inner.end());
  Reorder order;
  for (size_t i = 0; i < all.size(); ++i) {
    order.loops.push_back({str("tile.", i)});
    program.name(order.loops.back().name, all[i]);
  }
  order.apply(program);
  return all;
}

}  // namespace tilewright::schedule
