// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "ir/build.h"
#include "support/str.h"
#include "tune/choose/plan.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

size_t dim_of(const Stage& stage, size_t iter) {
  const auto& index = stage.block->body.as<ir::Update>()->targets[0].indices;
  const auto found = std::ranges::find_if(
      index, [&](const ir::Expr& e) { return e == stage.block->iters[iter].var; });
  return static_cast<size_t>(found - index.begin());
}

int64_t tiles_together(int64_t rows, const Plan& plan, const ir::TargetSpec& spec) {
  const int64_t most =
      std::max<int64_t>(spec.l1_bytes / 2 / (plan.width() * 4 * plan.tile.rows), 1);
  const int64_t all = (rows + plan.tile.rows - 1) / plan.tile.rows;
  if (all <= most) return all;
  // Whole vectors of rows, and nothing left over, where that can be had.
  for (const int64_t unit : {plan.lanes, std::max<int64_t>(plan.lanes / 2, 1), int64_t{1}})
    for (int64_t n = most; n >= std::max<int64_t>(most / 4, 1); --n)
      if (n * plan.tile.rows % unit == 0 && all % n == 0) return n;
  return most;
}

namespace {

std::pair<LoopRef, LoopRef> pair_of(Schedule& s, const LoopRef& loop, int64_t size) {
  const auto [outer, inner] = s.split<2>(loop, {kOpen, size});
  return {outer, inner};
}

// A block of eight rows and lanes is transposed without running out of registers.
constexpr int64_t kBlock = 8;

}  // namespace

void turn(Schedule& s, const std::string& out, size_t outside, size_t lane_dim, size_t row_dim,
          int64_t lanes) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, out);
  const int64_t rows = sizes.most(stage.loops[outside + row_dim]->extent);
  const std::vector<LoopRef> loops = s.loops(out);
  const LoopRef &lane = loops[outside + lane_dim], &row = loops[outside + row_dim];
  s.reorder({row, lane});
  const int64_t block = std::min(lanes, kBlock);
  const std::vector<Piece> pieces = pieces_of(rows, block);
  std::vector<schedule::Number> points;
  for (size_t i = 1; i < pieces.size(); ++i) points.push_back(pieces[i].begin);
  if (!points.empty()) s.partition(row, points);
  const size_t row_at = outside + std::min(row_dim, lane_dim),
               lane_at = outside + std::max(row_dim, lane_dim);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::vector<LoopRef> own = s.loops(i == 0 ? out : str(out, "_part", i));
    const auto [r0, r1] = s.split<2>(own[row_at], {kOpen, pieces[i].lanes});
    const auto [v, l] = s.split<2>(own[lane_at], {kOpen, block});
    s.reorder({r0, v, l, r1});
    s.unroll(l);
    s.vectorize(r1);
  }
}

