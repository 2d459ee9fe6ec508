// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

[[noreturn]] void refuse(const ir::Block& block, const char* code, const std::string& note,
                         const std::string& help) {
  throw Error({.code = code,
               .message = str("cannot compute block `", block.name, "` at the root"),
               .notes = {note},
               .help = help});
}

/// Every load of the expression, with the condition of the guards around it (may be null).
void each_load(const Expr& e, const Expr& condition,
               FunctionRef<void(const ir::Load&, const Expr&)> f) {
  if (const auto* l = e.as<ir::Load>()) f(*l, condition);
  if (const auto* g = e.as<ir::Guard>(); g && !has_load(g->cond)) {
    each_load(g->yes, ir::both(condition, g->cond), f);
    each_load(g->no, ir::both(condition, ir::logical_not(g->cond)), f);
    return;
  }
  ir::for_each_child(e, [&](const Expr& child) { each_load(child, condition, f); });
}

/// The whole domain is to run, not just what the consumers' loops ask for: everything that it reads
/// must exist, and be there.
void check_inputs(const Program& program, const ir::Block& p, const Stmt& top) {
  arith::Context inside = context_outside(program, top);
  std::vector<ir::Var> vars;
  for (const ir::BlockIter& it : p.iters) {
    inside.bind(it.var, 0, it.extent);
    vars.push_back(it.var);
  }
  const auto check = [&](const ir::Load& l, const Expr& condition) {
    arith::Context here = inside;
    if (condition) here.assume(condition);
    ir::Region region{.buffer = l.buffer, .ranges = {}, .rank = {}};
    for (size_t d = 0; d < l.indices.size(); ++d) {
      if (!here.can_prove(Expr(0) <= l.indices[d]) ||
          !here.can_prove(l.indices[d] < l.buffer->shape[d]))
        refuse(p, "schedule.compute_root.range",
               str("`", l.buffer->name, "` would be read at ", print(l.indices[d]),
                   ", which may lie outside of dimension ", d),
               "compute at the root what is valid for all values of its iterators");
      region.ranges.push_back({l.indices[d], 1});
    }
    region = arith::widen(region, vars, here);
    if (!is_written_before(program, region, top, inside))
      refuse(p, "schedule.compute_root.input",
             str("not all of ", print(region), " is known to be written before the loops"),
             "compute its inputs at the root first");
  };
  std::vector<Expr> values;
  if (const auto* store = p.body.as<ir::Store>())
    values = {store->value};
  else if (const auto* update = p.body.as<ir::Update>())
    values = update->values;
  else
    refuse(p, "schedule.compute_root.body", "its body is not one assignment or reduction",
           "move blocks that compute one element");
  for (const Expr& value : values) each_load(value, {}, check);
  if (p.init)
    ir::walk(p.init, [&](const ir::Load& l) {
      refuse(p, "schedule.compute_root.body", str("its init reads `", l.buffer->name, "`"),
             "move reductions that start from a constant");
    });
}

/// The block alone writes its results, and nothing reads them before the loops.
void check_uses(const Program& program, const ir::Block& p, const Stmt& top) {
  const auto in = [](const std::vector<ir::Region>& regions, const ir::Buffer& b) {
    return std::any_of(regions.begin(), regions.end(),
                       [&](const ir::Region& r) { return r.buffer == b; });
  };
  for (const Access& a : accesses_of(program.func().body)) {
    if (a.block == &p) {
      if (!a.write && in(p.writes, a.region.buffer))
        refuse(p, "schedule.compute_root.writer",
               str("it reads its own result `", a.region.buffer->name, "`"),
               "move a block that only writes its result");
      continue;
    }
    const bool before = a.block && stands_before(program, Stmt::of(*a.block), top);
    const std::string who = a.block ? str("block `", a.block->name, "`") : "a plain statement";
    if (in(p.writes, a.region.buffer) && (a.write || !a.block || before))
      refuse(p, "schedule.compute_root.writer",
             str("`", a.region.buffer->name, "` is ",
                 a.write ? "written by " : "read before or outside of blocks by ", who),
             "move a block that alone writes its result");
    if (a.write && in(p.reads, a.region.buffer) && !before)
      refuse(p, "schedule.compute_root.input",
             str("`", a.region.buffer->name, "`, which it reads, is written by ", who,
                 ", not before the loops"),
             "compute its inputs at the root first");
  }
}

