// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "schedule/loop_checks.h"
#include "schedule/nests.h"
#include "schedule/slots.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

Results DoubleBuffer::apply(Program& program) const {
  const ir::For& k = program.loop(loop);
  require_outside_of_blocks(program, k, name);
  require_serial(k, name);
  OpenBody body = open_body(k.body);
  ir::Buffer found;
  std::string known;
  std::vector<ir::Buffer> others;
  for (const ir::Buffer& b : body.buffers) {
    known += (known.empty() ? "`" : ", `") + b->name + "`";
    if (b->name == buffer && !found)
      found = b;
    else
      others.push_back(b);
  }
  if (!found)
    throw Error(
        {.code = "schedule.double_buffer.buffer",
         .message = str("cannot double-buffer `", buffer, "` in `", k.var.name(), "`"),
         .notes = {str("an iteration of the loop allocates ", known.empty() ? "nothing" : known)},
         .help = "name a buffer that lives for one iteration; compute_at of its producer "
                 "puts it there"});
  const Slots slots(program, k, found, 2, name);
  for (ir::Stmt& s : body.stmts) s = slots.apply(s);
  const ir::Stmt now =
      ir::with(k, [&](ir::For& f) { f.body = allocated(others, ir::seq(body.stmts)); });
  program.replace(k, allocated({slots.buffer()}, now));
  return {};
}

}  // namespace tilewright::schedule
