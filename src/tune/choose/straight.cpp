// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "tune/choose/attempt.h"
#include "tune/choose/plan.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

// Above this many operations an epilogue is not worth a copy for each row of the tile.
constexpr int64_t kCheapEpilogue = 10;

/// Operations of a value, those of equal parts once: code computes them once.
static int64_t distinct_operations(const ir::Expr& value) {
  int64_t n = operations(value);
  std::vector<ir::Expr> seen;
  ir::walk(value, [&](const ir::Binary& b) {
    const ir::Expr e = ir::Expr::of(b);
    const bool again =
        std::ranges::any_of(seen, [&](const ir::Expr& s) { return ir::equal(s, e); });
    if (again) n -= operations(e);
    seen.push_back(e);
    return !again;
  });
  return n;
}

/// How often the loops inside of this one run together.
static int64_t turns_in(const std::vector<TileLoop>& outer, const LoopRef& loop) {
  int64_t turns = 1;
  for (size_t i = outer.size(); i-- > 0 && !(outer[i].loop == loop);)
    turns *= std::max<int64_t>(outer[i].count, 1);
  return turns;
}

/// Weights come from memory in every run of a model, and slower than the first rows of a panel are
/// multiplied. The rows of one panel ask for the next, bit by bit, where they have time to.
static void prefetch_panels(Schedule& s, const Stage& stage, const Plan& plan, const LoopRef& terms,
                            const TileLoop& panels, int64_t turns, const ir::TargetSpec& spec,
                            Choices& choices) {
  constexpr int64_t kLine = 64, kSecondCache = 2;
  constexpr int64_t kProductsOfLine = 24, kProductsOfFarLine = 8;  // that take as long as asking
  const ir::LoopFunc func = s.func();
  int64_t element = 0, all = 0;  // bytes
  for (const ir::Load* l : find_stage(func, stage.name())->loads()) {
    if (l->buffer->name != plan.panels) continue;
    element = all = ir::bits(l->buffer->elem) / 8;
    for (const ir::Expr& e : l->buffer->shape) all *= ir::const_int(e).value_or(1);
  }
  if (all == 0) return;  // they do not lie in panels after all
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t lines = up(up(plan.unroll * plan.width() * element, kLine), turns);
  const int64_t products = plan.unroll * plan.tile.rows * plan.tile.vectors;
  // Tiles of few rows use as many registers and loads as there are. What the second
  // cache does not keep is waited for otherwise.
  const int64_t of_line = all > spec.l2_bytes ? kProductsOfFarLine : kProductsOfLine;
  const bool pays =
      all > spec.l1_bytes && plan.tile.vectors <= plan.tile.rows && lines * of_line <= products;
  if (choices.yes(stage.name() + ".prefetch", pays))
    attempt(s, [&] { s.prefetch_next(terms, panels.loop, plan.panels, kSecondCache); });
}

namespace {

/// Is the iterator part of an index that others are part of, so that neighbours share elements?
bool in_window(const ir::Expr& factor, const ir::Var& x) {
  bool found = false;
  ir::walk(factor, [&](const ir::Load& l) {
    for (const ir::Expr& e : l.indices) found = found || (ir::uses(e, x) && !(e == x));
  });
  return found;
}

/// Does only the run know how far the iterator goes, and is what one of the factors has for each of
/// its places more than the second cache keeps beside the other? Then it is read once for each.
bool is_large_batch(const Stage& stage, size_t iter, const Sizes& sizes,
                    const ir::TargetSpec& spec) {
  const auto& iters = stage.block->iters;
  if (ir::const_int(iters[iter].extent)) return false;
  const Contraction c = *as_contraction(stage);
  const bool in_a = std::ranges::count(c.of_a, iter) > 0;
  double bytes = ir::bits(stage.result()->elem) / 8;
  for (const size_t i : in_a ? c.of_a : c.of_b)
    if (i != iter) bytes *= static_cast<double>(sizes.of(iters[i].extent));
  for (const size_t i : c.reduced)
    if (!in_window(in_a ? c.a : c.b, iters[i].var))
      bytes *= static_cast<double>(sizes.of(iters[i].extent));
  return bytes > static_cast<double>(spec.l2_bytes) / 4;
}

}  // namespace

