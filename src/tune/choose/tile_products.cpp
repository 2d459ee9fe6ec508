// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/tile_products.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/func.h"
#include "support/str.h"
#include "tune/choose/attempt.h"
#include "tune/choose/contraction.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

constexpr int64_t kSide = 16;  // rows and columns of a tile of sums
constexpr int64_t kFewRows = 8;

bool in_tile(const ir::Param& operand) { return operand.buffer->scope.kind == ir::ScopeKind::Tile; }

/// The instructions for one product: c += a * b, all of them tiles, b in groups.
struct Instructions {
  std::string product, load_a, load_b, zero, store;
  int64_t group = 1;
};

/// What moves or sets a tile of this shape: operands in tiles or in memory as given.
std::string mover(const ir::TargetSpec& spec, const ir::Buffer& tile, std::vector<bool> in_tiles) {
  for (const ir::Instruction& i : spec.instructions) {
    if (i->operands.size() != in_tiles.size()) continue;
    bool fits = true;
    for (size_t o = 0; o < in_tiles.size(); ++o) {
      const ir::Buffer& b = i->operands[o].buffer;
      fits = fits && in_tile(i->operands[o]) == in_tiles[o] && b->elem == tile->elem &&
             b->shape.size() == tile->shape.size();
    }
    if (fits) return i->name;
  }
  return {};
}

std::optional<Instructions> instructions_for(const ir::TargetSpec& spec, ir::Elem a, ir::Elem b,
                                             ir::Elem c) {
  for (const ir::Instruction& i : spec.instructions) {
    const auto& o = i->operands;
    if (o.size() != 3 || !std::ranges::all_of(o, in_tile) || o[0].buffer->elem != c ||
        o[1].buffer->elem != a || o[2].buffer->elem != b)
      continue;
    Instructions out{.product = i->name,
                     .load_a = mover(spec, o[1].buffer, {true, false}),
                     .load_b = mover(spec, o[2].buffer, {true, false}),
                     .zero = mover(spec, o[0].buffer, {true}),
                     .store = mover(spec, o[0].buffer, {false, true}),
                     .group = *ir::const_int(o[2].buffer->shape.back())};
    if (!out.load_a.empty() && !out.load_b.empty() && !out.zero.empty() && !out.store.empty())
      return out;
  }
  return std::nullopt;
}

const ir::Load* only_load(const ir::Expr& factor) {
  const auto* cast = factor.as<ir::Cast>();
  return cast ? cast->value.as<ir::Load>() : nullptr;
}

/// Tiles of rows by tiles of columns, which with those of the factors fill the eight registers.
Tile tiles_for(int64_t rows, int64_t columns) {
  if (rows <= kSide) return {1, std::clamp<int64_t>((columns + kSide - 1) / kSide, 1, 3)};
  if (columns <= kSide) return {3, 1};
  return {2, 2};
}

/// The same where nothing else is chosen: no more of them than there are results for, or none.
std::optional<Tile> chosen_tiles(const std::string& name, int64_t rows, int64_t columns,
                                 Choices& choices) {
  constexpr int64_t kRegisters = 8;
  std::vector<Tile> all = {tiles_for(rows, columns)};
  const auto needed = [](int64_t tiles, int64_t results) { return (tiles - 1) * kSide < results; };
  for (int64_t r = 1; 2 * r + 1 <= kRegisters && needed(r, rows); ++r)
    for (int64_t v = 1; r * v + r + v <= kRegisters && needed(v, columns); ++v)
      if (r != all[0].rows || v != all[0].vectors) all.push_back({r, v});
  std::vector<std::string> texts;
  for (const Tile& t : all) texts.push_back(str(t.rows, "x", t.vectors));
  texts.push_back("none");
  const size_t at = choices.ask(name + ".in_tiles", texts);
  return at < all.size() ? std::optional(all[at]) : std::nullopt;
}

/// The loops of a block that copies tiles, from the one over whole tiles inwards.
std::vector<LoopRef> last_loops(Schedule& s, const BlockRef& block, size_t count) {
  const std::vector<LoopRef> all = s.loops(block);
  return {all.end() - static_cast<std::ptrdiff_t>(count), all.end()};
}