void schedule_turned(Schedule& s, const Stage& stage, const Plan& plan,
                     const std::optional<Stage>& after, const ir::TargetSpec& spec,
                     Choices& choices) {
  const Sizes sizes(s.func());
  const auto& iters = stage.block->iters;
  const size_t lane_dim = dim_of(stage, plan.lane), row_dim = dim_of(stage, plan.row);
  const size_t rank = stage.result()->shape.size();
  const BlockRef block = s.block(stage.name());
  std::string buffer = stage.result()->name;
  BlockRef out;
  if (after) {
    out = s.block(after->name());
  } else {
    out = s.cache_write(block, buffer, ir::ScopeKind::Global);
    buffer += "_global";
  }
  const ir::Expr& columns = iters[plan.row].extent;
  int64_t together = tiles_together(sizes.of(columns), plan, spec);
  // Several of them even of a small size, for the last one is slow; and never just one, since
  // nobody knows how large that is.
  if (!ir::const_int(columns)) {
    const int64_t most = std::min(sizes.samples(columns).back() / 2, sizes.most(columns) - 1);
    together = std::clamp<int64_t>(most / plan.tile.rows, 1, together);
  } else {
    const int64_t all = (sizes.of(columns) + plan.tile.rows - 1) / plan.tile.rows;
    std::vector<int64_t> others;
    for (const int64_t n : {together / 2, together * 2, together / 4, together * 4})
      if (n >= 1 && n <= all) others.push_back(n);
    together = choices.number(stage.name() + ".turned_together", together, others);
  }
  // What is kept has room for whole vectors: cut off in the tile, lanes would need masks there.
  const auto lanes = ir::const_int(iters[plan.lane].extent);
  round_up_tiles(s, stage, block, {{plan.lane, plan.width()}, {plan.row, plan.tile.rows}},
                 plan.lane,
                 lanes && *lanes % plan.lanes != 0 ? std::optional(plan.lane) : std::nullopt);
  const std::vector<LoopRef> loops = s.loops(block);
  const auto [l0, l1] = s.split<2>(loops[plan.lane], {kOpen, plan.width()});
  const auto [q0, r0, r1] = s.split<3>(loops[plan.row], {kOpen, together, plan.tile.rows});
  std::vector<TileLoop> outer = {tiles_of(l0, iters[plan.lane], plan.width(), sizes)};
  for (size_t i = 0; i < loops.size(); ++i)
    if (iters[i].kind == ir::IterKind::Spatial && i != plan.lane && i != plan.row)
      outer.push_back({loops[i], sizes.of(iters[i].extent), true});
  outer.push_back(tiles_of(q0, iters[plan.row], together * plan.tile.rows, sizes));
  const size_t first = order_for_threads(outer, spec);
  std::vector<LoopRef> order;
  for (const TileLoop& t : outer) order.push_back(t.loop);
  const LoopRef at = order.back();
  order.push_back(r0);
  std::vector<LoopRef> summed;
  for (const size_t i : plan.reduced) summed.push_back(loops[i]);
  LoopRef vectors = l1, lane, group;
  if (plan.dot) {
    std::tie(summed.back(), group) = pair_of(s, summed.back(), plan.dot->group);
    std::tie(vectors, lane) = pair_of(s, l1, plan.lanes);
  }
  order.insert(order.end(), summed.begin(), summed.end());
  order.push_back(r1);
  order.push_back(vectors);
  if (plan.dot) order.insert(order.end(), {lane, group});
  s.reorder(order);

  const BlockRef keep = s.cache_write(block, buffer, ir::ScopeKind::Register);
  s.reverse_compute_at(keep, r0);
  s.reverse_compute_at(out, at);
  const BlockRef init = s.decompose_reduction(block, summed.front());
  if (plan.unroll > 1) s.unroll(s.split<2>(summed.back(), {kOpen, plan.unroll})[1]);
  s.unroll(r1);
  if (plan.dot)
    s.unroll(vectors);
  else
    as_vectors(s, vectors, plan.lanes);
  const std::vector<LoopRef> zero = s.loops(init);
  as_vectors(s, zero.back(), plan.lanes);
  for (size_t i = outer.size() + 1; i + 1 < zero.size(); ++i) s.unroll(zero[i]);

  std::vector<ir::Var> vars;
  std::vector<ir::Expr> places;
  for (size_t d = 0; d < rank; ++d) vars.emplace_back(str("i", d));
  for (size_t d = 0; d < rank; ++d)
    places.push_back(d == lane_dim ? vars[d] / plan.lanes : ir::Expr(vars[d]));
  places.push_back(vars[lane_dim] % plan.lanes);
  // Lanes are neighbours in the registers and in what is kept.
  s.transform_layout(block, buffer + "_register", {vars, places});
  s.transform_layout(keep, buffer, {vars, places});
  if (plan.dot) s.tensorize(lane, plan.dot->instruction);
  const std::vector<LoopRef> copy = s.loops(keep);
  const size_t inside = outer.size() + 1;
  std::vector<LoopRef> lanes_last;
  for (size_t d = 0; d < rank; ++d)
    if (d != lane_dim) lanes_last.push_back(copy[inside + d]);
  lanes_last.push_back(copy[inside + lane_dim]);
  s.reorder(lanes_last);
  as_vectors(s, lanes_last.back(), plan.lanes);
  for (size_t d = 0; d + 1 < rank; ++d) s.unroll(lanes_last[d]);
  const size_t fused = run_in_threads(s, outer, first, stage.work(sizes));
  turn(s, after ? after->name() : out.name, outer.size() - fused, lane_dim, row_dim, plan.lanes);
}

}  // namespace tilewright::tune
