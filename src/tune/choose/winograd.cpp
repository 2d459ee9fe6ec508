// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/winograd.h"

#include <algorithm>
#include <bit>

#include "ir/build.h"
#include "tune/choose/attempt.h"
#include "tune/choose/contraction.h"
#include "tune/choose/lanes.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// Is the last iterator a block of channels that makes a vector?
bool ends_in_lanes(const Stage& stage, const ir::TargetSpec& spec) {
  const auto lanes = ir::const_int(stage.block->iters.back().extent);
  return lanes && *lanes > 1 && *lanes <= spec.lanes(32) &&
         std::has_single_bit(static_cast<uint64_t>(*lanes));
}

/// The innermost loop as lanes, those around it from `first` on unrolled.
void unroll_lanes(Schedule& s, const BlockRef& block, size_t first) {
  const std::vector<LoopRef> l = s.loops(block);
  s.vectorize(l.back());
  for (size_t i = first; i + 1 < l.size(); ++i) s.unroll(l[i]);
}

/// for c, m { taps and all values of one weight, in registers }
void schedule_weights(Schedule& s) {
  const BlockRef weights = s.block("winograd_weights"), taps = s.block("winograd_taps");
  std::vector<LoopRef> l = s.loops(weights);  // i, j, channels …
  std::rotate(l.begin(), l.begin() + 2, l.end());
  s.reorder(l);
  const size_t outside = l.size() - 2;
  s.compute_at(taps, l[outside - 1]);
  s.set_scope(taps, "winograd_taps", ir::ScopeKind::Register);
  for (const BlockRef& b : {weights, taps}) {
    const std::vector<LoopRef> own = s.loops(b);
    for (size_t i = outside; i < own.size(); ++i) s.unroll(own[i]);
  }
}

/// Tiles of a row, where rows of tiles are one: `tile / columns` is in the indices of the input.
std::optional<int64_t> columns_of_row(const Stage& down, const ir::Var& tile) {
  std::optional<int64_t> out;
  for (const ir::Load* l : down.loads())
    for (const ir::Expr& e : l->indices)
      ir::walk(e, [&](const ir::Binary& b) {
        if (b.op == ir::BinaryOp::Div && b.a.as<ir::VarNode>() && ir::uses(b.a, tile))
          out = ir::const_int(b.b);
      });
  return out;
}

/// for channels / lanes, tiles { a patch, from the input to what is multiplied, in registers }
void schedule_patches(Schedule& s, const Stage& moved, const ir::TargetSpec& spec) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const double work = moved.points(sizes) * 4;
  const BlockRef out = s.block("winograd_moved"), down = s.block("winograd_down");
  const std::vector<LoopRef> l = s.loops(out);  // i, j, …, lanes
  std::vector<LoopRef> order(l.begin() + 2, l.end() - 1);
  // Where patches begin and end outside of the input is a matter of rows and columns of tiles.
  const Stage below = *find_stage(func, "winograd_down");
  const auto& iters = below.block->iters;
  if (const auto columns = columns_of_row(below, iters[iters.size() - 2].var)) {
    const auto [row, column] = s.split<2>(order.back(), {kOpen, *columns});
    order.back() = row;
    order.push_back(column);
  }
  const size_t outside = order.size();
  order.insert(order.end(), {l[0], l[1], l.back()});
  s.reorder(order);
  s.compute_at(down, order[outside - 1]);
  s.set_scope(down, "winograd_down", ir::ScopeKind::Register);
  unroll_lanes(s, out, outside);
  unroll_lanes(s, down, outside);
  run_parallel(s, out.name, outside - 1, work, spec);
}

/// for channels / lanes, tiles { a tile, from the products through the stages that follow }
void schedule_results(Schedule& s, const Stage& last, int64_t tile, const ir::TargetSpec& spec) {
  const Sizes sizes(s.func());
  const double work = last.work(sizes);
  const BlockRef out = s.block(last.name()), across = s.block("winograd_across");
  const std::vector<LoopRef> l = s.loops(out);  // …, y, x, lanes
  const size_t n = l.size();
  const auto [ty, a] = s.split<2>(l[n - 3], {kOpen, tile});
  const auto [tx, b] = s.split<2>(l[n - 2], {kOpen, tile});
  s.reorder({ty, tx, a, b, l[n - 1]});
  s.compute_at(across, tx);
  s.set_scope(across, "winograd_across", ir::ScopeKind::Register);
  unroll_lanes(s, out, n - 1);
  unroll_lanes(s, across, n - 1);
  run_parallel(s, out.name, n - 2, work, spec);
}

/// Iterators of the patches that are multiplied, and of the products: a batch of one left none.
struct Order {
  size_t batch;  // 0 or 1 iterators
  size_t blocks() const { return 2 + batch; }
  size_t tile_row() const { return 3 + batch; }
  size_t tile_column() const { return 4 + batch; }
  size_t lanes() const { return 5 + batch; }
};

