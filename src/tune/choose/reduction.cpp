// SPDX-License-Identifier: Apache-2.0
// Reductions that are no contraction along two sides: pooling, depthwise convolution, sums along an
// axis, products of a matrix and a vector.
#include <algorithm>
#include <bit>

#include "ir/build.h"
#include "support/str.h"
#include "tune/choose/attempt.h"
#include "tune/choose/inline.h"
#include "tune/choose/lanes.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// Of a window that is all unrolled; the factors of more of them do not stay in registers.
constexpr int64_t kTapsInRegisters = 9;

/// The last terms are parts of something, such as a byte, when they are no more.
constexpr int64_t kMostParts = 4;

/// An iterator whose neighbours read parts of the same window, if there is one: its results share
/// what they read. The last of several, whose results are the closest in memory.
std::optional<size_t> window_row(const Stage& stage, size_t lane) {
  const auto& iters = stage.block->iters;
  std::optional<size_t> found;
  for (size_t i = 0; i < iters.size(); ++i) {
    if (i == lane || iters[i].kind != ir::IterKind::Spatial) continue;
    for (const ir::BlockIter& k : iters) {
      if (k.kind != ir::IterKind::Reduction) continue;
      for (const ir::Load* l : stage.loads())
        for (const ir::Expr& e : l->indices)
          if (ir::uses(e, iters[i].var) && ir::uses(e, k.var)) found = i;
    }
  }
  return found;
}

/// Rows whose sums are kept at once, a few of the registers.
int64_t rows_of(const ir::Expr& extent, const Sizes& sizes, const ir::TargetSpec& spec) {
  const auto known = ir::const_int(extent);
  const int64_t most = std::max(spec.vector_registers / 4, 2);
  for (int64_t n = most; n > most / 2; --n)
    if (known && *known % n == 0) return n;
  return known ? std::min<int64_t>(*known, most / 2) : sizes.most(extent) > 2 ? 2 : 1;
}

/// Are results beside each other along the row in memory, and not along the lanes? `after` is what
/// writes them, if another stage does.
bool turned_around(const Stage& stage, const std::optional<Stage>& after, size_t lane, size_t row,
                   const Sizes& sizes) {
  const auto& iters = stage.block->iters;
  const Stage& writer = after ? *after : stage;
  const size_t rank = stage.result()->shape.size();
  if (!ir::const_int(iters[row].extent) || dim_of(stage, row) == rank ||
      dim_of(stage, lane) == rank || (after && !reads_in_order(*after, stage.result())))
    return false;
  for (const Use& u : uses_of(*writer.block)) {
    if (u.buffer != writer.result()) continue;
    const auto step = [&](size_t iter) {
      const auto& own = after ? after->block->iters[dim_of(stage, iter)] : iters[iter];
      return stride(u.buffer, u.indices, own.var, sizes);
    };
    return step(row) == 1 && step(lane) != 1;
  }
  return false;
}

/// The iterator of results that several constants follow, such as weights and the scales of their
/// groups: they are packed along it. Groups are too short for partial results.
std::optional<size_t> lane_of_scaled(const Stage& stage, int64_t lanes,
                                     const std::vector<std::string>& constants,
                                     const Sizes& sizes) {
  for (size_t i = 0; i < stage.block->iters.size(); ++i) {
    const ir::BlockIter& it = stage.block->iters[i];
    const bool follow = panels_for(stage, stage.values().front(), i, constants, sizes).constant;
    const auto moved = std::ranges::count_if(
        stage.loads(), [&](const ir::Load* l) { return ir::uses(ir::Expr::of(*l), it.var); });
    if (it.kind == ir::IterKind::Spatial && sizes.of(it.extent) >= lanes && follow && moved > 1)
      return i;
  }
  return std::nullopt;
}

