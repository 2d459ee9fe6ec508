// SPDX-License-Identifier: Apache-2.0
#include "tune/model/features.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "support/diagnostic.h"
#include "support/str.h"
#include "tune/model/analytic.h"

namespace tilewright::tune {
namespace {

// Accesses of the main leaf that are told apart, and loops whose data are.
constexpr size_t kAccesses = 4, kLevels = 8;

/// Takes the numbers in their order; knows their names where they are asked for.
struct Writer {
  Features values{};
  std::vector<std::string>* names = nullptr;
  size_t count = 0;

  template <class... Name>
  void operator()(double value, const Name&... name) {
    require(count < kFeatures, "there are more features than kFeatures");
    values[count++] = static_cast<float>(std::isfinite(value) ? value : 0);
    if (names) names->push_back(str(name...));
  }
};

double log_of(double v) { return std::log2(std::max(v, 0.0) + 1); }

void about_access(Writer& out, const Leaf* leaf, const LeafCost& cost, const LeafAccess* a,
                  size_t number) {
  const auto at = [&](size_t level) {
    return a ? log_of(a->bytes * a->elements(leaf->loops, std::min(level, leaf->loops.size()))) : 0;
  };
  const size_t depth = leaf ? leaf->loops.size() : 0;
  size_t inside = 0;  // of the parallel loops
  std::optional<size_t> lane, serial;
  for (size_t l = 0; l < depth; ++l) {
    if (leaf->loops[l].kind == ir::ForKind::Parallel) inside = l + 1;
    if (leaf->loops[l].kind == ir::ForKind::Vectorized) lane = l;
    if (leaf->loops[l].kind == ir::ForKind::Serial) serial = l;
  }
  const double total = a ? a->elements(leaf->loops, 0) : 1,
               body = a ? a->elements(leaf->loops, cost.body) : 1;
  out(a ? 1 + a->store : 0, "access", number, ".kind");
  out(at(0), "access", number, ".bytes");
  out(at(inside), "access", number, ".bytes_of_a_task");
  out(at(cost.fits[1]), "access", number, ".bytes_in_second_cache");
  out(at(cost.fits[0]), "access", number, ".bytes_in_first_cache");
  out(at(cost.body), "access", number, ".bytes_of_body");
  out(a ? log_of(leaf->runs() / total) : 0, "access", number, ".reuse");
  out(a ? log_of(leaf->runs(cost.body) / body) : 0, "access", number, ".reuse_in_body");
  out(a && lane ? std::min(std::abs(a->stride(*lane)), 4.0) : -1, "access", number, ".lane_stride");
  out(a && serial ? log_of(std::abs(a->stride(*serial))) : -1, "access", number, ".loop_stride");
  out(a ? a->lines(leaf->loops, cost.fits[0]) * 64 /
              std::max(a->bytes * a->elements(leaf->loops, cost.fits[0]), 1.0)
        : 0,
      "access", number, ".line_waste");
}

void write(Writer& out, const std::vector<Leaf>& leaves, const ir::TargetSpec& spec) {
  std::vector<LeafCost> costs;
  double cycles = 0, compute = 0, loading = 0, latency = 0, overhead = 0, traffic[3] = {}, code = 0;
  size_t main = 0;
  for (const Leaf& leaf : leaves) {
    costs.push_back(cost_of(leaf, spec));
    const LeafCost& c = costs.back();
    cycles += c.cycles();
    compute += c.compute;
    loading += c.loading;
    latency += c.latency;
    overhead += c.overhead;
    for (int i = 0; i < 3; ++i) traffic[i] += c.traffic[i];
    code += c.vectors * std::max(leaf.operations, 1.0);
    const auto work = [&](size_t i) {
      return leaves[i].runs() * leaves[i].needed * (leaves[i].operations + leaves[i].update);
    };
    if (work(costs.size() - 1) > work(main)) main = costs.size() - 1;
  }
  const Leaf* leaf = leaves.empty() ? nullptr : &leaves[main];
  const LeafCost none, &c = leaf ? costs[main] : none;
  const double cores = std::max(spec.cores, 1);
  const double seconds = analytic_seconds(leaves, costs, spec);

  out(std::log2(std::max(seconds, 1e-12)), "analytic");
  out(log_of(cycles), "cycles");
  out(log_of(compute), "compute");
  out(log_of(loading), "loading");
  out(log_of(latency), "latency");
  out(log_of(overhead), "overhead");
  for (int i = 0; i < 3; ++i) out(log_of(traffic[i]), "traffic", i + 1);
  out(log_of(code), "code");
  out(static_cast<double>(leaves.size()), "leaves");
  out(cycles > 0 ? c.cycles() / cycles : 1, "main.share");
  out(leaf ? log_of(leaf->runs()) : 0, "main.runs");
  out(leaf ? leaf->needed : 1, "main.needed");
  out(leaf ? leaf->operations : 0, "main.operations");
  out(c.lanes_used, "main.lanes_used");
  out(c.vectors, "main.body_vectors");
  out(c.accumulators, "main.accumulators");
  out(c.accumulators / spec.vector_registers, "main.register_share");
  out(c.loads, "main.body_loads");
  out(c.loads / std::max(c.vectors, 1.0), "main.loads_for_a_vector");
  out(c.compute > 0 ? c.loading / c.compute : 0, "main.loading_share");
  out(c.compute > 0 ? c.latency / c.compute : 0, "main.latency_share");
  for (int i = 0; i < 3; ++i)
    out(c.compute > 0 ? log_of(c.traffic[i] / c.compute) : 0, "main.bytes_for_a_cycle", i + 1);
  out(leaf ? static_cast<double>(leaf->loops.size() - c.body) : 0, "main.written_out_loops");
  out(leaf ? static_cast<double>(c.body) : 0, "main.loops");
  out(log_of(c.tasks), "main.tasks");
  out(c.tasks > 1 ? std::ceil(c.tasks / cores) * cores / c.tasks : cores, "main.imbalance");
  out(log_of(c.cycles() / c.tasks), "main.cycles_of_a_task");
  // From the innermost loop that stays a loop outwards: iterations, data, arithmetic intensity.
  for (size_t i = 0; i < kLevels; ++i) {
    const bool there = leaf && i < c.body;
    const size_t level = there ? c.body - 1 - i : 0;
    double bytes = 0;
    for (size_t j = 0; there && j < leaf->accesses.size(); ++j)
      if (!leaf->accesses[j].in_registers)
        bytes += leaf->accesses[j].bytes * leaf->accesses[j].elements(leaf->loops, level);
    out(there ? log_of(leaf->loops[level].extent) : 0, "level", i, ".extent");
    if (i >= kLevels - 2) continue;
    out(there ? log_of(bytes) : 0, "level", i, ".bytes");
    out(there && bytes > 0 ? std::log2(leaf->runs(level) / bytes) : 0, "level", i, ".intensity");
  }
  std::vector<const LeafAccess*> accesses;
  for (size_t j = 0; leaf && j < leaf->accesses.size(); ++j) accesses.push_back(&leaf->accesses[j]);
  std::ranges::stable_sort(accesses, std::greater(), [&](const LeafAccess* a) {
    return std::pair(a->store, a->elements(leaf->loops, 0));
  });
  accesses.resize(kAccesses, nullptr);
  for (size_t i = 0; i < kAccesses; ++i) about_access(out, leaf, c, accesses[i], i);
  require(out.count == kFeatures, "there are fewer features than kFeatures");
}

}  // namespace

const std::string& feature_name(size_t feature) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    Writer writer{.names = &out};
    write(writer, {}, {});
    return out;
  }();
  return names.at(feature);
}

Features features_of(const ir::LoopFunc& scheduled, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants) {
  Writer out;
  write(out, leaves_of(scheduled, constants), spec);
  return out.values;
}

}  // namespace tilewright::tune
