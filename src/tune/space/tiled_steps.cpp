// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "support/diagnostic.h"
#include "support/str.h"
#include "tune/choose/contraction.h"
#include "tune/choose/lanes.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"
#include "tune/space/tiled.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// The loops of a spatial iterator; empty names where there is none.
struct Cut {
  std::optional<LoopRef> outer, block, inner;
};

int64_t width_of(const Tiled& t, const TiledValues& v, size_t at) {
  return v.tiles[at][1] * (t.spatial[at] == t.lane ? t.lanes : 1);
}

/// Is there more than one block along the iterator?
bool has_outer(const ir::Expr& extent, int64_t blocks, int64_t width) {
  const auto known = ir::const_int(extent);
  return !known || (*known + width - 1) / width > blocks;
}

/// for i  ->  for i0 { for i1 in blocks { for i2 in width } }, without loops of one iteration but
/// for i0 where it is asked for.
Cut cut(Schedule& s, const LoopRef& loop, const ir::Expr& extent, int64_t blocks, int64_t width,
        bool keep_outer) {
  const bool outer = keep_outer || has_outer(extent, blocks, width), block = blocks > 1,
             inner = width > 1;
  if (inner && !block && !outer) return {{}, {}, loop};
  std::vector<schedule::Number> factors;
  if (outer) factors.push_back(kOpen);
  if (block) factors.push_back(factors.empty() ? kOpen : schedule::Number(blocks));
  if (inner) factors.push_back(width);
  std::vector<LoopRef> loops = factors.size() > 1 ? s.split(loop, factors) : std::vector{loop};
  Cut out;
  size_t next = 0;
  if (outer) out.outer = loops[next++];
  if (block) out.block = loops[next++];
  if (inner) out.inner = loops[next++];
  return out;
}

/// Lets the copy of an operand lie in the order in which the tiles read it.
///   (k, n) with tiles of 32 along n  ->  [n / 32, k, n % 32]
void lay_in_tiles(Schedule& s, const BlockRef& copy, const Tiled& t, const TiledValues& v,
                  const Tiled::Operand& operand) {
  std::vector<ir::Var> vars;
  for (size_t d = 0; d < operand.iters.size(); ++d) vars.emplace_back(str("i", d));
  std::vector<ir::Expr> places;
  const auto dim_of = [&](size_t iter) -> std::optional<size_t> {
    const auto it = std::ranges::find(operand.iters, iter);
    if (it == operand.iters.end()) return std::nullopt;
    return static_cast<size_t>(it - operand.iters.begin());
  };
  for (const int64_t at : v.order) {
    const auto i = static_cast<size_t>(at);
    if (const auto d = dim_of(t.spatial[i])) {
      const int64_t width = width_of(t, v, i);
      places.push_back(width > 1 ? vars[*d] / width : ir::Expr(vars[*d]));
    }
  }
  for (const int64_t at : v.terms)
    if (const auto d = dim_of(t.reduced[static_cast<size_t>(at)])) places.push_back(vars[*d]);
  // Inside of a tile: lanes last.
  std::vector<ir::Expr> last;
  for (const int64_t at : v.order) {
    const auto i = static_cast<size_t>(at);
    const int64_t width = width_of(t, v, i);
    const auto d = dim_of(t.spatial[i]);
    if (d && width > 1) (t.spatial[i] == t.lane ? last : places).push_back(vars[*d] % width);
  }
  places.insert(places.end(), last.begin(), last.end());
  s.transform_layout(copy, operand.buffer + "_global", {vars, places});
}

/// Writes out the innermost of these loops, as many terms as the budget allows.
void unroll_terms(Schedule& s, std::vector<LoopRef> loops, std::vector<ir::Expr> extents,
                  int64_t budget) {
  while (!loops.empty() && budget > 1) {
    const auto known = ir::const_int(extents.back());
    if (!known) return;
    int64_t u = std::min(budget, *known);
    while (*known % u != 0) --u;
    if (u == *known)
      s.unroll(loops.back());
    else if (u > 1)
      s.unroll(s.split<2>(loops.back(), {kOpen, u})[1]);
    if (u != *known) return;
    budget /= u;
    loops.pop_back();
    extents.pop_back();
  }
}

/// A copy or stage inside of `depth` loops: vectors along its last loop, which never reach over
/// two pieces of `width`.
void as_inner_map(Schedule& s, const BlockRef& block, size_t depth, int64_t width) {
  const std::vector<LoopRef> own = s.loops(block);
  if (own.size() > depth) s.vectorize(s.split<2>(own.back(), {kOpen, width})[1]);
}

/// How much of an operand lies together along a dimension.
int64_t piece_of(const Tiled& t, const TiledValues& v, const Tiled::Operand& operand, size_t dim) {
  const auto at = std::ranges::find(t.spatial, operand.iters[dim]);
  if (at == t.spatial.end()) return 1;
  return width_of(t, v, static_cast<size_t>(at - t.spatial.begin()));
}