/// One call for each tile of rows and columns.
void by_tiles(Schedule& s, const LoopRef& rows, const LoopRef& columns, const std::string& call) {
  const auto [r0, r1] = s.split<2>(rows, {kOpen, kSide});
  const auto [c0, c1] = s.split<2>(columns, {kOpen, kSide});
  s.reorder({r0, c0, r1, c1});
  s.unroll(r0);
  s.unroll(c0);
  s.tensorize(r1, call);
}

/// One call for each tile of columns, with the groups of what is summed as its rows.
void load_groups(Schedule& s, const BlockRef& block, const std::string& tile, const ir::Load& from,
                 const Stage& stage, const Plan& plan, const Instructions& by) {
  const size_t rank = from.indices.size();
  const std::vector<LoopRef> loops = last_loops(s, block, rank);
  std::vector<ir::Var> vars;
  std::vector<ir::Expr> places;
  LoopRef lane, summed;
  ir::Expr at_lane, at_summed;
  for (size_t d = 0; d < rank; ++d) {
    vars.emplace_back("i" + std::to_string(d));
    if (from.indices[d] == stage.block->iters[plan.lane].var)
      lane = loops[d], at_lane = vars[d];
    else if (from.indices[d] == stage.block->iters[plan.reduced[0]].var)
      summed = loops[d], at_summed = vars[d];
    else
      places.push_back(vars[d]);
  }
  const auto [n0, n1] = s.split<2>(lane, {kOpen, kSide});
  const auto [k0, k1] = s.split<2>(summed, {kOpen, by.group});
  s.reorder({n0, k0, n1, k1});
  s.unroll(n0);
  places.insert(places.end(),
                {at_lane / kSide, at_summed / by.group, at_lane % kSide, at_summed % by.group});
  s.transform_layout(block, tile, {vars, places});
  s.tensorize(k0, by.load_b);
}

/// Each tile of sums lies by itself.
void keep_tiles(Schedule& s, const BlockRef& block, const std::string& sums, const Stage& stage,
                const Plan& plan) {
  const auto& index = stage.block->body.as<ir::Update>()->targets[0].indices;
  std::vector<ir::Var> vars;
  std::vector<ir::Expr> places, inside;
  for (size_t d = 0; d < index.size(); ++d) {
    vars.emplace_back("i" + std::to_string(d));
    const auto& iters = stage.block->iters;
    const bool tiled = index[d] == iters[plan.lane].var || index[d] == iters[plan.row].var;
    places.push_back(tiled ? vars[d] / kSide : ir::Expr(vars[d]));
    if (tiled) inside.push_back(vars[d] % kSide);
  }
  places.insert(places.end(), inside.begin(), inside.end());
  s.transform_layout(block, sums, {vars, places});
}

struct Product {
  Plan plan;
  Instructions by;
  bool lane_in_a;
};

std::optional<Product> product_of(const Stage& stage, const Contraction& c, const Sizes& sizes,
                                  const ir::TargetSpec& spec, Choices& choices) {
  const auto& iters = stage.block->iters;
  const auto& index = stage.block->body.as<ir::Update>()->targets[0].indices;
  if (c.reduced.size() != 1 || index.empty()) return std::nullopt;
  const auto lane = static_cast<size_t>(
      std::ranges::find_if(iters, [&](const ir::BlockIter& it) { return it.var == index.back(); }) -
      iters.begin());
  const bool lane_in_a = std::ranges::count(c.of_a, lane) > 0;
  const auto& lanes = lane_in_a ? c.of_a : c.of_b;
  const auto& rows = lane_in_a ? c.of_b : c.of_a;
  const ir::Load *across = only_load(lane_in_a ? c.a : c.b),
                 *down = only_load(lane_in_a ? c.b : c.a);
  const auto columns = ir::const_int(iters[lane].extent),
             terms = ir::const_int(iters[c.reduced[0]].extent);
  if (lanes.size() != 1 || lanes[0] != lane || rows.size() != 1 || !across || !down || !columns ||
      !terms)
    return std::nullopt;
  const auto by =
      instructions_for(spec, down->buffer->elem, across->buffer->elem, stage.result()->elem);
  const int64_t count = sizes.of(iters[rows[0]].extent);
  if (!by || *terms % (kSide * by->group) != 0 || count < kFewRows ||
      stride(down->buffer, down->indices, iters[c.reduced[0]].var, sizes) != 1)
    return std::nullopt;
  const std::optional<Tile> tile = chosen_tiles(stage.name(), count, *columns, choices);
  if (!tile) return std::nullopt;
  return Product{.plan = {.lane = lane,
                          .row = rows[0],
                          .tile = *tile,
                          .lanes = kSide,
                          .shared = c.shared,
                          .reduced = c.reduced,
                          .lanes_first = choices.yes(stage.name() + ".columns_outside", true),
                          .dot = Dot{by->product, by->group, c.reduced[0]},
                          .in_tiles = true},
                 .by = *by,
                 .lane_in_a = lane_in_a};
}

