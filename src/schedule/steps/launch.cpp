// SPDX-License-Identifier: Apache-2.0
// persistent, cluster: how the blocks of a kernel share the work.
#include "ir/build.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

using ir::Expr;

Results Persistent::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_outside_of_blocks(program, i, name);
  const int64_t number = program.value(count);
  if (number < 1 || number > (int64_t{1} << 20))
    throw Error({.code = "schedule.persistent.count",
                 .message = str("cannot give `", i.var.name(), "` to ", number, " workers"),
                 .notes = {},
                 .help = "use 1 to 2^20 workers"});
  require_serial(i, name);
  require_independent(program, i, /*allow_reductions=*/false, name);
  const ir::Var worker(str(i.var.name(), "_0")), turn(str(i.var.name(), "_1"));
  const arith::Context context = program.context_at(program.path_to(i));
  const Expr turns = context.simplify(ir::ceil_div(i.extent, number));
  const Expr index = turn * number + worker;
  ir::Stmt body = ir::substitute(i.body, i.var, i.min + index);
  if (!context.can_prove_equal(turns * number, i.extent)) body = guarded(body, index < i.extent);
  body = ir::make_stmt<ir::For>(i.span, turn, Expr(0), turns, body);
  program.replace(i, ir::make_stmt<ir::For>(i.span, worker, Expr(0), Expr(number), body));
  // Their independence is that of the iterations, known above.
  const ir::For& all = *find_loop(program.func().body, worker);
  set_kind(program, all, workers.axis ? ir::ForKind::Bound : ir::ForKind::Parallel,
           workers.axis.value_or(ir::ThreadAxis{}), name);
  return {LoopResult{worker}, LoopResult{turn}};
}

Results Cluster::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_outside_of_blocks(program, i, name);
  const auto refuse = [&](const char* code, const std::string& note, const std::string& help) {
    throw Error({.code = code,
                 .message = str("cannot make `", i.var.name(), "` the ranks of a cluster"),
                 .notes = {note},
                 .help = help});
  };
  if (axis < ir::ThreadAxis::ClusterX || axis > ir::ThreadAxis::ClusterZ)
    refuse("schedule.cluster.axis", str(ir::name(axis), " is no axis of a cluster"),
           "use cluster.x, cluster.y or cluster.z");
  constexpr int64_t kMost = 16;  // blocks that hardware runs together
  const auto ranks_of = [&](const ir::For& f) {
    const std::optional<int64_t> extent = ir::const_int(f.extent);
    if (!extent || *extent < 1 || *extent > kMost)
      refuse("schedule.cluster.extent",
             extent ? str("`", f.var.name(), "` has ", *extent, " iterations")
                    : str("its extent ", print(f.extent), " is not a constant"),
             "split off a constant part of 1 to 16 iterations");
    return *extent;
  };
  int64_t ranks = ranks_of(i);
  for (const ir::For* l : program.loops_around(i))
    if (l->loop == ir::ForKind::Bound && l->axis >= ir::ThreadAxis::ClusterX &&
        l->axis <= ir::ThreadAxis::ClusterZ)
      ranks *= ranks_of(*l);
  if (ranks > kMost)
    refuse("schedule.cluster.extent",
           str("with the loops around it a cluster would have ", ranks, " blocks"),
           "keep a cluster to 16 blocks");
  for (const Access& a : accesses_of(i.body))
    if (a.condition && uses(a.condition, i.var))
      refuse("schedule.cluster.tail",
             str("`", a.region.buffer->name, "` is touched only where ", print(a.condition)),
             "split the loop by a factor that divides it: all ranks of a cluster have work");
  for (const Access& a : accesses_of(i.body)) {
    const ir::Alloc* alloc = a.is_private ? nullptr : allocation_of(program, a.region.buffer);
    const ir::ScopeKind scope = a.region.buffer->scope.kind;
    if (alloc && scope != ir::ScopeKind::Global && scope != ir::ScopeKind::Constant &&
        scope != ir::ScopeKind::Cluster && scope != ir::ScopeKind::Named)
      refuse("schedule.cluster.scope",
             str("`", a.region.buffer->name, "` lives in `", print(a.region.buffer->scope),
                 "` outside of the loop"),
             "every rank has memory of its own: compute its producer inside of the loop");
  }
  return Bind{loop, axis}.apply(program);
}

}  // namespace tilewright::schedule