/// Between the root and the block nothing may be bound that the block mentions, and no threads may
/// start that own its results.
void check_place(const Program& program, const ir::Block& p, const Stmt& top) {
  const Stmt bare = ir::with(p, [](ir::Block& b) {
    for (ir::BlockIter& it : b.iters) it.binding = 0;
    b.predicate = nullptr;
  });
  const Path path = program.path_to(p);
  for (auto s = std::find(path.begin(), path.end(), top); s != path.end(); ++s) {
    const auto* loop = s->as<ir::For>();
    const auto* let = s->as<ir::Let>();
    if (!loop && !let) continue;
    const ir::Var var = loop ? loop->var : let->var;
    bool mentions = uses(bare, var);
    for (const ir::Region& w : p.writes)
      for (const Expr& extent : w.buffer->shape) mentions = mentions || uses(extent, var);
    if (mentions)
      refuse(p, "schedule.compute_root.scope", str("it depends on `", var.name(), "` directly"),
             "move blocks that depend on their own iterators only");
    const bool concurrent =
        loop && (loop->loop == ir::ForKind::Bound || loop->loop == ir::ForKind::Parallel ||
                 loop->loop == ir::ForKind::VThread);
    for (const ir::Region& w : p.writes)
      if (concurrent && w.buffer->scope.kind != ir::ScopeKind::Global)
        refuse(p, "schedule.compute_root.threads",
               str("`", w.buffer->name, "` is ", print(w.buffer->scope),
                   " memory of the threads of `", loop->var.name(), "`"),
               "move the block before giving its result a scope");
  }
}

}  // namespace

Results ComputeRoot::apply(Program& program) const {
  const ir::Block& p = program.block(block);
  require_outside_of_blocks(program, p, name);
  require_plain_result(p, "compute at the root");
  const Stmt nest = nest_of(program, p);
  const Path path = program.path_to(nest);
  const Stmt top = *std::find_if(path.begin(), path.end(), [](const Stmt& s) {
    return !s.as<ir::Seq>() && !s.as<ir::Alloc>() && !s.as<ir::Let>();
  });
  if (top == nest) return {};  // it is there
  for (const ir::Region& w : p.writes)
    if (param_of(program.func(), w.buffer))
      refuse(p, "schedule.compute_root.output",
             str("`", w.buffer->name, "` is a result of the function"),
             "move intermediate results only");
  for (const ir::BlockIter& it : p.iters)
    if (it.kind == ir::IterKind::Ordered)
      refuse(p, "schedule.compute_root.ordered",
             str("its iterator `", it.var.name(), "` is ordered"), "move blocks without a scan");
  if (p.body.as<ir::Update>() && (!p.init || !starts_below(program, p, nest)))
    refuse(p, "schedule.compute_root.init", "its reduction starts elsewhere",
           "move the block before decompose_reduction or partition cuts it");
  if (const std::string why = why_not_whole(program, p, nest); !why.empty())
    refuse(p, "schedule.compute_root.loops", why,
           "move a block before cutting its loops in other ways than split and fuse do");
  check_place(program, p, top);
  check_uses(program, p, top);
  check_inputs(program, p, top);

  Placement placement;
  for (const ir::BlockIter& it : p.iters) placement.domain.push_back({0, it.extent});
  const Stmt moved = place_block(p, placement, nullptr, context_outside(program, top));
  insert_before(program, top, moved);
  remove(program, nest);
  widen_allocations(program);
  return {};
}

}  // namespace tilewright::schedule
