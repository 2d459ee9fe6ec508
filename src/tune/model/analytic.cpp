// SPDX-License-Identifier: Apache-2.0
#include "tune/model/analytic.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tilewright::tune {
namespace {

// Cycles beside those of the target's rates. What they miss is what the trees learn.
constexpr double kOperation = 0.25, kIteration = 1;
constexpr double kGather = 2, kSpill = 1.5;
constexpr double kFork = 8000;
constexpr double kWindow = 128;  // vectors of results whose instructions are under way at once

bool written_out(ir::ForKind kind) {
  return kind == ir::ForKind::Unrolled || kind == ir::ForKind::Vectorized;
}

/// The loop that runs as vectors.
struct Lanes {
  std::optional<size_t> loop;
  double extent = 1, vectors = 1;  // elements of it, and vectors that they fill
  double lanes = 1;                // of a vector

  /// Vectors that an access touches in the loops from `level` on. Those that overlap are not one.
  double vectors_of(const LeafAccess& a, const std::vector<LeafLoop>& loops, size_t level) const {
    double out = loop && a.stride(*loop) != 0 ? vectors : 1;
    for (const std::vector<double>& steps : a.steps) {
      double range = 1, places = 1;
      for (size_t l = level; l < steps.size(); ++l) {
        if (l == loop || steps[l] == 0) continue;
        range += std::abs(steps[l]) * (loops[l].extent - 1);
        places *= loops[l].extent;
      }
      out *= std::min(range, places);
    }
    return out;
  }
  bool scattered(const LeafAccess& a) const { return loop && std::abs(a.stride(*loop)) > 1; }
};

/// Registers that the body needs, and what it loads with those that there are.
void count_body(const Leaf& leaf, const ir::TargetSpec& spec, const Lanes& lanes, LeafCost& out) {
  const size_t depth = leaf.loops.size();
  const auto sums = [&](size_t l) {
    return leaf.loops[l].sums && leaf.loops[l].extent > 1 && l != lanes.loop;
  };
  std::vector<LeafLoop> one_term = leaf.loops;
  double terms = 1;
  for (size_t l = out.body; l < depth; ++l)
    if (sums(l)) terms *= std::exchange(one_term[l].extent, 1);
  // What a loop of the body reads again is kept while it runs: for a 6x2 tile two vectors and a
  // row's number, the columns outside all six numbers and a vector.
  const auto kept_by = [&](const LeafAccess& a) {
    size_t again = out.body;
    while (again < depth && (one_term[again].extent == 1 || a.stride(again) != 0)) ++again;
    return again < depth ? lanes.vectors_of(a, one_term, again) : 1;
  };
  double kept = 0;
  for (const LeafAccess& a : leaf.accesses) {
    if (!a.in_registers)
      kept += kept_by(a);
    else if (a.store && !a.in_tile)
      out.accumulators += lanes.vectors_of(a, leaf.loops, out.body);
  }
  kept += out.accumulators;
  const double registers = spec.vector_registers - 1;  // one is in the making
  if (kept > registers) out.loads += kSpill * 2 * (kept - registers) * terms;
  for (const LeafAccess& a : leaf.accesses) {
    if (a.in_registers) continue;
    const double others = kept - kept_by(a);
    double loads = lanes.vectors_of(a, leaf.loops, out.body);
    // Neighbouring terms of a window read the same: kept from one to the next, or loaded again.
    std::vector<LeafLoop> inner = leaf.loops;
    double times = 1;
    for (size_t l = out.body; l < depth; ++l) {
      if (!sums(l)) continue;
      const double all = lanes.vectors_of(a, inner, out.body);
      const double extent = std::exchange(inner[l].extent, 1);
      const double one = lanes.vectors_of(a, inner, out.body);
      times *= extent;
      if (all < one * extent && others + one > registers) loads = std::max(loads, one * times);
    }
    if (a.store && leaf.update) loads *= 2;
    // What the loop around does not move is loaded before it.
    if (!a.store && out.body > 0 && a.stride(out.body - 1) == 0 && others + loads <= registers) {
      kept = others + loads;
      loads /= leaf.loops[out.body - 1].extent;
    }
    out.loads += lanes.scattered(a) ? kGather * lanes.lanes * loads : loads;
  }
}

/// How many sums run beside each other.
double chains_of(const Leaf& leaf, const LeafCost& cost) {
  const double own = std::max(cost.accumulators, 1.0);
  size_t around = cost.body;
  while (around > 0 && leaf.loops[around - 1].extent == 1) --around;
  // Those that end with the body do not wait for those of the next one.
  if (around == 0 || leaf.loops[around - 1].sums) return own;
  return own * std::clamp(kWindow / cost.vectors, 1.0, leaf.loops[around - 1].extent);
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

  count_body(leaf, spec,
             {.loop = lane, .extent = lane_extent, .vectors = per_lane_loop, .lanes = lanes}, out);
  out.compute = bodies * out.vectors * std::max(leaf.operations, 1.0) * kOperation;
  out.loading = bodies * out.loads * spec.rates.load;
  if (leaf.update) {
    out.latency = bodies * out.vectors / chains_of(leaf, out) * spec.rates.latency;
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
