// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/estimate.h"

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "tune/choose/canonical.h"
#include "tune/choose/inline.h"
#include "tune/choose/lanes.h"
#include "tune/choose/plan.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {
namespace {

// Cycles of a vector: an operation, an access to neighbours, one of each lane by itself, and a
// vector of a transposition in registers.
constexpr double kOperation = 0.5, kAccess = 0.5, kTurned = 3;

/// A stage without tiles, as vectors along its best iterator.
double vector_cycles(const Stage& stage, const Sizes& sizes, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants) {
  const auto& iters = stage.block->iters;
  const int64_t lanes = lanes_of(stage, spec);
  double each = 0;
  for (const ir::Expr& value : stage.values())
    each += kOperation * static_cast<double>(std::max<int64_t>(operations(value), 1));
  if (iters.empty()) return each;
  const size_t lane = best_lane_iter(stage, sizes);
  const bool reduces = iters[lane].kind == ir::IterKind::Reduction;
  const auto by_lane = [&](const Use& u) {
    const auto step = stride(u.buffer, u.indices, iters[lane].var, sizes);
    const bool constant = std::ranges::find(constants, u.buffer->name) != constants.end();
    if (step == 0 || step == 1 || constant) return kAccess;
    const bool whole = step && *step % 8 == 0;
    return whole ? kTurned : static_cast<double>(lanes);
  };
  for (const Use& u : uses_of(*stage.block))
    if (!stage.writes(u.buffer) || !reduces) each += by_lane(u);
  const auto extent = static_cast<double>(std::max<int64_t>(sizes.of(iters[lane].extent), 1));
  const double vectors = std::max(1.0, std::ceil(extent / static_cast<double>(lanes)));
  return each * stage.points(sizes) / extent * vectors;
}

}  // namespace

double estimated_cycles(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                        const std::vector<std::string>& constants) {
  schedule::Schedule s(canonical(blocks), spec.instructions);
  if (!only_blocks(blocks)) return 0;
  inline_stages(s);
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  double all = 0;
  for (const Stage& stage : stages_of(func)) {
    if (stage.kind == StageKind::Other) continue;
    const auto contraction = as_contraction(stage);
    const auto plan = contraction ? best_plan(stage, *contraction, sizes, spec, constants)
                                  : std::optional<Plan>();
    all += plan ? plan->cycles : vector_cycles(stage, sizes, spec, constants);
  }
  return all;
}

}  // namespace tilewright::tune
