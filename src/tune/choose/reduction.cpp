// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/reducer.h"
#include "tune/choose/attempt.h"
#include "tune/choose/lanes.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// for y { for k { for x … } }: a vector of results over all terms, kept in registers.
void results_in_lanes(Schedule& s, const Stage& stage, size_t lane, int64_t lanes) {
  const std::string name = stage.name();
  const BlockRef block = s.block(name);
  const std::vector<LoopRef> loops = s.loops(block);
  const auto known = ir::const_int(stage.loops[lane]->extent);
  std::vector<LoopRef> order;
  std::vector<LoopRef> over;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (i == lane) continue;
    (stage.block->iters[i].kind == ir::IterKind::Spatial ? order : over).push_back(loops[i]);
  }
  LoopRef inner = loops[lane];
  if (!known || *known > lanes) {
    const auto [o, v] = s.split<2>(inner, {kOpen, lanes});
    order.push_back(o);
    inner = v;
  }
  const size_t outside = order.size();
  const LoopRef first = over.front();
  order.insert(order.end(), over.begin(), over.end());
  order.push_back(inner);
  s.reorder(order);
  std::vector<BlockRef> vectors = {block};
  if (outside > 0) {
    const BlockRef copy = s.cache_write(block, stage.result()->name, ir::ScopeKind::Register);
    s.reverse_compute_at(copy, order[outside - 1]);
    vectors.push_back(copy);
  }
  vectors.push_back(s.decompose_reduction(block, first));
  for (const BlockRef& b : vectors) s.vectorize(s.loops(b).back());
}

/// Partial results in lanes, for the results of one iteration of the other loops at a time.
void terms_in_lanes(Schedule& s, const Stage& stage, size_t lane, int64_t lanes) {
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
  const int64_t width = known && *known < 8 * lanes ? lanes : 4 * lanes;
  if (!known || *known > width) k = s.split<2>(k, {kOpen, width})[1];
  const auto [partial, combined] = s.rfactor(block, k);
  s.set_scope(partial, buffer + "_register_rf", ir::ScopeKind::Register);
  own = s.loops(partial);
  s.decompose_reduction(combined, s.loops(combined).back());
  for (const std::string& b : {name + "_rf_init", name + "_rf", name})
    s.vectorize(s.loops(b).back());
}

}  // namespace

void schedule_reduction(Schedule& s, const std::string& name, const ir::TargetSpec& spec) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, name);
  if (stage.kind != StageKind::Reduce) return;
  // Argmax and the like have two results that belong together: they are left as they are.
  if (!ir::single_op(*stage.block->body.as<ir::Update>()->reducer)) return;
  const int64_t lanes = lanes_of(stage, spec);
  if (lanes == 1) return;
  const size_t lane = best_lane_iter(stage, sizes);
  const double work = stage.work(sizes);
  const bool spatial = stage.block->iters[lane].kind == ir::IterKind::Spatial;
  if (spatial)
    attempt(s, [&] { results_in_lanes(s, stage, lane, lanes); });
  else
    attempt(s, [&] { terms_in_lanes(s, stage, lane, lanes); });
  size_t outer = 0;
  const ir::LoopFunc now = s.func();
  const Stage made = *find_stage(now, name);
  // The loops around all that belongs to the stage.
  while (outer < made.loops.size() && made.loops[outer]->loop == ir::ForKind::Serial) {
    const ir::Var& v = made.loops[outer]->var;
    const bool reduces = std::ranges::any_of(made.block->iters, [&](const ir::BlockIter& it) {
      return it.kind != ir::IterKind::Spatial && ir::uses(it.binding, v);
    });
    if (reduces) break;
    ++outer;
  }
  run_parallel(s, name, outer, work, spec);
}

}  // namespace tilewright::tune
