// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

[[noreturn]] void refuse(const ir::Block& block, const ir::For& loop, const std::string& note,
                         const std::string& help) {
  throw Error({.code = "schedule.rfactor.loop",
               .message = str("cannot keep partial results of block `", block.name, "` along `",
                              loop.var.name(), "`"),
               .notes = {note},
               .help = help});
}

/// The loop serves reductions alone, and the reduction's other loops have ranges of their own.
void check_loop(const Program& program, const ir::Block& b, const ir::For& loop) {
  if (!b.body.as<ir::Update>() || b.opaque)
    refuse(b, loop, "the block is no reduction", "name a block that reduces");
  bool serves = false;
  for (const ir::BlockIter& it : b.iters) {
    if (it.kind == ir::IterKind::Ordered)
      refuse(b, loop, str("its iterator `", it.var.name(), "` is ordered"),
             "keep partial results before rolling_buffer, and of no scan");
    if (!uses(it.binding, loop.var)) continue;
    serves = true;
    if (it.kind != ir::IterKind::Reduction)
      refuse(b, loop, str("it serves the iterator `", it.var.name(), "`, which does not reduce"),
             "name a loop of the reduction");
  }
  if (!serves)
    refuse(b, loop, "it serves no iterator of the block", "name a loop of the reduction");
  for (const ir::For* l : program.loops_around(b))
    if (uses(l->extent, loop.var) || uses(l->min, loop.var) ||
        (l == &loop && !ir::is_const(l->min, 0)))
      refuse(b, loop,
             str("the range of `", l->var.name(), "` does not start at 0 or depends on it"),
             "use loops that split makes");
  for (const ir::Region& w : b.writes)
    if (w.buffer->layout) refuse(b, loop, "its result has a layout", "set the layout afterwards");
}

ir::Buffer with_extra_dim(const ir::Buffer& b, const Expr& extent) {
  std::vector<Expr> shape = b->shape;
  shape.push_back(extent);
  return ir::make_buffer(b->name + "_rf", b->elem, shape);
}

template <class T>
std::vector<T> appended(std::vector<T> all, T last) {
  all.push_back(std::move(last));
  return all;
}

}  // namespace

