// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/row_stages.h"

#include <algorithm>

#include "ir/build.h"
#include "tune/choose/contraction.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

std::vector<Stage> leading_to(const std::vector<Stage>& stages, const Stage& last,
                              const ir::LoopFunc& func) {
  std::vector<Stage> group = {last};
  for (size_t i = stages.size(); i-- > 0;) {
    const Stage& s = stages[i];
    if (s.block == last.block || s.kind == StageKind::Other || as_contraction(s)) continue;
    const auto in_group = [&](const Stage& c) {
      return std::ranges::any_of(group, [&](const Stage& g) { return g.block == c.block; });
    };
    if (std::ranges::none_of(group, [&](const Stage& g) { return g.reads(s.result()); })) continue;
    bool outside = false, output = false;
    for (const Stage& c : stages)
      outside = outside || (c.block != s.block && c.reads(s.result()) && !in_group(c));
    for (const ir::Param& p : func.params) output = output || s.writes(p.buffer);
    for (const Stage& other : stages)  // a separate init
      outside = outside || (other.block != s.block && other.writes(s.result()));
    if (!outside && !output) group.insert(group.begin(), s);
  }
  group.pop_back();
  return group;
}

namespace {

/// How many of the first iterators all stages of the group share: what one reads of another, it
/// reads at its own.
size_t shared_rows(const std::vector<Stage>& group, const Stage& last) {
  size_t rows = last.block->iters.size();
  const auto limit = [&](const Stage& s) {
    size_t spatial = 0;
    while (spatial < s.block->iters.size() && s.block->iters[spatial].kind == ir::IterKind::Spatial)
      ++spatial;
    rows = std::min(rows, spatial);
    for (const ir::Load* l : s.loads()) {
      const bool inside =
          std::ranges::any_of(group, [&](const Stage& g) { return g.writes(l->buffer); });
      for (size_t d = 0; inside && d < rows; ++d)
        if (d >= l->indices.size() || l->indices[d] != s.block->iters[d].var) rows = d;
    }
  };
  for (const Stage& s : group) limit(s);
  limit(last);
  return rows;
}

/// Does the stage reduce along what lies next to each other?
bool along_row(const Stage& s, const Sizes& sizes) {
  return s.kind == StageKind::Reduce && s.block->init &&
         s.block->iters[best_lane_iter(s, sizes)].kind == ir::IterKind::Reduction;
}

/// Sums of `chains` vectors, which are combined at the end of the row.
void reduce_in_chains(Schedule& s, const Stage& stage, int64_t lanes) {
  const std::string name = stage.name(), buffer = stage.result()->name;
  const BlockRef block = s.block(name);
  const auto known = ir::const_int(stage.block->iters.back().extent);
  const int64_t width =
      known && (*known < 2 * lanes || *known % (2 * lanes) != 0) ? lanes : 2 * lanes;
  const auto [k0, k1] = s.split<2>(s.loops(block).back(), {kOpen, width});
  const auto [partial, combined] = s.rfactor(block, k1);
  s.set_scope(partial, buffer + "_rf", ir::ScopeKind::Register);
  s.set_scope(combined, buffer, ir::ScopeKind::Register);
  const std::vector<LoopRef> own = s.loops(partial);  // …, row, k0, k1
  s.reorder({own[own.size() - 2], own[own.size() - 3], own.back()});
  s.decompose_reduction(combined, s.loops(combined).back());
  for (const std::string& b : {name + "_rf_init", name + "_rf", name}) {
    const std::vector<LoopRef> loops = s.loops(b);
    s.vectorize(loops.back());  // at once: two registers become one before its lanes are combined
    s.unroll(loops[loops.size() - 2]);
  }
}

/// Each element by itself: rows beside each other, columns, where it has some, as vectors.
void map_in_vectors(Schedule& s, const std::string& name, size_t outside, bool columns,
                    int64_t lanes) {
  const std::vector<LoopRef> own = s.loops(s.block(name));
  if (!columns) {
    for (size_t i = outside; i < own.size(); ++i) s.unroll(own[i]);
    return;
  }
  const auto [o, v] = s.split<2>(own.back(), {kOpen, 2 * lanes});
  std::vector<LoopRef> order = {o};
  for (size_t i = outside; i + 1 < own.size(); ++i) order.push_back(own[i]);
  s.reorder(order);
  s.vectorize(v);
  for (size_t i = 1; i < order.size(); ++i) s.unroll(order[i]);
}

}  // namespace

std::optional<size_t> rows_of(const std::vector<Stage>& group, const Stage& last,
                              const Sizes& sizes) {
  if (std::ranges::none_of(group, [&](const Stage& g) { return along_row(g, sizes); }))
    return std::nullopt;
  const size_t rows = shared_rows(group, last);
  for (const Stage& g : group) {
    if (g.kind == StageKind::Reduce && (!along_row(g, sizes) || g.block->iters.size() != rows + 1))
      return std::nullopt;
    if (g.kind == StageKind::Map && g.block->iters.size() > rows + 1) return std::nullopt;
  }
  if (rows == 0 || last.block->iters.size() > rows + 1) return std::nullopt;
  return rows;
}

void schedule_row_stages(Schedule& s, const std::vector<Stage>& group, const Stage& last,
                         size_t outside, size_t rows, int64_t lanes) {
  for (const Stage& g : group) {
    if (g.kind == StageKind::Reduce) {
      reduce_in_chains(s, g, lanes);
      continue;
    }
    const bool columns = g.block->iters.size() > rows;
    map_in_vectors(s, g.name(), outside, columns, lanes);
    if (!columns) s.set_scope(s.block(g.name()), g.result()->name, ir::ScopeKind::Register);
  }
  map_in_vectors(s, last.name(), outside, last.block->iters.size() > rows, lanes);
}

}  // namespace tilewright::tune
