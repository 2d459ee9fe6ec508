// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/winograd.h"

#include <algorithm>
#include <bit>

#include "ir/build.h"
#include "tune/choose/attempt.h"
#include "tune/choose/contraction.h"
#include "tune/choose/lanes.h"

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

/// for c, m { taps and all 36 values of one weight, in registers }
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

/// for channels / lanes, tiles { a patch, from the input to what is multiplied, in registers }
void schedule_patches(Schedule& s, const Stage& moved, const ir::TargetSpec& spec) {
  const Sizes sizes(s.func());
  const double work = moved.points(sizes) * 4;
  const BlockRef out = s.block("winograd_moved"), down = s.block("winograd_down");
  const std::vector<LoopRef> l = s.loops(out);  // i, j, …, lanes
  std::vector<LoopRef> order(l.begin() + 2, l.end() - 1);
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
void schedule_results(Schedule& s, const Stage& last, const ir::TargetSpec& spec) {
  const Sizes sizes(s.func());
  const double work = last.work(sizes);
  const BlockRef out = s.block(last.name()), across = s.block("winograd_across");
  const std::vector<LoopRef> l = s.loops(out);  // …, y, x, lanes
  const size_t n = l.size();
  const auto [ty, a] = s.split<2>(l[n - 3], {kOpen, 4});
  const auto [tx, b] = s.split<2>(l[n - 2], {kOpen, 4});
  s.reorder({ty, tx, a, b, l[n - 1]});
  s.compute_at(across, tx);
  s.set_scope(across, "winograd_across", ir::ScopeKind::Register);
  unroll_lanes(s, out, n - 1);
  unroll_lanes(s, across, n - 1);
  run_parallel(s, out.name, n - 2, work, spec);
}

struct Stages {
  Stage moved, last;
};
std::optional<Stages> winograd_stages(const ir::LoopFunc& func, const ir::TargetSpec& spec) {
  const auto moved = find_stage(func, "winograd_moved"),
             across = find_stage(func, "winograd_across");
  if (!moved || !across || moved->kind != StageKind::Map || !ends_in_lanes(*moved, spec))
    return std::nullopt;
  for (const Stage& s : stages_of(func))
    if (s.kind == StageKind::Map && s.reads(across->result()) && s.block->iters.size() >= 3 &&
        ends_in_lanes(s, spec))
      return Stages{*moved, s};
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
  return stages && attempt(s, [&] {
           schedule_weights(s);
           schedule_patches(s, stages->moved, spec);
           schedule_contraction(s, "winograd_products", spec, constants, choices);
           schedule_results(s, stages->last, spec);
         });
}

}  // namespace tilewright::tune