void schedule_straight(Schedule& s, const Stage& stage, const Plan& plan,
                       const std::optional<Stage>& after, const ir::TargetSpec& spec,
                       Choices& choices) {
  const Sizes sizes(s.func());
  const std::string buffer = stage.result()->name;
  const bool cheap =
      after && choices.yes(stage.name() + ".epilogue_in_registers",
                           distinct_operations(after->values().front()) <= kCheapEpilogue);
  const BlockRef block = s.block(stage.name());
  std::vector<BlockRef> tiles;  // besides the sums: what runs once for each tile
  if (!cheap) tiles.push_back(s.cache_write(block, buffer, ir::ScopeKind::Register));
  const size_t across = plan.wide.value_or(plan.lane);
  const int64_t width = plan.wide ? plan.tile.vectors : plan.width();
  // What is kept has room for whole vectors: cut off in the tile, lanes would need masks there.
  const auto lanes = ir::const_int(stage.block->iters[across].extent);
  const bool cut = !plan.wide && lanes && *lanes % plan.lanes != 0;
  round_up_tiles(s, stage, block, {{across, width}, {plan.row, plan.tile.rows}}, plan.lane,
                 cut ? std::optional(across) : std::nullopt);
  const std::vector<LoopRef> loops = s.loops(block);
  const auto& iters = stage.block->iters;
  const auto [l0, l1] = s.split<2>(loops[across], {kOpen, width});
  const auto [r0, r1] = s.split<2>(loops[plan.row], {kOpen, plan.tile.rows});
  std::vector<TileLoop> outer;
  for (const size_t i : plan.shared) outer.push_back({loops[i], sizes.of(iters[i].extent), true});
  std::vector<TileLoop> others;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (iters[i].kind != ir::IterKind::Spatial || i == plan.lane || i == plan.row || i == across ||
        std::ranges::find(plan.shared, i) != plan.shared.end())
      continue;
    const TileLoop loop{loops[i], sizes.of(iters[i].extent), true};
    if (is_large_batch(stage, i, sizes, spec))
      outer.push_back(loop);
    else
      others.push_back(loop);
  }
  const auto shared = static_cast<std::ptrdiff_t>(outer.size());
  outer.insert(outer.end(), others.begin(), others.end());
  // The factor with the lanes is read once for each iteration of the loops around its own: where it
  // is the larger one, its loop is the outermost.
  const TileLoop columns = tiles_of(l0, iters[across], width, sizes);
  if (plan.block > 1 && plan.block < columns.count) {
    const auto [b0, b1] = s.split<2>(l0, {kOpen, plan.block});
    const int64_t blocks = (columns.count + plan.block - 1) / plan.block;
    const bool exact = columns.exact && columns.count % plan.block == 0;
    outer.insert(outer.begin() + shared, {b0, blocks, exact});
    outer.push_back({b1, plan.block, exact});
  } else {
    outer.insert(plan.lanes_first ? outer.begin() + shared : outer.end(), columns);
  }
  outer.push_back(tiles_of(r0, iters[plan.row], plan.tile.rows, sizes));
  const auto first = static_cast<size_t>(shared);
  const size_t together =
      order_for_threads(outer, spec, plan.by_reuse, first > plan.shared.size() ? first : 0);
  std::vector<LoopRef> order;
  for (const TileLoop& t : outer) order.push_back(t.loop);
  const LoopRef at = order.back();
  std::vector<LoopRef> summed;
  for (const size_t i : plan.reduced) summed.push_back(loops[i]);
  LoopRef inner = plan.wide ? loops[plan.lane] : l1, vectors = l1, group;
  if (plan.dot) {
    const auto [k0, k1] = s.split<2>(summed.back(), {kOpen, plan.dot->group});
    summed.back() = k0;
    group = k1;
  }
  // Of the two factors the one with fewer registers in the tile stays in them, and code is made in
  // the order of these loops.
  const bool rows_inside = plan.tile.rows < plan.tile.vectors;
  const bool apart = plan.wide || plan.dot || rows_inside;
  if (apart && !plan.wide) {
    const auto [v, l] = s.split<2>(l1, {kOpen, plan.lanes});
    vectors = v;
    inner = l;
  }
  order.insert(order.end(), summed.begin(), summed.end());
  if (rows_inside) order.push_back(vectors);
  order.push_back(r1);
  if (apart && !rows_inside) order.push_back(vectors);
  order.push_back(inner);
  if (plan.dot) order.push_back(group);
  s.reorder(order);

  if (!cheap) s.reverse_compute_at(tiles.back(), at);
  if (after) {
    const BlockRef next = s.block(after->name());
    s.reverse_compute_at(next, at);
    if (cheap) {
      s.set_scope(block, buffer, ir::ScopeKind::Register);
      tiles.push_back(next);
    } else {
      as_vectors(s, s.loops(next).back(), plan.lanes);
    }
  }
  tiles.push_back(s.decompose_reduction(block, summed.front()));
  LoopRef steps = summed.back();
  if (plan.unroll > 1) {
    const auto [k0, k1] = s.split<2>(summed.back(), {kOpen, plan.unroll});
    s.unroll(k1);
    steps = k0;
  }
  s.unroll(r1);
  if (apart) s.unroll(vectors);
  if (plan.dot)
    s.tensorize(inner, plan.dot->instruction);
  else
    as_vectors(s, inner, plan.lanes);
  for (const BlockRef& b : tiles) {
    const std::vector<LoopRef> own = s.loops(b);
    as_vectors(s, own.back(), plan.lanes);
    for (size_t i = outer.size(); i + 1 < own.size(); ++i) s.unroll(own[i]);
  }
  keep_whole_vectors(s, stage, block, cheap ? buffer : buffer + "_register", plan.lane, plan.lanes);
  if (!plan.panels.empty() && !plan.dot && columns.count > 1 && plan.block <= 1)
    prefetch_panels(s, stage, plan, steps, columns, turns_in(outer, l0), spec, choices);
  run_in_threads(s, outer, together, stage.work(sizes));
}

}  // namespace tilewright::tune
