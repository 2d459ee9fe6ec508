// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/inits.h"

#include <algorithm>

#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "tune/choose/moves.h"

namespace tilewright::tune {
namespace {

using ir::Expr;
using ir::Stmt;

/// The update of a reduction that one store begins, and that stage.
struct Begun {
  const ir::Update* update;
  const ir::Store* store;
};

/// Is `init` the stage that stores the identity for the reduction that follows it?
std::optional<Begun> begun_by(const Stage& init, const Stage& sum) {
  const auto* update = sum.block->body.as<ir::Update>();
  if (sum.kind != StageKind::Reduce || sum.block->init || !update || update->targets.size() != 1 ||
      !is_single_store(init) || !stores_in_order(init))
    return std::nullopt;
  const auto* store = init.block->body.as<ir::Store>();
  const ir::Target& target = update->targets[0];
  if (store->buffer != target.buffer || target.indices.size() != store->indices.size() ||
      !ir::equal(store->value, update->reducer->identity[0]))
    return std::nullopt;
  const auto& iters = sum.block->iters;
  size_t results = 0;
  for (const ir::BlockIter& it : iters) results += it.kind == ir::IterKind::Spatial;
  for (size_t d = 0; d < target.indices.size(); ++d)
    if (d >= iters.size() || target.indices[d] != iters[d].var ||
        !ir::equal(iters[d].extent, init.block->iters[d].extent))
      return std::nullopt;
  if (results != target.indices.size()) return std::nullopt;
  return Begun{update, store};
}

/// The reduction with its first store inside, over one term at least.
Stmt with_init(const Stage& sum, const Begun& begun, const arith::Context& context) {
  const ir::Block& block = *sum.block;
  std::vector<ir::BlockIter> iters = block.iters;
  Expr there;  // the condition under which a term is one
  for (ir::BlockIter& it : iters) {
    if (it.kind != ir::IterKind::Reduction || context.can_prove(it.extent >= 1)) continue;
    const Expr inside = it.var < it.extent;
    there = there ? ir::logical_and(there, inside) : inside;
    it.extent = ir::max(it.extent, Expr(1));
  }
  const Expr& identity = begun.update->reducer->identity[0];
  const Stmt init = ir::make_stmt<ir::Store>(begun.store->span, begun.update->targets[0].buffer,
                                             begun.update->targets[0].indices, identity);
  const Stmt update = ir::with(*begun.update, [&](ir::Update& u) {
    if (there) u.values[0] = ir::guard(there, u.values[0], identity);
  });
  Stmt out = ir::with(block, [&](ir::Block& b) {
    b.iters = iters;
    b.init = init;
    b.body = update;
  });
  for (size_t i = sum.loops.size(); i-- > 0;)
    out = ir::with(*sum.loops[i], [&](ir::For& f) {
      f.extent = iters[i].extent;
      f.body = out;
    });
  return out;
}

Stmt nest_of(const Stage& stage) {
  return stage.loops.empty() ? Stmt::of(*stage.block) : Stmt::of(*stage.loops[0]);
}

}  // namespace

ir::LoopFunc with_inits_inside(const ir::LoopFunc& blocks) {
  const arith::Context context(blocks);
  const std::vector<Stage> stages = stages_of(blocks);
  std::vector<std::pair<Stmt, Stmt>> now;  // nests and what takes their places
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    const auto begun = begun_by(stages[i], stages[i + 1]);
    if (!begun) continue;
    now.emplace_back(nest_of(stages[i]), ir::nothing());
    now.emplace_back(nest_of(stages[i + 1]), with_init(stages[i + 1], *begun, context));
  }
  if (now.empty()) return blocks;
  return blocks.with_body(with_stages(
      blocks, [](const ir::Buffer& b) { return b; },
      [&](const Stage& stage) {
        const Stmt nest = nest_of(stage);
        const auto found = std::ranges::find(now, nest, [](const auto& p) { return p.first; });
        return found == now.end() ? nest : found->second;
      }));
}

}  // namespace tilewright::tune