Results RFactor::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  const ir::For& k = program.loop(loop);
  require_outside_of_blocks(program, b, name);
  check_loop(program, b, k);
  const auto& update = *b.body.as<ir::Update>();
  const Stmt nest = nest_of(program, b);
  // The partial results start once for the nest: nothing in it may be computed again.
  for (const ir::For* l : program.loops_around(b))
    if (contains(nest, Stmt::of(*l)) && !ir::is_const(l->extent, 1) &&
        std::ranges::none_of(b.iters,
                             [&](const ir::BlockIter& it) { return uses(it.binding, l->var); }))
      refuse(b, k, str("the loop `", l->var.name(), "` around it computes the same again"),
             "keep partial results before compute_at, or compute it once");
  if (!contains(nest, Stmt::of(k)))
    refuse(b, k, "the loop holds more than this block", "use it before moving other blocks there");

  if (b.init && !starts_below(program, b, nest))
    refuse(b, k, "the reduction starts in other loops",
           "use it before partition cuts the reduction");

  // Iterators of the partial block: the spatial ones, the loop as a new spatial one, and for each
  // reduction that the loop serves the remaining loops in its place.
  const ir::Var lane("v" + k.var.name());
  ir::VarMap values;  // old reduction iterators in terms of the new ones
  std::vector<ir::BlockIter> iters;
  std::vector<ir::BlockIter> kept;
  ir::VarMap loop_iters{{k.var, lane}};
  for (const ir::BlockIter& it : b.iters) {
    if (!uses(it.binding, k.var)) {
      iters.push_back(it);
      continue;
    }
    for (const ir::For* l : program.loops_around(b)) {
      if (l == &k || !uses(it.binding, l->var) || loop_iters.contains(l->var)) continue;
      const ir::Var v("v" + l->var.name());
      loop_iters[l->var] = v;
      kept.push_back({v, ir::IterKind::Reduction, l->extent, l->var});
    }
  }
  iters.push_back({lane, ir::IterKind::Spatial, k.extent, k.var});
  iters.insert(iters.end(), kept.begin(), kept.end());
  Expr predicate = b.predicate;
  Path outside = program.path_to(nest);
  outside.pop_back();
  const arith::Context context = program.context_at(outside);
  for (const ir::BlockIter& it : b.iters) {
    if (!uses(it.binding, k.var)) continue;
    values[it.var] = ir::substitute(it.binding, loop_iters);
  }
  if (predicate) predicate = ir::substitute(ir::substitute(predicate, values), loop_iters);

  std::vector<ir::Target> partial;
  std::vector<ir::Region> partial_writes, reads;
  std::vector<ir::Buffer> buffers;
  for (size_t i = 0; i < update.targets.size(); ++i) {
    const ir::Buffer rf = with_extra_dim(update.targets[i].buffer, k.extent);
    buffers.push_back(rf);
    partial.push_back({rf, appended<Expr>(update.targets[i].indices, lane)});
  }
  for (const ir::Target& t : partial) {
    ir::Region r{.buffer = t.buffer, .ranges = {}, .rank = {}};
    for (const Expr& e : t.indices) r.ranges.push_back({e, 1});
    partial_writes.push_back(std::move(r));
  }
  std::vector<Expr> terms;
  for (const Expr& v : update.values) terms.push_back(ir::substitute(v, values));
  for (const ir::Region& r : b.reads) reads.push_back(ir::substitute(r, values));
  const std::string partial_name = program.fresh_block_name(b.name + "_rf");
  const Stmt partial_block = ir::make_stmt<ir::Block>(
      b.span, partial_name, iters, predicate, reads, partial_writes, nullptr,
      ir::make_stmt<ir::Update>(update.span, update.reducer, partial, terms));

  if (const std::string why = why_not_exact(program, b, nest); !why.empty())
    refuse(b, k, why, "use it on a block whose loops fill a whole box");
  // Every partial result starts at the identity, also those that no term reaches.
  Placement placement;
  const std::vector<ir::Range> domain = iterated(program, b, nest);
  for (size_t i = 0; i < b.iters.size(); ++i)
    if (b.iters[i].kind == ir::IterKind::Spatial) placement.domain.push_back(domain[i]);
  placement.domain.push_back({0, k.extent});
  const auto full_nest = [&](std::vector<ir::BlockIter> its, const std::string& block_name,
                             std::vector<ir::Region> block_reads, std::vector<ir::Region> writes,
                             const Stmt& init, const Stmt& body) {
    const Stmt made =
        ir::make_stmt<ir::Block>(b.span, block_name, its, nullptr, block_reads, writes, init, body);
    return place_block(*made.as<ir::Block>(), placement, nullptr, context);
  };
  ir::VarMap init_vars, final_vars;
  std::vector<ir::BlockIter> init_iters, final_iters;
  for (const ir::BlockIter& it : b.iters) {
    if (it.kind != ir::IterKind::Spatial) continue;
    const ir::Var vi(it.var.name()), vf(it.var.name());
    init_vars[it.var] = vi;
    final_vars[it.var] = vf;
    init_iters.push_back({vi, it.kind, it.extent, vi});
    final_iters.push_back({vf, it.kind, it.extent, vf});
  }
  const ir::Var init_lane(lane.name()), final_lane(lane.name());
  init_iters.push_back({init_lane, ir::IterKind::Spatial, k.extent, init_lane});
  final_iters.push_back({final_lane, ir::IterKind::Reduction, k.extent, final_lane});
  init_vars[lane] = init_lane;
  final_vars[lane] = final_lane;
  std::vector<Stmt> init_stores;
  std::vector<ir::Region> init_writes, final_reads, final_writes;
  std::vector<ir::Target> final_targets;
  std::vector<Expr> final_terms;
  for (size_t i = 0; i < partial.size(); ++i) {
    std::vector<Expr> at_init, at_final, target;
    for (const Expr& e : partial[i].indices) at_init.push_back(ir::substitute(e, init_vars));
    for (const Expr& e : partial[i].indices) at_final.push_back(ir::substitute(e, final_vars));
    for (const Expr& e : update.targets[i].indices) target.push_back(ir::substitute(e, final_vars));
    init_stores.push_back(
        ir::make_stmt<ir::Store>({}, buffers[i], at_init, update.reducer->identity[i]));
    init_writes.push_back(ir::substitute(partial_writes[i], init_vars));
    final_reads.push_back(ir::substitute(partial_writes[i], final_vars));
    final_terms.push_back(ir::load(buffers[i], at_final));
    ir::Region w{.buffer = update.targets[i].buffer, .ranges = {}, .rank = {}};
    for (const Expr& e : target) w.ranges.push_back({e, 1});
    final_writes.push_back(std::move(w));
    final_targets.push_back({update.targets[i].buffer, target});
  }
  const std::string init_name = program.fresh_block_name(b.name + "_rf_init");
  const Stmt init_nest =
      full_nest(init_iters, init_name, {}, init_writes, nullptr, ir::seq(init_stores));
  const Stmt final_init = b.init ? ir::substitute(b.init, final_vars) : Stmt();
  const Stmt final_nest =
      full_nest(final_iters, b.name, final_reads, final_writes, final_init,
                ir::make_stmt<ir::Update>(update.span, update.reducer, final_targets, final_terms));

  const std::string combined = b.name;
  program.replace(b, partial_block);
  const Stmt now = nest_of(program, *program.find_block(partial_name));
  Stmt all = ir::seq({init_nest, now, final_nest});
  for (size_t i = buffers.size(); i-- > 0;) all = ir::make_stmt<ir::Alloc>({}, buffers[i], all);
  program.replace(now, all);
  return {BlockResult{partial_name}, BlockResult{combined}};
}

}  // namespace tilewright::schedule
