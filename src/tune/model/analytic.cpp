// SPDX-License-Identifier: Apache-2.0
#include "tune/model/analytic.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tilewright::tune {
namespace {

// Cycles beside those of the target's rates. What they miss is what the trees learn.
constexpr double kOperation = 0.25, kIteration = 1;
constexpr double kGather = 2, kSpill = 1;
constexpr double kFork = 8000;

bool written_out(ir::ForKind kind) {
  return kind == ir::ForKind::Unrolled || kind == ir::ForKind::Vectorized;
}

}  // namespace

double LeafCost::cycles() const {
  const double units = std::max({compute, loading, latency});
  return std::max(units, moving) + 0.3 * std::min(units, moving) + overhead;
}

LeafCost cost_of(const Leaf& leaf, const ir::TargetSpec& spec) {
  LeafCost out;
  const size_t depth = leaf.loops.size();
  out.body = depth;
  while (out.body > 0 && written_out(leaf.loops[out.body - 1].kind)) --out.body;
  double widest = 1, lane_extent = 1;
  std::optional<size_t> lane;
  for (const LeafAccess& a : leaf.accesses) widest = std::max(widest, a.bytes);
  for (size_t l = 0; l < depth; ++l) {
    if (leaf.loops[l].kind == ir::ForKind::Parallel) out.tasks *= leaf.loops[l].extent;
    if (leaf.loops[l].kind == ir::ForKind::Vectorized) {
      lane = l;
      lane_extent = leaf.loops[l].extent;
    }
  }
  const double lanes = std::max(1.0, spec.vector_bits / 8.0 / widest);
  const double per_lane_loop = std::ceil(lane_extent / lanes);
  out.vectors = leaf.runs(out.body) / lane_extent * per_lane_loop;
  out.lanes_used = lane ? lane_extent / (per_lane_loop * lanes) : 1 / lanes;
  const double bodies = leaf.runs() / leaf.runs(out.body);

  double streams = 0;
  for (const LeafAccess& a : leaf.accesses) {
    const double elements = a.elements(leaf.loops, out.body);
    const double step = lane ? a.stride(*lane) : 0;
    if (a.in_registers) {
      if (a.store)
        out.accumulators += lane && step != 0 ? elements / lane_extent * per_lane_loop : elements;
      continue;
    }
    if (step == 0)
      out.loads += elements;
    else if (std::abs(step) == 1)
      out.loads += elements / lane_extent * per_lane_loop;
    else
      out.loads += kGather * elements;
    streams += 1;
    if (a.store && leaf.update) out.loads += elements / lane_extent;
  }
  const double registers = spec.vector_registers;
  const double wanted = out.accumulators + streams;
  if (wanted > registers) out.loads += kSpill * 2 * (wanted - registers);
  out.compute = bodies * out.vectors * std::max(leaf.operations, 1.0) * kOperation;
  out.loading = bodies * out.loads * spec.rates.load;
  if (leaf.update) {
    const double chains = std::max(out.accumulators, 1.0);
    out.latency = bodies * out.vectors / chains * spec.rates.latency;
  }
  out.overhead = bodies * kIteration;

  const double sizes[] = {static_cast<double>(spec.l1_bytes), static_cast<double>(spec.l2_bytes),
                          std::max(static_cast<double>(spec.l3_bytes), 8e6)};
  for (int c = 0; c < 3; ++c) {
    size_t level = 0;
    double outside = 1;
    for (; level < depth; ++level) {
      double bytes = 0;
      for (const LeafAccess& a : leaf.accesses)
        if (!a.in_registers) bytes += 64 * a.lines(leaf.loops, level);
      if (bytes <= sizes[c]) break;
      outside *= leaf.loops[level].extent;
    }
    out.fits[c] = level;
    for (const LeafAccess& a : leaf.accesses) {
      if (a.in_registers) continue;
      // A loop just outside that does not move the access finds it in the cache still.
      double times = outside;
      for (size_t l = level; l-- > 0 && a.stride(l) == 0;) times /= leaf.loops[l].extent;
      out.traffic[c] += 64 * a.lines(leaf.loops, level) * times * (a.store ? 2 : 1);
    }
    out.moving = std::max(out.moving, out.traffic[c] / spec.rates.bytes[c]);
  }
  for (double* part : {&out.compute, &out.loading, &out.latency, &out.overhead})
    *part *= leaf.needed;
  return out;
}

double analytic_seconds(const std::vector<Leaf>& leaves, const std::vector<LeafCost>& costs,
                        const ir::TargetSpec& spec) {
  double all = 0;
  const double cores = std::max(spec.cores, 1);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const double tasks = costs[i].tasks;
    double cycles = costs[i].cycles();
    if (tasks > 1) cycles *= std::ceil(tasks / cores) / tasks;
    // The loops of one nest start their threads once, however many leaves they hold.
    if (tasks > 1 && leaves[i].update) cycles += kFork;
    all += cycles;
  }
  return all / spec.rates.hertz;
}

}  // namespace tilewright::tune