void run(Schedule& s, const std::string& name, const Product& p, std::vector<std::string> constants,
         const ir::TargetSpec& spec) {
  const Plan& plan = p.plan;
  pad_tiles(s, name, {{plan.lane, plan.width()}, {plan.row, plan.tile.rows * kSide}}, spec,
            constants);
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, name);
  const Contraction c = *as_contraction(stage);
  const std::optional<Stage> after = epilogue_of(func, stage);
  const ir::Expr& across = p.lane_in_a ? c.a : c.b;
  pack_panels(s, stage, across, plan, constants, spec);

  const BlockRef block = s.block(name);
  const std::string rows = only_load(p.lane_in_a ? c.b : c.a)->buffer->name,
                    panels = only_load(across)->buffer->name + "_global_tile";
  const BlockRef out = s.cache_write(block, stage.result()->name, ir::ScopeKind::Tile);
  const BlockRef from_a = s.cache_read(block, rows, ir::ScopeKind::Tile);
  const BlockRef from_b = s.block(panels);
  const std::vector<LoopRef> loops = s.loops(block);
  const auto [x0, xt, x1] = s.split<3>(loops[plan.lane], {kOpen, plan.tile.vectors, kSide});
  const auto [y0, yt, y1] = s.split<3>(loops[plan.row], {kOpen, plan.tile.rows, kSide});
  const auto [k0, k1] = s.split<2>(loops[plan.reduced[0]], {kOpen, kSide * p.by.group});
  const auto& iters = stage.block->iters;
  std::vector<TileLoop> outer;
  for (const size_t i : plan.shared) outer.push_back({loops[i], sizes.of(iters[i].extent), true});
  outer.push_back(tiles_of(x0, iters[plan.lane], plan.width(), sizes));
  outer.push_back(tiles_of(y0, iters[plan.row], plan.tile.rows * kSide, sizes));
  if (!plan.lanes_first) std::swap(outer.back(), outer[outer.size() - 2]);
  const LoopRef at = outer.back().loop;
  std::vector<LoopRef> order;
  for (const TileLoop& t : outer) order.push_back(t.loop);
  order.insert(order.end(), {k0, yt, xt, y1, x1, k1});
  s.reorder(order);
  s.reverse_compute_at(out, at);
  if (after) {
    s.reverse_compute_at(s.block(after->name()), at);
    as_vectors(s, s.loops(s.block(after->name())).back(), spec.lanes(32));
  }
  s.compute_at(from_a, k0);
  s.compute_at(from_b, k0);
  const BlockRef init = s.decompose_reduction(block, k0);
  keep_tiles(s, block, stage.result()->name + "_tile", stage, plan);

  const std::vector<LoopRef> a = last_loops(s, from_a, 2), o = last_loops(s, out, 2);
  const auto [a0, a1] = s.split<2>(a[0], {kOpen, kSide});
  s.unroll(a0);
  s.tensorize(a1, p.by.load_a);
  load_groups(s, from_b, panels, *only_load(across), stage, plan, p.by);
  by_tiles(s, o[0], o[1], p.by.store);
  const std::vector<LoopRef> z = last_loops(s, init, 4);
  s.unroll(z[0]);
  s.unroll(z[1]);
  s.tensorize(z[2], p.by.zero);
  s.unroll(yt);
  s.unroll(xt);
  s.tensorize(y1, p.by.product);
  run_in_threads(s, outer, order_for_threads(outer, spec), stage.work(sizes));
}

}  // namespace

bool schedule_tiles(Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                    const std::vector<std::string>& constants, Choices& choices) {
  const ir::LoopFunc func = s.func();
  const Stage stage = *find_stage(func, name);
  const auto c = as_contraction(stage);
  const auto product = c ? product_of(stage, *c, Sizes(func), spec, choices) : std::nullopt;
  return product && attempt(s, [&] { run(s, name, *product, constants, spec); });
}

}  // namespace tilewright::tune