/// Rows of tiles, what each holds from the input to the result, and the weights, in bytes.
struct Bands {
  Order order;
  int64_t images = 1, rows = 0;  // of each image
  double each = 0, weights = 0;
};
/// Nothing where rows of tiles cannot run by themselves.
std::optional<Bands> bands_of(const Stage& moved, const Stage& products, const Stage& last,
                              const Sizes& sizes) {
  const auto& patches = moved.block->iters;
  const auto& results = products.block->iters;
  // Blocks, rows, columns and lanes.
  const Order order{.batch = last.block->iters.size() == 5 ? size_t{1} : 0};
  const size_t all = order.lanes() + 1;
  if (last.block->iters.size() != 4 + order.batch || patches.size() != all ||
      results.size() != all + 2 || !ir::const_int(patches[order.tile_row()].extent) ||
      !ir::const_int(patches[order.tile_column()].extent))
    return std::nullopt;
  const auto extent = [&](const ir::BlockIter& it) { return sizes.of(it.extent); };
  const int64_t in = extent(patches[order.blocks()]) * extent(patches[order.lanes()]),
                out = extent(results[order.blocks()]) * extent(results[order.lanes()]);
  const int64_t products_of_tile = extent(patches[0]) * extent(patches[1]);
  const int64_t columns = extent(patches[order.tile_column()]);
  return Bands{.order = order,
               .images = order.batch > 0 ? extent(patches[2]) : 1,
               .rows = extent(patches[order.tile_row()]),
               .each = static_cast<double>(products_of_tile * 4 * (in + out) * columns),
               .weights = static_cast<double>(products_of_tile * 4 * in * out)};
}

/// Bytes from beyond the second cache when `n` rows run together, each time one is written counted
/// double. Beside weights that do not fit with them, half of it is theirs.
double far_bytes(const Bands& of, int64_t n, double l2) {
  const double band = of.each * static_cast<double>(n);
  const double count = static_cast<double>(of.rows) / static_cast<double>(n);
  if (n == of.rows) return band <= l2 ? 0 : of.weights + 3 * band;
  if (band + of.weights <= l2) return of.weights;
  return count * (of.weights + 3 * std::max(0.0, band - l2 / 2));
}

/// How many rows of tiles run together: as the least comes from far away, with tasks for all
/// processors; or another number that is chosen. 0: all of them, stage by stage.
int64_t rows_together(const Bands& of, const std::string& name, const ir::TargetSpec& spec,
                      Choices& choices) {
  const int64_t tasks = 2 * std::max(spec.cores, 4);
  const auto l2 = static_cast<double>(spec.l2_bytes);
  std::vector<int64_t> possible = {0};
  int64_t best = 0;
  double least = far_bytes(of, of.rows, l2);
  for (int64_t n = 1; n < of.rows; ++n) {
    if (of.rows % n != 0) continue;
    possible.push_back(n);
    const double bytes = far_bytes(of, n, l2);
    if (of.images * of.rows / n < tasks || bytes >= least) continue;
    least = bytes;
    best = n;
  }
  return choices.number(name + ".band", best, possible);
}

/// for images, rows of tiles { patches   for tiles { products }   results }
void schedule_in_bands(Schedule& s, const Stage& last, int64_t tile, const Order& at, int64_t rows,
                       const Plan& plan, const ir::TargetSpec& spec,
                       const std::vector<std::string>& constants) {
  const ir::LoopFunc func = s.func();
  const Stage stage = *find_stage(func, "winograd_products");
  const Contraction c = *as_contraction(stage);
  const double work = stage.work(Sizes(func));
  const bool lane_in_a = std::ranges::count(c.of_a, plan.lane) > 0;
  pack_panels(s, stage, lane_in_a ? c.a : c.b, plan, constants, spec);

  const BlockRef out = s.block(last.name()), across = s.block("winograd_across"),
                 products = s.block(stage.name()), moved = s.block("winograd_moved"),
                 down = s.block("winograd_down");
  const std::vector<LoopRef> l = s.loops(out);  // batch, blocks, y, x, lanes
  const auto [band, ty, a] = s.split<3>(l[at.batch + 1], {kOpen, rows, tile});
  const auto [tx, b] = s.split<2>(l[at.batch + 2], {kOpen, tile});
  s.reorder({band, l[at.batch], ty, tx, a, b, l[at.batch + 3]});
  s.compute_at(across, tx);
  s.set_scope(across, "winograd_across", ir::ScopeKind::Register);
  s.compute_at(products, band);
  s.compute_at(moved, band);
  // Loops behind that of the band, in the order of iterators; of the batch there is one image.
  const auto own_loops = [&](const BlockRef& block) {
    std::vector<LoopRef> loops = s.loops(block);
    loops.erase(loops.begin(), loops.begin() + static_cast<ptrdiff_t>(at.batch) + 1);
    return loops;
  };
  const std::vector<LoopRef> p = own_loops(moved);
  std::vector<LoopRef> patches = {p[at.blocks()], p[at.tile_row()], p[at.tile_column()], p[0],
                                  p[1],           p[at.lanes()]};
  if (at.batch > 0) patches.insert(patches.begin(), p[2]);
  s.reorder(patches);
  s.compute_at(down, p[at.tile_column()]);
  s.set_scope(down, "winograd_down", ir::ScopeKind::Register);
  if (find_stage(func, "winograd_input")) {
    const BlockRef input = s.block("winograd_input");
    s.compute_at(input, band);
    s.vectorize(s.loops(input).back());
  }

  const std::vector<LoopRef> own = own_loops(products);
  const auto [v0, v1] = s.split<2>(own[at.blocks()], {kOpen, plan.tile.vectors});
  const auto [r0, r1] = s.split<2>(own[at.tile_column()], {kOpen, plan.tile.rows});
  std::vector<LoopRef> order = {own[0], own[1], v0, own[at.tile_row()], r0}, summed;
  for (const size_t i : plan.reduced) summed.push_back(own[i]);
  order.insert(order.end(), summed.begin(), summed.end());
  order.insert(order.end(), {r1, v1, own[at.lanes()]});
  s.reorder(order);
  const size_t around = s.loops(products).size() - summed.size() - 3;
  const BlockRef keep = s.cache_write(products, stage.result()->name, ir::ScopeKind::Register);
  s.reverse_compute_at(keep, r0);
  const BlockRef init = s.decompose_reduction(products, summed.front());
  if (plan.unroll > 1) s.unroll(s.split<2>(summed.back(), {kOpen, plan.unroll})[1]);
  s.unroll(r1);
  s.unroll(v1);
  s.vectorize(own[at.lanes()]);
  unroll_lanes(s, keep, around);
  unroll_lanes(s, init, around);
  for (const BlockRef& block : {out, across}) unroll_lanes(s, block, at.batch + 4);
  for (const BlockRef& block : {moved, down}) unroll_lanes(s, block, 2 * at.batch + 4);
  if (work >= 2 * kTaskWork) s.parallel(at.batch > 0 ? s.fuse({l[0], band}) : band);
}