/// The registers that are left for sums and what is added to them: values that stay over more terms
/// than others, such as the scales of a group, have one for each vector of sums.
ir::TargetSpec without_held(ir::TargetSpec spec, const Stage& stage, size_t lane) {
  std::vector<std::ptrdiff_t> used;  // iterators that are summed over
  for (const ir::Load* l : stage.loads())
    if (const ir::Expr load = ir::Expr::of(*l); ir::uses(load, stage.block->iters[lane].var))
      used.push_back(std::ranges::count_if(stage.block->iters, [&](const ir::BlockIter& it) {
        return it.kind == ir::IterKind::Reduction && ir::uses(load, it.var);
      }));
  if (used.empty()) return spec;
  const auto most = std::ranges::count(used, *std::ranges::max_element(used));
  spec.vector_registers /= static_cast<int>(1 + std::ssize(used) - most);
  return spec;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Lets the lanes be the last dimension of a buffer that has the shape of the stage's result.
void lanes_last(Schedule& s, const Stage& stage, size_t lane, const BlockRef& block,
                const std::string& buffer) {
  std::vector<ir::Var> vars;
  for (size_t d = 0; d < stage.result()->shape.size(); ++d) vars.emplace_back(str("i", d));
  std::vector<ir::Expr> places(vars.begin(), vars.end());
  const auto at = places.begin() + static_cast<long>(dim_of(stage, lane));
  std::rotate(at, at + 1, places.end());
  s.transform_layout(block, buffer, {vars, places});
}

/// Vectors of results over all terms, kept in registers; the stage that follows inside.
void results_in_lanes(Schedule& s, const Stage& stage, size_t lane, int64_t lanes,
                      const std::optional<Stage>& after, const ir::TargetSpec& spec,
                      const std::vector<std::string>& constants, Choices& choices) {
  const Sizes sizes(s.func());
  const auto& iters = stage.block->iters;
  const auto columns = ir::const_int(iters[lane].extent);
  int64_t taps = 1;
  bool constant = true;
  int64_t last_terms = 0;
  for (const ir::BlockIter& it : iters) {
    if (it.kind != ir::IterKind::Reduction) continue;
    constant = constant && ir::const_int(it.extent);
    last_terms = ir::const_int(it.extent).value_or(kMostParts + 1);
    taps *= std::max<int64_t>(sizes.of(it.extent), 1);
  }
  const std::string name = stage.name();
  const bool possible = constant && taps <= kUnrolledTaps;
  const bool unrolled = possible && choices.yes(name + ".unrolled", taps <= kTapsInRegisters);
  const std::optional<size_t> row = possible ? window_row(stage, lane) : std::nullopt;
  std::vector<int64_t> fewer;  // than the row has
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16})
    if (row && n < sizes.of(iters[*row].extent)) fewer.push_back(n);
  const int64_t rows =
      row ? choices.number(name + ".rows", rows_of(iters[*row].extent, sizes, spec), fewer) : 1;
  // Shorter vectors leave less over, and a tile that is not the only one has whole ones.
  if (columns && *columns < lanes)
    lanes = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(*columns)));
  std::vector<int64_t> others;
  for (const int64_t n : {1, 2, 3, 4, 6, 8})
    if (columns && (n - 1) * lanes < *columns && rows * n < spec.vector_registers)
      others.push_back(n);
  const std::vector<ResultSize> sides_of = extents_of(nullptr, iters[lane].extent, sizes);
  const ir::TargetSpec sums = without_held(spec, stage, lane);
  const int64_t vectors = choices.number(
      name + ".vectors", row ? 1 : choose_tile(sides_of, taps, lanes, sums).vectors, others);
  const bool turned = row && columns && *columns % (lanes * vectors) == 0 &&
                      turned_around(stage, after, lane, *row, sizes);
  // Constants lie in the order in which they are read.
  Plan plan{.lane = lane, .row = lane, .tile = {1, vectors}, .lanes = lanes};
  for (size_t i = 0; i < iters.size(); ++i)
    if (iters[i].kind == ir::IterKind::Reduction) plan.reduced.push_back(i);
  for (const ir::Load* l : stage.loads())
    if (contains(constants, l->buffer->name) && l->indices.size() > 1)
      pack_panels(s, stage, ir::Expr::of(*l), plan, constants, spec);

  const BlockRef block = s.block(stage.name());
  std::string buffer = stage.result()->name;
  BlockRef last;  // what writes the results
  if (after) {
    last = s.block(after->name());
  } else {
    last = s.cache_write(block, buffer, turned ? ir::ScopeKind::Global : ir::ScopeKind::Register);
    buffer += turned ? "_global" : "_register";
  }
  std::vector<std::pair<size_t, int64_t>> sides = {{lane, lanes * vectors}};
  if (row) sides.push_back({*row, rows});
  round_up_tiles(s, stage, block, sides, lane);
  const std::vector<LoopRef> loops = s.loops(block);
  std::vector<TileLoop> outer;
  std::vector<LoopRef> over, inside;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (iters[i].kind == ir::IterKind::Reduction)
      over.push_back(loops[i]);
    else if (i != lane && i != row)
      outer.push_back({loops[i], sizes.of(iters[i].extent), true});
  }
  LoopRef tiles_of_row;
  if (row && turned) {
    const int64_t together = tiles_together(sizes.of(iters[*row].extent),
                                            {.tile = {rows, vectors}, .lanes = lanes}, spec);
    const auto [q0, r0, r1] = s.split<3>(loops[*row], {kOpen, together, rows});
    outer.push_back(tiles_of(q0, iters[*row], together * rows, sizes));
    tiles_of_row = r0;
    inside.push_back(r1);
  } else if (row) {
    const auto [r0, r1] = s.split<2>(loops[*row], {kOpen, rows});
    outer.push_back(tiles_of(r0, iters[*row], rows, sizes));
    inside.push_back(r1);
  }
  const auto [l0, l1] = s.split<2>(loops[lane], {kOpen, lanes * vectors});
  outer.push_back(tiles_of(l0, iters[lane], lanes * vectors, sizes));
  const size_t first = order_for_threads(outer, spec, choices.yes(name + ".by_reuse", false));
  std::vector<LoopRef> order;
  for (const TileLoop& t : outer) order.push_back(t.loop);
  const LoopRef at = order.back();
  if (turned) order.push_back(tiles_of_row);
  LoopRef l = l1;
  if (!possible && over.size() > 1 && last_terms <= kMostParts) {
    // A vector of bytes is in use for all of its parts, then no more.
    const auto [v, in_vector] = s.split<2>(l1, {kOpen, lanes});
    inside = {v, over.back()};
    over.pop_back();
    l = in_vector;
  }
  order.insert(order.end(), over.begin(), over.end());
  order.insert(order.end(), inside.begin(), inside.end());
  order.push_back(l);
  s.reorder(order);

  BlockRef stored = last;  // what takes the results out of registers
  if (turned) {
    stored = s.cache_write(block, buffer, ir::ScopeKind::Register);
    s.reverse_compute_at(stored, tiles_of_row);
  }
  s.reverse_compute_at(last, at);
  if (after && !turned) s.set_scope(block, buffer, ir::ScopeKind::Register);
  const BlockRef init = s.decompose_reduction(block, over.front());
  if (unrolled)
    for (const LoopRef& k : over) s.unroll(k);
  for (const LoopRef& r : inside) s.unroll(r);
  as_vectors(s, l, lanes);
  if (turned) {
    lanes_last(s, stage, lane, block, buffer + "_register");
    lanes_last(s, stage, lane, stored, buffer);
  }
  for (const BlockRef& b : {stored, init}) {
    std::vector<LoopRef> own = s.loops(b);
    own.erase(own.begin(), own.begin() + static_cast<long>(outer.size() + turned));
    if (turned && b == stored) {
      const auto at_lane = own.begin() + static_cast<long>(dim_of(stage, lane));
      std::rotate(at_lane, at_lane + 1, own.end());
      s.reorder(own);
    }
    as_vectors(s, own.back(), lanes);
    for (size_t j = 0; j + 1 < own.size(); ++j) s.unroll(own[j]);
  }
  if (!turned) keep_whole_vectors(s, stage, block, buffer, lane, lanes);
  const size_t fused = run_in_threads(s, outer, first, stage.work(sizes));
  if (turned)
    turn(s, last.name, outer.size() - fused, dim_of(stage, lane), dim_of(stage, *row), lanes);
}