/// A copy of a whole operand: along its lanes, or along what lies last.
void schedule_copy(Schedule& s, const BlockRef& copy, const Tiled& t, const TiledValues& v,
                   const Tiled::Operand& operand, const ir::TargetSpec& spec) {
  const std::vector<LoopRef> loops = s.loops(copy);
  size_t dim = loops.size() - 1;
  for (size_t d = 0; d < loops.size(); ++d)
    if (operand.iters[d] == t.lane) dim = d;
  std::vector<LoopRef> order = loops;
  std::rotate(order.begin() + static_cast<long>(dim), order.begin() + static_cast<long>(dim) + 1,
              order.end());
  if (dim + 1 < loops.size()) s.reorder(order);
  const int64_t piece = piece_of(t, v, operand, dim);
  as_inner_map(s, copy, loops.size() - 1, piece > 1 ? piece : t.lanes);
  const Sizes sizes(t.func);
  double elements = 1;
  for (const size_t i : operand.iters)
    elements *= static_cast<double>(sizes.of(t.stage.block->iters[i].extent));
  if (!operand.constant) run_parallel(s, copy.name, 1, 4 * elements, spec);
}

void schedule_as_turned(Schedule& s, const Tiled& t, const TiledValues& v,
                        const ir::TargetSpec& spec, const std::vector<std::string>& constants) {
  const Contraction c = *as_contraction(t.stage);
  Plan plan{.lane = t.turned->lane,
            .row = t.lane,
            .tile = {v.turned_tile[0], v.turned_tile[1]},
            .lanes = t.turned->lanes,
            .shared = c.shared,
            .turned = true};
  for (const int64_t at : v.terms) plan.reduced.push_back(t.reduced[static_cast<size_t>(at)]);
  if (const auto inner = ir::const_int(t.stage.block->iters[plan.reduced.back()].extent)) {
    plan.unroll = std::min(v.unroll, *inner);
    while (*inner % plan.unroll != 0) --plan.unroll;
  }
  const bool in_a = std::ranges::count(c.of_a, plan.lane) > 0;
  pack_panels(s, t.stage, in_a ? c.a : c.b, plan, constants, spec);
  std::optional<Stage> after = t.after;
  if (after && !reads_in_order(*after, t.stage.result())) after.reset();
  Choices by_model;
  schedule_turned(s, t.stage, plan, after, spec, by_model);
}

/// By an instruction of the target, as the default schedule would with these answers.
void schedule_by_instruction(Schedule& s, const Tiled& t, const TiledValues& v,
                             const ir::TargetSpec& spec,
                             const std::vector<std::string>& constants) {
  Choices choices;
  for (size_t i = 0; i < t.of_instruction.size(); ++i)
    choices.answer(t.of_instruction[i].name, v.of_instruction[i]);
  if (!schedule_contraction(s, t.stage.name(), spec, constants, choices))
    throw Error({.code = "tune.space.instruction",
                 .at = {},
                 .message = str("no instruction computes `", t.stage.name(), "` in this way"),
                 .notes = {},
                 .help = "other values of its knobs may: see `space.print()`"});
}

}  // namespace