struct Stages {
  Stage moved, last;
  int64_t tile;  // results in a row of one
};
std::optional<Stages> winograd_stages(const ir::LoopFunc& func, const ir::TargetSpec& spec) {
  const auto moved = find_stage(func, "winograd_moved"), down = find_stage(func, "winograd_down"),
             across = find_stage(func, "winograd_across");
  // Rows and columns of a patch, lanes, and blocks or tiles to run over.
  const auto runs_over = [](const std::optional<Stage>& stage, size_t fewest) {
    return stage && stage->kind == StageKind::Map && stage->block->iters.size() >= fewest;
  };
  if (!runs_over(moved, 4) || !runs_over(down, 4) || !runs_over(across, 3)) return std::nullopt;
  const auto tile = ir::const_int(across->block->iters[0].extent);
  if (!tile || !ends_in_lanes(*moved, spec)) return std::nullopt;
  for (const Stage& s : stages_of(func))
    if (s.kind == StageKind::Map && s.reads(across->result()) && s.block->iters.size() >= 3 &&
        ends_in_lanes(s, spec))
      return Stages{*moved, s, *tile};
  return std::nullopt;
}

}  // namespace

bool winograd_fits(const ir::LoopFunc& func, const ir::TargetSpec& spec) {
  return !find_stage(func, "winograd_moved") || winograd_stages(func, spec);
}

bool schedule_winograd(Schedule& s, const ir::TargetSpec& spec,
                       const std::vector<std::string>& constants, Choices& choices) {
  const ir::LoopFunc func = s.func();
  const auto stages = winograd_stages(func, spec);
  if (!stages) return false;
  if (const auto products = find_stage(func, "winograd_products")) {
    const Sizes sizes(func);
    const auto c = as_contraction(*products);
    const auto bands =
        c ? bands_of(stages->moved, *products, stages->last, sizes) : std::optional<Bands>();
    const int64_t rows = bands ? rows_together(*bands, products->name(), spec, choices) : 0;
    ir::Block band = *products->block;  // what one of them computes
    if (rows > 0) {
      band.iters[bands->order.tile_row()].extent = rows;
      if (bands->order.batch > 0) band.iters[2].extent = 1;
    }
    Stage of_band = *products;
    of_band.block = &band;
    Choices asked = choices;  // in vain, when it does not come to bands
    const auto plan =
        rows > 0 ? choose_plan(of_band, *c, sizes, spec, constants, false, asked) : std::nullopt;
    if (plan && plan->wide == bands->order.blocks() && plan->row == bands->order.tile_column() &&
        plan->lane == bands->order.lanes() && attempt(s, [&] {
          schedule_in_bands(s, stages->last, stages->tile, bands->order, rows, *plan, spec,
                            constants);
          schedule_weights(s);
        })) {
      choices = std::move(asked);
      choices.vectors[products->name()] = plan->tile.vectors;
      return true;
    }
  }
  return attempt(s, [&] {
    schedule_patches(s, stages->moved, spec);
    schedule_contraction(s, "winograd_products", spec, constants, choices);
    schedule_results(s, stages->last, stages->tile, spec);
    schedule_weights(s);  // last: what packs them wants to see that all are written
  });
}

}  // namespace tilewright::tune