/// Partial results in lanes, for the results of one iteration of the other loops at a time.
void terms_in_lanes(Schedule& s, const Stage& stage, size_t lane, int64_t lanes, Choices& choices) {
  const std::string name = stage.name();
  const BlockRef block = s.block(name);
  const std::string buffer = stage.result()->name;
  const BlockRef copy = s.cache_write(block, buffer, ir::ScopeKind::Register);
  if (const std::vector<LoopRef> rows = s.loops(copy); !rows.empty())
    s.compute_at(block, rows.back());
  std::vector<LoopRef> own = s.loops(block);
  const size_t shift = own.size() - stage.loops.size();
  LoopRef k = own[lane + shift];
  const auto known = ir::const_int(stage.loops[lane]->extent);
  const int64_t width =
      lanes * choices.number(name + ".vectors", known && *known < 8 * lanes ? 1 : 4, {1, 2, 4, 8});
  if (!known || *known > width) k = s.split<2>(k, {kOpen, width})[1];
  const auto [partial, combined] = s.rfactor(block, k);
  s.set_scope(partial, buffer + "_register_rf", ir::ScopeKind::Register);
  s.decompose_reduction(combined, s.loops(combined).back());
  for (const std::string& b : {name + "_rf_init", name + "_rf", name})
    s.vectorize(s.loops(b).back());
}

/// How many of the loops around a stage are serial and serve its results alone.
size_t result_loops(const Stage& stage) {
  size_t count = 0;
  while (count < stage.loops.size() && stage.loops[count]->loop == ir::ForKind::Serial) {
    const ir::Var& v = stage.loops[count]->var;
    const bool reduces = std::ranges::any_of(stage.block->iters, [&](const ir::BlockIter& it) {
      return it.kind != ir::IterKind::Spatial && ir::uses(it.binding, v);
    });
    if (reduces) break;
    ++count;
  }
  return count;
}

}  // namespace

void schedule_reduction(Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                        const std::vector<std::string>& constants, Choices& choices) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, name);
  if (stage.kind != StageKind::Reduce) return;
  for (const ir::BlockIter& it : stage.block->iters)
    if (ir::is_const(it.extent, 0)) return;  // nothing to do in any order
  const int64_t lanes = lanes_of(stage, spec);
  if (lanes == 1) return;
  const size_t lane =
      lane_of_scaled(stage, lanes, constants, sizes).value_or(best_lane_iter(stage, sizes));
  const double work = stage.work(sizes);
  bool done = false;
  if (stage.block->iters[lane].kind == ir::IterKind::Spatial)
    done = attempt(s, [&] {
      results_in_lanes(s, stage, lane, lanes, epilogue_of(func, stage), spec, constants, choices);
    });
  else
    attempt(s, [&] { terms_in_lanes(s, stage, lane, lanes, choices); });
  if (done) return;
  const ir::LoopFunc now = s.func();
  run_parallel(s, name, result_loops(*find_stage(now, name)), work, spec);
}

}  // namespace tilewright::tune
