// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/transpose.h"

#include <algorithm>
#include <set>

#include "arith/affine.h"
#include "ir/build.h"
#include "tune/choose/moves.h"
#include "tune/choose/plan.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {

using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

// Rows of a block: fewer than 8 cost more in loads and stores than they save, and more than 16 do
// not fit the registers.
constexpr int64_t kLeastBlock = 8, kMostBlock = 16;

/// Does one index alone follow the variable, element by element?
bool steps_along(const ir::Load& l, const ir::Var& var) {
  const auto uses = [&](const ir::Expr& e) { return ir::uses(e, var); };
  if (std::ranges::count_if(l.indices, uses) != 1) return false;
  const auto form = arith::affine_of(*std::ranges::find_if(l.indices, uses));
  return form && form->coefficient(var) == 1;
}

std::set<std::string> stage_names(const Schedule& s) {
  std::set<std::string> out;
  for (const Stage& stage : stages_of(s.func())) out.insert(stage.name());
  return out;
}

/// Cuts a loop of the stage where its pieces end; the stages of the pieces, in their order.
std::vector<std::string> in_pieces(Schedule& s, const std::string& name, size_t loop,
                                   const std::vector<Piece>& pieces) {
  if (pieces.size() == 1) return {name};
  const std::set<std::string> before = stage_names(s);
  std::vector<schedule::Number> points;
  for (size_t i = 1; i < pieces.size(); ++i) points.push_back(pieces[i].begin);
  s.partition(s.loops(name)[loop], points);
  std::vector<std::string> out;
  for (const Stage& stage : stages_of(s.func()))
    if (stage.name() == name || !before.contains(stage.name())) out.push_back(stage.name());
  return out;
}

/// One piece, whose outer loops are those of the lanes and the columns.
void in_blocks(Schedule& s, const std::string& name, const Transposition& turned, int64_t lanes,
               int64_t columns, const ir::TargetSpec& spec) {
  const ir::LoopFunc func = s.func();
  const double work = find_stage(func, name)->work(Sizes(func));
  const std::vector<LoopRef> loops = s.loops(name);
  const auto [l0, l1] = s.split<2>(loops[0], {kOpen, lanes});
  const auto [c0, c1] = s.split<2>(loops[1], {kOpen, columns});
  std::vector<LoopRef> order(loops.begin() + 2, loops.end());
  order.insert(order.end(), {c0, l0, c1, l1});
  s.reorder(order);
  if (lanes > 1 && columns > 1)
    for (const std::string& buffer : turned.buffers) {
      const auto rows = s.cache_read(s.block(name), buffer, ir::ScopeKind::Register);
      s.compute_at(rows, l0);
      const std::vector<LoopRef> copy = s.loops(rows);
      s.vectorize(copy.back());
      for (size_t i = order.size() - 2; i + 1 < copy.size(); ++i) s.unroll(copy[i]);
    }
  s.unroll(c1);
  s.vectorize(l1);
  run_parallel(s, name, order.size() - 2, work, spec);
}

}  // namespace

std::optional<Transposition> transposition_of(const Stage& stage, size_t lane, const Sizes& sizes) {
  const auto& iters = stage.block->iters;
  const auto is_long = [&](size_t i) {
    return ir::const_int(iters[i].extent).value_or(0) >= kLeastBlock;
  };
  bool guarded = false;
  for (const ir::Expr& value : stage.values())
    ir::walk(value, [&](const ir::Guard&) { guarded = true; });
  if (guarded || !is_single_store(stage) || !is_long(lane)) return std::nullopt;
  std::optional<Transposition> out;
  const std::vector<const ir::Load*> loads = stage.loads();
  for (const ir::Load* l : loads) {
    const auto step = stride(l->buffer, l->indices, iters[lane].var, sizes);
    const auto same = [&](const ir::Load* other) { return other->buffer == l->buffer; };
    if (!step || *step < kLeastBlock || std::ranges::count_if(loads, same) != 1 ||
        !steps_along(*l, iters[lane].var))
      continue;
    for (size_t i = 0; i < iters.size(); ++i) {
      if (i == lane || !is_long(i) || (out && out->column != i) ||
          stride(l->buffer, l->indices, iters[i].var, sizes) != 1 ||
          !steps_along(*l, iters[i].var) || !ir::uses(l->indices.back(), iters[i].var))
        continue;
      if (!out) out = Transposition{lane, i, {}};
      out->buffers.push_back(l->buffer->name);
      break;
    }
  }
  return out;
}

void schedule_transposition(Schedule& s, const Stage& stage, const Transposition& turned,
                            int64_t lanes, const ir::TargetSpec& spec) {
  const int64_t block = std::clamp(lanes, kLeastBlock, kMostBlock);
  const auto& iters = stage.block->iters;
  const auto pieces = [&](size_t i) { return pieces_of(*ir::const_int(iters[i].extent), block); };
  const std::vector<Piece> rows = pieces(turned.lane), columns = pieces(turned.column);
  const std::vector<LoopRef> loops = s.loops(stage.name());
  std::vector<LoopRef> order = {loops[turned.lane], loops[turned.column]};
  for (size_t i = 0; i < loops.size(); ++i)
    if (i != turned.lane && i != turned.column) order.push_back(loops[i]);
  s.reorder(order);
  const std::vector<std::string> across = in_pieces(s, stage.name(), 0, rows);
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::vector<std::string> parts = in_pieces(s, across[r], 1, columns);
    for (size_t c = 0; c + 1 < parts.size(); ++c) s.fission(s.loops(parts[c])[0], 1);
    for (size_t c = 0; c < parts.size(); ++c)
      in_blocks(s, parts[c], turned, rows[r].lanes, columns[c].lanes, spec);
  }
}

}  // namespace tilewright::tune
