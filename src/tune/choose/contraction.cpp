// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/contraction.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/reducer.h"
#include "support/str.h"
#include "tune/choose/attempt.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

std::optional<Contraction> as_contraction(const Stage& stage) {
  if (stage.kind != StageKind::Reduce || !stage.block->init) return std::nullopt;
  const auto& update = *stage.block->body.as<ir::Update>();
  if (ir::single_op(*update.reducer) != ir::BinaryOp::Add) return std::nullopt;
  const auto* product = update.values[0].as<ir::Binary>();
  if (!product || product->op != ir::BinaryOp::Mul || !ir::has_load(product->a) ||
      !ir::has_load(product->b))
    return std::nullopt;
  Contraction out{.a = product->a, .b = product->b};
  for (size_t i = 0; i < stage.block->iters.size(); ++i) {
    const ir::BlockIter& it = stage.block->iters[i];
    const bool in_a = ir::uses(out.a, it.var), in_b = ir::uses(out.b, it.var);
    if (it.kind == ir::IterKind::Reduction)
      out.reduced.push_back(i);
    else
      (in_a == in_b ? out.shared : in_a ? out.of_a : out.of_b).push_back(i);
  }
  if (out.of_a.empty() || out.of_b.empty()) return std::nullopt;
  return out;
}

std::optional<Stage> epilogue_of(const ir::LoopFunc& func, const Stage& producer) {
  std::optional<Stage> found;
  for (const ir::Param& p : func.params)
    if (producer.writes(p.buffer)) return std::nullopt;
  for (const Stage& s : stages_of(func)) {
    if (s.block == producer.block || !s.reads(producer.result())) continue;
    if (found || s.kind != StageKind::Map) return std::nullopt;
    const auto& iters = s.block->iters;
    for (const ir::Load* l : s.loads()) {
      if (l->buffer != producer.result()) continue;
      if (l->indices.size() != iters.size()) return std::nullopt;
      for (size_t d = 0; d < l->indices.size(); ++d) {
        const auto it = std::ranges::find_if(
            iters, [&](const ir::BlockIter& i) { return i.var == l->indices[d]; });
        if (it == iters.end() || !ir::equal(it->extent, l->buffer->shape[d])) return std::nullopt;
      }
      if (!iters.empty() && l->indices.back() != iters.back().var) return std::nullopt;
    }
    found = s;
  }
  return found;
}

bool reads_in_order(const Stage& stage, const ir::Buffer& buffer) {
  for (const ir::Load* l : stage.loads())
    for (size_t d = 0; l->buffer == buffer && d < l->indices.size(); ++d)
      if (l->indices[d] != stage.block->iters[d].var) return false;
  return true;
}

void as_vectors(Schedule& s, const LoopRef& loop, int64_t lanes) {
  const auto [outer, inner] = s.split<2>(loop, {kOpen, lanes});
  s.vectorize(inner);
  s.unroll(outer);
}

void keep_whole_vectors(Schedule& s, const Stage& stage, const BlockRef& block,
                        const std::string& buffer, size_t lane, int64_t lanes) {
  const auto known = ir::const_int(stage.block->iters[lane].extent);
  if (!known || *known % lanes == 0) return;  // symbolic ones are rounded up
  const auto& index = stage.block->body.as<ir::Update>()->targets[0].indices;
  std::vector<ir::Var> vars;
  std::vector<ir::Expr> places;
  ir::Expr last;
  for (size_t d = 0; d < index.size(); ++d) {
    vars.emplace_back(str("i", d));
    const bool is_lane = index[d] == stage.block->iters[lane].var;
    places.push_back(is_lane ? vars[d] / lanes : ir::Expr(vars[d]));
    if (is_lane) last = vars[d] % lanes;
  }
  places.push_back(last);
  s.transform_layout(block, buffer, {vars, places});
}

bool schedule_contraction(Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                          const std::vector<std::string>& constants, int64_t& vectors) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, name);
  const auto c = as_contraction(stage);
  if (!c) return false;
  const auto plan = best_plan(stage, *c, sizes, spec, constants, vectors);
  if (!plan) return false;
  vectors = plan->tile.vectors;
  std::optional<Stage> after = epilogue_of(func, stage);
  if (after && plan->turned && !reads_in_order(*after, stage.result())) after.reset();
  const bool lane_in_a = std::ranges::count(c->of_a, plan->lane) > 0;
  return attempt(s, [&] {
    pack_panels(s, stage, lane_in_a ? c->a : c->b, *plan, constants, spec);
    (plan->turned ? schedule_turned : schedule_straight)(s, stage, *plan, after, spec);
  });
}

}  // namespace tilewright::tune