void schedule_tiled(Schedule& s, const Tiled& t, const TiledValues& v, const ir::TargetSpec& spec,
                    const std::vector<std::string>& constants) {
  if (v.form == TiledValues::Form::Turned) return schedule_as_turned(s, t, v, spec, constants);
  if (v.form == TiledValues::Form::Instruction)
    return schedule_by_instruction(s, t, v, spec, constants);
  const Stage& stage = t.stage;
  const auto& iters = stage.block->iters;
  const std::string buffer = stage.result()->name;
  const BlockRef block = s.block(stage.name());

  struct Inside {
    BlockRef block;
    size_t depth;                   // 0: in the innermost loop over blocks
    const Tiled::Operand* operand;  // that it copies; null for a stage
  };
  std::vector<Inside> inside;
  for (size_t i = 0; i < t.operands.size(); ++i) {
    if (v.operands[i] == 0) continue;
    const BlockRef copy = s.cache_read(block, t.operands[i].buffer, ir::ScopeKind::Global);
    if (v.operands[i] == 2) {
      inside.push_back({copy, 0, &t.operands[i]});
    } else {
      lay_in_tiles(s, copy, t, v, t.operands[i]);
      schedule_copy(s, copy, t, v, t.operands[i], spec);
    }
  }
  for (size_t i = 0; i < t.producers.size(); ++i)
    if (v.producers[i] > 0)
      inside.push_back({s.block(t.producers[i]), static_cast<size_t>(v.producers[i]), nullptr});

  std::vector<BlockRef> tiles;  // beside the sums: what runs once for each tile
  if (!v.in_registers) tiles.push_back(s.cache_write(block, buffer, ir::ScopeKind::Register));
  std::vector<std::pair<size_t, int64_t>> sides;
  for (size_t i = 0; i < t.spatial.size(); ++i)
    if (!ir::const_int(iters[t.spatial[i]].extent) && width_of(t, v, i) > 1)
      sides.push_back({t.spatial[i], width_of(t, v, i)});
  if (!sides.empty()) round_up_tiles(s, stage, block, sides, t.lane);

  const std::vector<LoopRef> loops = s.loops(block);
  std::vector<LoopRef> units, outer, blocks, rows, columns, lanes;  // units: of one iteration
  std::optional<LoopRef> nearest;
  // A single block still needs a loop around its tile.
  const bool single = std::ranges::none_of(v.order, [&](int64_t at) {
    const auto i = static_cast<size_t>(at);
    return has_outer(iters[t.spatial[i]].extent, v.tiles[i][0], width_of(t, v, i));
  });
  for (const int64_t at : v.order) {
    const auto i = static_cast<size_t>(at);
    const size_t iter = t.spatial[i];
    const Cut c = cut(s, loops[iter], iters[iter].extent, v.tiles[i][0], width_of(t, v, i),
                      single && at == v.order.front());
    if (!c.outer && !c.block && !c.inner) units.push_back(loops[iter]);
    if (c.outer) outer.push_back(*c.outer);
    if (c.block && i == v.inner)
      nearest = *c.block;
    else if (c.block)
      blocks.push_back(*c.block);
    if (c.inner) (iter == t.lane ? lanes : t.column[i] ? columns : rows).push_back(*c.inner);
  }
  if (nearest) blocks.push_back(*nearest);
  if (v.band > 1) {
    const auto [bands, one] = s.split<2>(outer.front(), {kOpen, v.band});
    outer.front() = bands;
    outer.push_back(one);
  }
  std::vector<LoopRef> around = outer;
  around.insert(around.end(), blocks.begin(), blocks.end());
  std::vector<LoopRef> order = units, terms;
  order.insert(order.end(), around.begin(), around.end());
  std::vector<ir::Expr> extents;
  for (const int64_t at : v.terms) {
    terms.push_back(loops[t.reduced[static_cast<size_t>(at)]]);
    extents.push_back(iters[t.reduced[static_cast<size_t>(at)]].extent);
  }
  for (const auto& each : {terms, rows, columns, lanes})
    order.insert(order.end(), each.begin(), each.end());
  s.reorder(order);

  const LoopRef at = around.back();
  if (!v.in_registers) s.reverse_compute_at(tiles.back(), at);
  std::optional<BlockRef> after;
  if (t.after) {
    after = s.block(t.after->name());
    s.reverse_compute_at(*after, at);
    if (v.in_registers) {
      s.set_scope(block, buffer, ir::ScopeKind::Register);
      tiles.push_back(*after);
      after.reset();
    }
  }
  tiles.push_back(s.decompose_reduction(block, terms.front()));
  for (const Inside& each : inside) {
    const size_t depth = std::min(each.depth == 0 ? outer.size() : each.depth, around.size());
    s.compute_at(each.block, around[depth - 1]);
    int64_t width = t.lanes;
    if (each.operand) {
      lay_in_tiles(s, each.block, t, v, *each.operand);
      const int64_t piece = piece_of(t, v, *each.operand, each.operand->iters.size() - 1);
      if (piece > 1) width = piece;
    }
    as_inner_map(s, each.block, units.size() + depth, width);
  }
  unroll_terms(s, terms, extents, v.unroll);
  const auto [vectors, lane] = s.split<2>(lanes.front(), {kOpen, t.lanes});
  columns.push_back(vectors);
  if (v.columns_first && !rows.empty()) {
    std::vector<LoopRef> streamed = columns;
    streamed.insert(streamed.end(), rows.begin(), rows.end());
    s.reorder(streamed);
  }
  s.vectorize(lane);
  for (const LoopRef& loop : columns) s.unroll(loop);
  for (const LoopRef& loop : rows) s.unroll(loop);
  if (after) as_vectors(s, s.loops(*after).back(), t.lanes);
  for (const BlockRef& b : tiles) {
    const std::vector<LoopRef> own = s.loops(b);
    as_vectors(s, own.back(), t.lanes);
    for (size_t i = units.size() + around.size(); i + 1 < own.size(); ++i) s.unroll(own[i]);
  }
  keep_whole_vectors(s, stage, block, v.in_registers ? buffer : buffer + "_register", t.lane,
                     t.lanes);
  if (v.threads > 0) {
    outer.resize(std::min(outer.size(), static_cast<size_t>(v.threads)));
    s.parallel(outer.size() > 1 ? s.fuse(outer) : outer[0]);
  }
}

}  // namespace tilewright::tune
