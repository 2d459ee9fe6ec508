// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/contraction.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/reducer.h"
#include "support/str.h"
#include "tune/choose/attempt.h"
#include "tune/choose/lanes.h"
#include "tune/choose/pack.h"
#include "tune/choose/plan.h"
#include "tune/choose/tile_products.h"

namespace tilewright::tune {

using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

std::optional<Contraction> as_contraction(const Stage& stage) {
  if (stage.kind != StageKind::Reduce) return std::nullopt;
  return as_contraction(*stage.block);
}

std::optional<Contraction> as_contraction(const ir::Block& block) {
  const auto* update = block.init ? block.body.as<ir::Update>() : nullptr;
  if (!update || ir::single_op(*update->reducer) != ir::BinaryOp::Add) return std::nullopt;
  const auto* product = update->values[0].as<ir::Binary>();
  if (!product || product->op != ir::BinaryOp::Mul || !ir::has_load(product->a) ||
      !ir::has_load(product->b))
    return std::nullopt;
  Contraction out{.a = product->a, .b = product->b};
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const ir::BlockIter& it = block.iters[i];
    const bool in_a = ir::uses(out.a, it.var), in_b = ir::uses(out.b, it.var);
    if (it.kind == ir::IterKind::Reduction)
      out.reduced.push_back(i);
    else
      (in_a == in_b ? out.shared : in_a ? out.of_a : out.of_b).push_back(i);
  }
  if (out.of_a.empty() || out.of_b.empty()) return std::nullopt;
  return out;
}

/// Is this the extent, or the extent in whole tiles?
static bool covers(const ir::Expr& padded, const ir::Expr& extent) {
  if (ir::equal(padded, extent)) return true;
  const auto all = ir::const_int(padded), some = ir::const_int(extent);
  return all && some ? *all > *some : !ir::const_int(extent) && !all;
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
        if (it == iters.end() || !covers(l->buffer->shape[d], it->extent)) return std::nullopt;
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

void pad_tiles(Schedule& s, const std::string& name,
               const std::vector<std::pair<size_t, int64_t>>& tiles, const ir::TargetSpec& spec,
               std::vector<std::string>& known) {
  const ir::LoopFunc before = s.func();
  const Stage stage = *find_stage(before, name);
  const auto& iters = stage.block->iters;
  std::vector<schedule::Number> multiples(iters.size(), 1);
  bool any = false;
  for (const auto& [iter, size] : tiles) {
    const auto extent = ir::const_int(iters[iter].extent);
    multiples[iter] = size;
    any = any || !extent || *extent % size != 0;
  }
  if (!any) return;
  for (const BlockRef& made : s.pad(s.block(name), multiples)) {
    known = with_derived(s.func(), known);
    const ir::LoopFunc func = s.func();
    const Stage copy = *find_stage(func, made.name);
    if (copy.result() == stage.result())  // into the stage that follows, if one does
      attempt(s, [&] { s.compute_inline(made); });
    else if (std::ranges::count(known, copy.result()->name) == 0)
      schedule_map(s, made.name, spec);
  }
}

/// Runs the stage as planned.
static void run_plan(Schedule& s, const std::string& name, Plan plan,
                     std::vector<std::string> constants, const ir::TargetSpec& spec,
                     Choices& choices) {
  if (plan.dot) {
    const ir::LoopFunc func = s.func();
    std::vector<std::pair<size_t, int64_t>> tiles;
    if (!plan.wide) tiles.push_back({plan.lane, plan.width()});
    // A tail of rows is only fewer calls, where it is known.
    if (!ir::const_int(find_stage(func, name)->block->iters[plan.row].extent))
      tiles.push_back({plan.row, plan.tile.rows});
    pad_tiles(s, name, tiles, spec, constants);
  }
  const ir::LoopFunc func = s.func();
  const Stage stage = *find_stage(func, name);
  const Contraction c = *as_contraction(stage);
  std::optional<Stage> after = epilogue_of(func, stage);
  if (after && plan.turned && !reads_in_order(*after, stage.result())) after.reset();
  const bool lane_in_a = std::ranges::count(c.of_a, plan.lane) > 0;
  plan.panels = pack_panels(s, stage, lane_in_a ? c.a : c.b, plan, constants, spec);
  pack_constant_rows(s, stage, lane_in_a ? c.b : c.a, plan, constants, spec);
  (plan.turned ? schedule_turned : schedule_straight)(s, stage, plan, after, spec, choices);
}

bool schedule_contraction(Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                          const std::vector<std::string>& constants, Choices& choices) {
  const ir::LoopFunc func = s.func();
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, name);
  const auto c = as_contraction(stage);
  if (!c) return false;
  if (schedule_tiles(s, name, spec, constants, choices)) return true;
  const auto done = [&](bool dots) {
    const auto plan = choose_plan(stage, *c, sizes, spec, constants, dots, choices);
    if (!plan || !attempt(s, [&] { run_plan(s, name, *plan, constants, spec, choices); }))
      return false;
    choices.vectors[name] = plan->tile.vectors;
    choices.rows[name] = plan->tile.rows;
    return true;
  };
  return done(true) || done(false);
}

}  // namespace tilewright::tune
