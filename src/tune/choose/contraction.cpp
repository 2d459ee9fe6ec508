// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/contraction.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/reducer.h"
#include "tune/choose/attempt.h"
#include "tune/choose/lanes.h"
#include "tune/choose/model.h"
#include "tune/choose/pack.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

std::optional<Contraction> as_contraction(const Stage& stage) {
  if (stage.kind != StageKind::Reduce || !stage.block->init) return std::nullopt;
  const auto& update = *stage.block->body.as<ir::Update>();
  if (ir::single_op(*update.reducer) != ir::BinaryOp::Add) return std::nullopt;
  const auto* product = update.values[0].as<ir::Binary>();
  if (!product || product->op != ir::BinaryOp::Mul || !ir::has_load(product->a) ||
      !ir::has_load(product->b))
    return std::nullopt;
  Contraction out{.a = product->a, .b = product->b};
  for (size_t i = 0; i < stage.block->iters.size(); ++i) {
    const ir::BlockIter& it = stage.block->iters[i];
    const bool in_a = ir::uses(out.a, it.var), in_b = ir::uses(out.b, it.var);
    if (it.kind == ir::IterKind::Reduction)
      out.reduced.push_back(i);
    else
      (in_a == in_b ? out.shared : in_a ? out.of_a : out.of_b).push_back(i);
  }
  if (out.of_a.empty() || out.of_b.empty()) return std::nullopt;
  return out;
}

std::optional<Stage> epilogue_of(const ir::LoopFunc& func, const Stage& producer) {
  std::optional<Stage> found;
  for (const ir::Param& p : func.params)
    if (producer.writes(p.buffer)) return std::nullopt;
  for (const Stage& s : stages_of(func)) {
    if (s.block == producer.block || !s.reads(producer.result())) continue;
    if (found || s.kind != StageKind::Map) return std::nullopt;
    for (const ir::Load* l : s.loads()) {
      if (l->buffer != producer.result()) continue;
      if (l->indices.size() != s.block->iters.size()) return std::nullopt;
      for (size_t d = 0; d < l->indices.size(); ++d)
        if (l->indices[d] != s.block->iters[d].var ||
            !ir::equal(s.block->iters[d].extent, l->buffer->shape[d]))
          return std::nullopt;
    }
    found = s;
  }
  return found;
}

void as_vectors(Schedule& s, const LoopRef& loop, int64_t extent, int64_t lanes) {
  if (extent <= lanes) return s.vectorize(loop);
  const auto [outer, inner] = s.split<2>(loop, {kOpen, lanes});
  s.vectorize(inner);
  s.unroll(outer);
}

namespace {

// Above this many operations an epilogue is not worth a copy for each row of the tile.
constexpr int64_t kCheapEpilogue = 10;

/// What is decided about one contraction.
struct Plan {
  size_t lane = 0, row = 0;  // numbers of iterators
  Tile tile;
  int64_t lanes = 1;
  int64_t unroll = 1;  // of the innermost reduction loop

