// SPDX-License-Identifier: Apache-2.0
#include "schedule/loop_checks.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

/// split y by the group, order [band, x, row], fuse: the last band may have fewer rows, which the
/// split's predicate leaves out.
Results SwizzleOrder::apply(Program& program) const {
  const ir::For& rows = program.loop(y);
  const ir::For& columns = program.loop(x);
  require_outside_of_blocks(program, rows, name);
  const auto refuse = [&](const std::string& note, const std::string& help) {
    throw Error({.code = "schedule.swizzle_order.loops",
                 .message = str("cannot swizzle the order of `", rows.var.name(), "` and `",
                                columns.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  };
  require_serial(rows, name);
  require_serial(columns, name);
  if (rows.body != ir::Stmt::of(columns))
    refuse(str("`", columns.var.name(), "` is not all that `", rows.var.name(), "` holds"),
           "name two loops that stand directly inside each other, the outer one first");
  if (uses(columns.min, rows.var) || uses(columns.extent, rows.var))
    refuse(str("the range of `", columns.var.name(), "` depends on `", rows.var.name(), "`"),
           "swizzle a rectangular grid");
  if (group.open || program.value(group) < 1)
    refuse("a group has at least one row", "give the number of rows in a band");
  require_independent(program, rows, /*allow_reductions=*/false, name);
  require_independent(program, columns, /*allow_reductions=*/false, name);

  const Results bands = Split{y, {Number::open_one(), group}}.apply(program);
  program.name("swizzle.band", bands[0]);
  program.name("swizzle.row", bands[1]);
  Reorder{{x, {"swizzle.row"}}}.apply(program);
  return Fuse{{{"swizzle.band"}, x, {"swizzle.row"}}}.apply(program);
}

}  // namespace tilewright::schedule
