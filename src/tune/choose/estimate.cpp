// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/estimate.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/build.h"
#include "tune/choose/canonical.h"
#include "tune/choose/inline.h"
#include "tune/choose/lanes.h"
#include "tune/choose/plan.h"
#include "tune/choose/strides.h"
#include "tune/choose/winograd.h"

namespace tilewright::tune {
namespace {

// Cycles of a vector: an operation, an access to neighbours, one of each lane by itself, and a
// vector of a transposition in registers.
constexpr double kOperation = 0.5, kAccess = 0.5, kTurned = 3;
constexpr double kNever = 1e18;

/// `i == 3`, with an index on the left
bool is_row(const ir::Expr& condition) {
  const auto* compare = condition.as<ir::Binary>();
  return compare && compare->op == ir::BinaryOp::Eq && compare->a.type() == ir::kIndex &&
         ir::const_int(compare->b);
}

/// Operations on vectors along the iterator. What a guard chooses for all lanes at once costs none:
/// loops are cut where the choice changes.
int64_t vector_operations(const ir::Expr& value, const ir::Var& lane) {
  int64_t n = operations(value);
  ir::walk(value, [&](const ir::Guard& g) {
    if (!ir::uses(g.cond, lane)) n -= 1 + operations(g.cond);
  });
  return std::max<int64_t>(n, 1);
}

/// A vector of results that do not lie beside each other: they are transposed in blocks of eight,
/// and what is left over in smaller ones, where neighbours of another iterator do.
double scattered(const Stage& stage, const Use& result, int64_t lanes, const Sizes& sizes) {
  for (const ir::BlockIter& it : stage.block->iters) {
    const auto known = ir::const_int(it.extent);
    if (!known || *known < 2 || stride(result.buffer, result.indices, it.var, sizes) != 1) continue;
    const int64_t blocks = *known / 8 + std::popcount(static_cast<uint64_t>(*known % 8));
    return kTurned * static_cast<double>(blocks * 8) / static_cast<double>(*known);
  }
  return static_cast<double>(lanes);
}

/// A stage without tiles, as vectors along its best iterator.
double vector_cycles(const Stage& stage, const Sizes& sizes, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants) {
  const auto& iters = stage.block->iters;
  if (iters.empty()) return kOperation * std::max(stage.work(sizes), 1.0);
  const int64_t lanes = lanes_of(stage, spec);
  const size_t lane = best_lane_iter(stage, sizes);
  double each = 0;
  int64_t rows = 1;  // of a matrix, one of which a choice by iterator leaves
  for (const ir::Expr& value : stage.values()) {
    each += kOperation * static_cast<double>(vector_operations(value, iters[lane].var));
    ir::walk(value, [&](const ir::Select& select) { rows += is_row(select.cond); });
  }
  const bool reduces = iters[lane].kind == ir::IterKind::Reduction;
  const auto by_lane = [&](const Use& u) {
    const auto step = stride(u.buffer, u.indices, iters[lane].var, sizes);
    const bool constant = std::ranges::find(constants, u.buffer->name) != constants.end();
    if (step == 0 || step == 1 || constant) return kAccess;
    const bool whole = stage.kind == StageKind::Map && step && *step % 8 == 0;
    return whole ? kTurned : static_cast<double>(lanes);
  };
  double once = 0;  // for a result, however many terms it has
  for (const Use& u : uses_of(*stage.block)) {
    if (stage.kind == StageKind::Map || !stage.writes(u.buffer)) {
      each += by_lane(u);
    } else if (!reduces) {
      each += kAccess;
      const auto step = stride(u.buffer, u.indices, iters[lane].var, sizes);
      if (step != 0 && step != 1) once = scattered(stage, u, lanes, sizes);
    }
  }
  each = each / static_cast<double>(rows) + (rows > 1 ? kAccess : 0) + once / stage.terms(sizes);
  const auto extent = static_cast<double>(std::max<int64_t>(sizes.of(iters[lane].extent), 1));
  const double vectors = std::max(1.0, std::ceil(extent / static_cast<double>(lanes)));
  const double narrow = 2 * extent <= static_cast<double>(lanes) ? spec.rates.half : 1;
  return narrow * each * stage.points(sizes) / extent * vectors;
}

}  // namespace

double estimated_cycles(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                        const std::vector<std::string>& constants) {
  schedule::Schedule s(canonical(blocks), spec.instructions);
  if (!only_blocks(blocks)) return 0;
  Choices by_model;
  inline_stages(s, constants, by_model);
  const ir::LoopFunc func = s.func();
  if (!winograd_fits(func, spec)) return kNever;
  const Sizes sizes(func);
  double all = 0;
  const std::vector<std::string> known = with_derived(func, constants);
  const auto is_known = [&](const ir::Buffer& b) {
    return std::ranges::find(known, b->name) != known.end();
  };
  for (const Stage& stage : stages_of(func)) {
    if (stage.kind == StageKind::Other) continue;
    const std::vector<const ir::Load*> loads = stage.loads();
    if (is_known(stage.result())) continue;  // prepared before the run
    const auto contraction = as_contraction(stage);
    const auto tiled = contraction ? plan_cycles(stage, *contraction, sizes, spec, known)
                                   : std::optional<double>();
    const double cycles = tiled ? *tiled : vector_cycles(stage, sizes, spec, known);
    // Weights that no cache keeps come from memory, and few products hide that: those of 3x3
    // convolutions of 10x10 maps take what their parts take one after the other.
    double bytes = 0;
    for (const ir::Load* l : loads) {
      double n = ir::bits(l->buffer->elem) / 8.0;
      for (const ir::Expr& e : l->buffer->shape) n *= static_cast<double>(sizes.of(e));
      if (is_known(l->buffer) && n > static_cast<double>(spec.l2_bytes)) bytes += n;
    }
    all += cycles + bytes / spec.rates.bytes[2];
  }
  return all;
}

}  // namespace tilewright::tune