  int64_t width() const { return tile.vectors * lanes; }
};

/// A loop over tiles, or over what is not tiled.
struct TileLoop {
  LoopRef loop;
  int64_t count;
  bool exact;  // no tile is cut short
};

/// Puts the loops in an order in which the first few, whose number it gives, occupy all threads as
/// one loop. A loop with a tile that is cut short cannot be fused: its tail could not be told apart
/// any more.
size_t order_for_threads(std::vector<TileLoop>& loops, const ir::TargetSpec& spec) {
  const int64_t wanted = 4 * std::max(spec.cores, 4);
  int64_t tasks = 1;
  size_t count = 0;
  while (count < loops.size() && loops[count].exact && tasks < wanted)
    tasks *= loops[count++].count;
  if (tasks >= wanted) return count;
  const auto largest = std::ranges::max_element(loops, {}, &TileLoop::count);
  if (count > 0 && (largest->exact || largest->count < 2 * tasks)) return count;
  std::rotate(loops.begin(), largest, largest + 1);
  return 1;
}

int64_t product_of(const Stage& stage, const std::vector<size_t>& iters, const Sizes& sizes) {
  int64_t n = 1;
  for (const size_t i : iters) n *= std::max<int64_t>(sizes.of(stage.block->iters[i].extent), 1);
  return n;
}

/// The largest of the factor's iterators, but for `except`.
size_t largest(const Stage& stage, const std::vector<size_t>& iters, const Sizes& sizes) {
  return *std::ranges::max_element(
      iters, {}, [&](size_t i) { return sizes.of(stage.block->iters[i].extent); });
}

/// Lanes along the last dimension of the result, rows along the other factor.
std::optional<Plan> plan_straight(const Stage& stage, const Contraction& c, const Sizes& sizes,
                                  const ir::TargetSpec& spec) {
  const auto& iters = stage.block->iters;
  Plan plan{.lanes = lanes_of(stage, spec)};
  if (plan.lanes == 1) return std::nullopt;
  const auto& index = stage.block->body.as<ir::Update>()->targets[0].indices;
  if (index.empty()) return std::nullopt;
  const auto last =
      std::ranges::find_if(iters, [&](const ir::BlockIter& it) { return it.var == index.back(); });
  plan.lane = static_cast<size_t>(last - iters.begin());
  const bool in_a = std::ranges::count(c.of_a, plan.lane) > 0;
  if (!in_a && std::ranges::count(c.of_b, plan.lane) == 0) return std::nullopt;
  plan.row = largest(stage, in_a ? c.of_b : c.of_a, sizes);
  const int64_t terms = product_of(stage, c.reduced, sizes);
  plan.tile = choose_tile(sizes.of(iters[plan.row].extent), sizes.of(iters[plan.lane].extent),
                          terms, plan.lanes, spec);
  const auto inner = ir::const_int(iters[c.reduced.back()].extent);
  for (const int64_t u : {4, 3, 2})
    if (inner && *inner % u == 0 && u * plan.tile.rows * plan.tile.vectors <= 128) {
      plan.unroll = u;
      break;
    }
  return plan;
}

/// The tile's results go straight from registers into the result or what follows.
void straight(Schedule& s, const Stage& stage, const Contraction& c, const Plan& plan,
              const std::optional<std::string>& after, bool cheap, const ir::TargetSpec& spec) {
  const Sizes sizes(s.func());
  const std::string buffer = stage.result()->name;
  const BlockRef block = s.block(stage.name());
  const std::vector<LoopRef> loops = s.loops(block);
  const auto& iters = stage.block->iters;
  const auto [l0, l1] = s.split<2>(loops[plan.lane], {kOpen, plan.width()});
  const auto [r0, r1] = s.split<2>(loops[plan.row], {kOpen, plan.tile.rows});
  std::vector<TileLoop> outer;
  for (size_t i = 0; i < loops.size(); ++i)
    if (iters[i].kind == ir::IterKind::Spatial && i != plan.lane && i != plan.row)
      outer.push_back({loops[i], sizes.of(iters[i].extent), true});
  const auto tiles_of = [&](const LoopRef& loop, size_t iter, int64_t size) {
    const int64_t n = sizes.of(iters[iter].extent);
    const auto known = ir::const_int(iters[iter].extent);
    return TileLoop{loop, (n + size - 1) / size, known && *known % size == 0};
  };
  outer.push_back(tiles_of(l0, plan.lane, plan.width()));
  outer.push_back(tiles_of(r0, plan.row, plan.tile.rows));
  const size_t together = order_for_threads(outer, spec);
  std::vector<LoopRef> order;
  for (const TileLoop& t : outer) order.push_back(t.loop);
  const LoopRef at = order.back();
  for (const size_t i : c.reduced) order.push_back(loops[i]);
  order.push_back(r1);
  order.push_back(l1);
  s.reorder(order);

  std::vector<BlockRef> tiles;  // besides the sums: what runs once for each tile
  if (!after || !cheap) {
    tiles.push_back(s.cache_write(block, buffer, ir::ScopeKind::Register));
    s.reverse_compute_at(tiles.back(), at);
  }
  if (after) {
    const BlockRef next = s.block(*after);
    s.reverse_compute_at(next, at);
    if (cheap) {
      s.set_scope(block, buffer, ir::ScopeKind::Register);
      tiles.push_back(next);
    } else {
      as_vectors(s, s.loops(next).back(), plan.width(), plan.lanes);
    }
  }
  tiles.push_back(s.decompose_reduction(block, loops[c.reduced.front()]));
  if (plan.unroll > 1) s.unroll(s.split<2>(loops[c.reduced.back()], {kOpen, plan.unroll})[1]);
  s.unroll(r1);
  as_vectors(s, l1, plan.width(), plan.lanes);
  const size_t outside = order.size() - c.reduced.size() - 2;
  for (const BlockRef& b : tiles) {
    const std::vector<LoopRef> own = s.loops(b);
    as_vectors(s, own.back(), plan.width(), plan.lanes);
    for (size_t i = outside; i + 1 < own.size(); ++i) s.unroll(own[i]);
  }
  if (stage.work(sizes) < 2 * kTaskWork || outside == 0) return;
  const std::vector<LoopRef> first(order.begin(), order.begin() + static_cast<long>(together));
  s.parallel(together > 1 ? s.fuse(first) : first[0]);
}

}  // namespace

bool schedule_contraction(Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                          const std::vector<std::string>& constants) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, name);
  const auto c = as_contraction(stage);
  if (!c) return false;
  const auto plan = plan_straight(stage, *c, sizes, spec);
  if (!plan) return false;
  const std::optional<Stage> next = epilogue_of(func, stage);
  std::optional<std::string> after;
  if (next) after = next->name();
  const bool cheap = next && operations(next->values().front()) <= kCheapEpilogue;
  const bool lane_in_a = std::ranges::count(c->of_a, plan->lane) > 0;
  const bool done = attempt(s, [&] {
    pack_panels(s, stage, lane_in_a ? c->a : c->b, plan->lane, plan->width(), constants, spec);
    straight(s, stage, *c, *plan, after, cheap, spec);
  });
  return done;
}

}  // namespace tilewright::tune
