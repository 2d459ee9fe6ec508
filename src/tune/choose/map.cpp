// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "tune/choose/attempt.h"
#include "tune/choose/lanes.h"
#include "tune/choose/strides.h"
#include "tune/choose/transpose.h"

namespace tilewright::tune {

using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

int64_t lanes_of(const Stage& stage, const ir::TargetSpec& spec) {
  int widest = 8;
  for (const auto* regions : {&stage.block->reads, &stage.block->writes})
    for (const ir::Region& r : *regions) {
      if (ir::bits(r.buffer->elem) < 8) return 1;
      widest = std::max(widest, ir::bits(r.buffer->elem));
    }
  return std::max(spec.lanes(widest), 1);
}

void run_parallel(Schedule& s, const std::string& block, size_t spatial_loops, double work,
                  const ir::TargetSpec& spec) {
  if (work < 2 * kTaskWork || spatial_loops == 0) return;
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, block);
  const double tasks = 8.0 * std::max(spec.cores, 4);
  size_t count = 0;
  double iterations = 1;
  while (count < spatial_loops && (count == 0 || iterations < tasks))
    iterations *= static_cast<double>(sizes.of(stage.loops[count++]->extent));
  for (; count > 0; --count) {
    const bool done = attempt(s, [&] {
      std::vector<LoopRef> loops = s.loops(s.block(block));
      loops.resize(count);
      s.parallel(count > 1 ? s.fuse(loops) : loops[0]);
    });
    if (done) return;
  }
}

namespace {

/// Vectors that stand beside each other, so that their instructions cover each other's latency.
int64_t interleaved(int64_t operations, const ir::TargetSpec& spec) {
  if (operations < 12) return 1;
  return operations >= 40 && spec.vector_registers >= 32 ? 4 : 2;
}

/// Vectors of a row that is short enough to do without a loop over them.
constexpr int64_t kShortRow = 4;

}  // namespace

void schedule_map(Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                  Choices& choices) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, name);
  if (stage.kind != StageKind::Map || stage.loops.empty()) return;
  const int64_t lanes = lanes_of(stage, spec);
  if (lanes == 1) return;
  int64_t cost = 0;
  for (const ir::Expr& value : stage.values()) cost += operations(value);
  const size_t lane = best_lane_iter(stage, sizes), count = stage.loops.size();
  if (const auto turned = transposition_of(stage, lane, sizes);
      turned && choices.yes(name + ".turned", true) &&
      attempt(s, [&] { schedule_transposition(s, stage, *turned, lanes, spec); }))
    return;
  const int64_t vectors = choices.number(name + ".vectors", interleaved(cost, spec), {1, 2, 4, 8});
  size_t outer = count - 1;
  const auto as_vectors_of = [&](size_t together) {
    outer = count - 1;
    std::vector<LoopRef> loops = s.loops(s.block(name));
    LoopRef inner = loops[lane];
    ir::Expr extent = stage.loops[lane]->extent;
    if (together > 1) {
      const auto first = loops.end() - static_cast<long>(together);
      inner = s.fuse({first, loops.end()});
      extent = 1;
      for (size_t i = count - together; i < count; ++i) extent = extent * stage.loops[i]->extent;
      outer = count - together;
    } else if (lane + 1 < count) {
      std::vector<LoopRef> order(loops.begin() + static_cast<long>(lane) + 1, loops.end());
      order.push_back(inner);
      s.reorder(order);
    }
    const auto known = ir::const_int(extent);
    int64_t width = lanes * vectors;
    const bool is_short = known && *known <= kShortRow * lanes && interleaved(cost, spec) == 1;
    if (is_short) width = std::max(width, *known);
    while (known && width > lanes && *known % width != 0 && *known < 8 * width) width /= 2;
    if (known && *known <= width) {
      s.vectorize(inner);
    } else {
      s.vectorize(s.split<2>(inner, {kOpen, width})[1]);
      ++outer;
    }
  };
  size_t together = lane + 1 == count ? collapsible(stage) : 1;
  if (together > 1 && !choices.yes(name + ".fused", true)) together = 1;
  if (!attempt(s, [&] { as_vectors_of(together); }) && !attempt(s, [&] { as_vectors_of(1); }))
    outer = count;
  run_parallel(s, name, outer, stage.work(sizes), spec);
}

}  // namespace tilewright::tune
