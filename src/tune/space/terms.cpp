// SPDX-License-Identifier: Apache-2.0
#include "tune/space/terms.h"

#include <algorithm>

#include "ir/build.h"
#include "tune/choose/contraction.h"
#include "tune/choose/lanes.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

std::optional<Terms> as_terms(const ir::LoopFunc& func, const Stage& stage,
                              const ir::TargetSpec& spec) {
  if (stage.kind != StageKind::Reduce || !stage.block->init) return std::nullopt;
  const auto& update = *stage.block->body.as<ir::Update>();
  const auto& iters = stage.block->iters;
  const int64_t lanes = lanes_of(stage, spec);
  if (lanes == 1 || update.targets.size() != 1 || as_contraction(stage)) return std::nullopt;
  for (const ir::BlockIter& it : iters)
    if (ir::is_const(it.extent, 0)) return std::nullopt;
  const Sizes sizes(func);
  const size_t lane = best_lane_iter(stage, sizes);
  // The loops of results stand before those of terms.
  bool spatial = true;
  for (const ir::BlockIter& it : iters) {
    if (it.kind == ir::IterKind::Spatial && !spatial) return std::nullopt;
    spatial = it.kind == ir::IterKind::Spatial;
  }
  if (iters[lane].kind != ir::IterKind::Reduction || lane + 1 != iters.size()) return std::nullopt;
  return Terms{
      .func = func, .stage = stage, .lane = lane, .lanes = lanes, .work = stage.work(sizes)};
}

TermsValues declare_terms(Knobs& k, const Terms& t) {
  const std::string prefix = t.stage.name() + ".";
  const auto& iters = t.stage.block->iters;
  const auto terms = ir::const_int(iters[t.lane].extent);
  TermsValues v;
  std::vector<int64_t> vectors, rows = {1};
  for (int64_t n = 1; n <= 8 && (n == 1 || !terms || n * t.lanes <= *terms); n *= 2)
    vectors.push_back(n);
  std::optional<int64_t> results;  // of the innermost loop over them
  for (const ir::BlockIter& it : iters)
    if (it.kind == ir::IterKind::Spatial) results = ir::const_int(it.extent);
  for (int64_t n = 2; results && n <= std::min<int64_t>(*results, 8); ++n)
    if (*results % n == 0) rows.push_back(n);
  v.vectors = k.number(prefix + "vectors", vectors);
  v.rows = k.number(prefix + "rows", rows);
  v.unroll = k.boolean(prefix + "unroll");
  k.require(prefix + "vectors * " + prefix + "rows <= 16", {prefix + "vectors", prefix + "rows"},
            [](const Values& values) { return values[0]->front() * values[1]->front() <= 16; });
  return v;
}

void schedule_terms(Schedule& s, const Terms& t, const TermsValues& v, const ir::TargetSpec& spec) {
  const std::string name = t.stage.name(), buffer = t.stage.result()->name;
  const BlockRef block = s.block(name);
  const BlockRef copy = s.cache_write(block, buffer, ir::ScopeKind::Register);
  const std::vector<LoopRef> results = s.loops(copy);
  const size_t around = results.size();
  if (!results.empty()) {
    LoopRef at = results.back();
    if (v.rows > 1) at = s.split<2>(at, {kOpen, v.rows})[0];
    s.compute_at(block, at);
  }
  const std::vector<LoopRef> own = s.loops(block);  // around, one for each result, then the terms
  const size_t shift = own.size() - t.stage.loops.size();
  LoopRef k = own[t.lane + shift];
  std::optional<LoopRef> steps;
  const auto known = ir::const_int(t.stage.loops[t.lane]->extent);
  const int64_t width = v.vectors * t.lanes;
  if (!known || *known > width) {
    const auto [k0, k1] = s.split<2>(k, {kOpen, width});
    steps = k0;
    k = k1;
  }
  const auto [partial, combined] = s.rfactor(block, k);
  s.set_scope(partial, buffer + "_register_rf", ir::ScopeKind::Register);
  if (v.rows > 1) {
    // Rows stand beside each other inside of the terms.
    const std::vector<LoopRef> loops = s.loops(partial);
    std::vector<LoopRef> order(loops.begin() + static_cast<long>(around), loops.end());
    std::rotate(order.begin(), order.begin() + static_cast<long>(around), order.end() - 1);
    s.reorder(order);
    for (size_t i = order.size() - 1 - around; i + 1 < order.size(); ++i) s.unroll(order[i]);
  }
  s.decompose_reduction(combined, s.loops(combined).back());
  if (v.unroll && steps && known && (*known + width - 1) / width % 2 == 0)
    s.unroll(s.split<2>(*steps, {kOpen, 2})[1]);
  for (const std::string& b : {name + "_rf_init", name + "_rf", name}) {
    const std::vector<LoopRef> loops = s.loops(b);
    s.vectorize(loops.back());
    if (v.rows > 1 && b != name + "_rf")
      for (size_t i = around; i + 1 < loops.size(); ++i) s.unroll(loops[i]);
  }
  if (v.rows > 1) s.unroll(s.loops(copy).back());
  if (around > 0) run_parallel(s, copy.name, around, t.work, spec);
}

}  // namespace tilewright::tune
