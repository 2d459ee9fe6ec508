// SPDX-License-Identifier: Apache-2.0
// vectorize, unroll, parallel, bind, vthread: how the iterations of a loop run.
#include "ir/build.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

void require_constant_extent(const ir::For& loop, int64_t most, std::string_view step) {
  const std::optional<int64_t> extent = ir::const_int(loop.extent);
  if (extent && *extent >= 1 && *extent <= most) return;
  throw Error({.code = "schedule.loop.extent",
               .message = str("cannot ", step, " `", loop.var.name(), "`"),
               .notes = {extent ? str("it has ", *extent, " iterations, the limit is 1 to ", most)
                                : str("its extent ", print(loop.extent), " is not a constant")},
               .help = str("split the loop by a constant and ", step, " the inner part")});
}

/// A reduction that starts inside its own vector has no single first lane to start in.
void require_no_carried_init(const Program& program, const ir::For& loop) {
  const auto asked = [](const Access& a, const Access&) { return a.block && a.block->init; };
  for (const Conflict& c : Conflicts(loop, program, asked).across(loop)) {
    throw Error({.code = "schedule.vectorize.init",
                 .message = str("cannot vectorize `", loop.var.name(), "`"),
                 .notes = {str("it reduces in block `", c.first.block->name,
                               "`, which still holds its own init")},
                 .help = "split the init off with decompose_reduction first"});
  }
}

}  // namespace

Results Vectorize::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, name);
  require_constant_extent(i, 1024, name);
  require_independent(program, i, /*allow_reductions=*/true, name);
  require_no_carried_init(program, i);
  set_kind(program, i, ir::ForKind::Vectorized, {}, name);
  return {};
}

Results Unroll::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, name);
  require_constant_extent(i, 4096, name);
  set_kind(program, i, ir::ForKind::Unrolled, {}, name);
  return {};
}

Results Parallel::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, name);
  require_independent(program, i, /*allow_reductions=*/false, name);
  set_kind(program, i, ir::ForKind::Parallel, {}, name);
  return {};
}

Results Bind::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, name);
  require_independent(program, i, /*allow_reductions=*/false, name);
  set_kind(program, i, ir::ForKind::Bound, axis, name);
  return {};
}

Results VThread::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, name);
  require_constant_extent(i, 64, name);
  require_independent(program, i, /*allow_reductions=*/false, name);
  set_kind(program, i, ir::ForKind::VThread, {}, name);
  return {};
}

}  // namespace tilewright::schedule
