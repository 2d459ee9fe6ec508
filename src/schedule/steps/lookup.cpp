// SPDX-License-Identifier: Apache-2.0
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

Results GetBlock::apply(Program& program) const {
  if (!program.find_block(block)) {
    std::vector<std::string> names;
    ir::walk(program.func().body, [&](const ir::Block& b) { names.push_back("`" + b.name + "`"); });
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    throw Error({.code = "schedule.block.unknown",
                 .message = str("there is no block `", block, "` in `", program.func().name, "`"),
                 .notes = {str("its blocks are ", list.empty() ? "none" : list)},
                 .help = "name one of these blocks"});
  }
  return {BlockResult{block}};
}

Results GetLoops::apply(Program& program) const {
  Results out;
  for (const ir::For* loop : program.loops_around(program.block(block)))
    out.push_back(LoopResult{loop->var});
  return out;
}

}  // namespace tilewright::schedule
