// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

Results Fuse::apply(Program& program) const {
  std::vector<const ir::For*> chain;
  for (const LoopRef& ref : loops) chain.push_back(&program.loop(ref));
  const auto refuse = [&](const std::string& note, const std::string& help) {
    throw Error({.code = "schedule.fuse.loops",
                 .message = "cannot fuse the loops",
                 .notes = {note},
                 .help = help});
  };
  if (chain.empty()) refuse("no loop is named", "name the loops from outermost to innermost");
  for (const ir::For* l : chain) require_serial(*l, name);
  if (perfect_chain(program, chain, name) != chain)
    refuse("they are not named from outermost to innermost without a gap",
           "name neighbouring loops in the order in which they stand");
  for (const ir::For* inner : chain)
    for (const ir::For* outer : chain)
      if (uses(inner->extent, outer->var) || uses(inner->min, outer->var))
        refuse(str("the range of `", inner->var.name(), "` depends on `", outer->var.name(), "`"),
               "fuse loops with independent ranges");

  std::string fused_name = chain[0]->var.name();
  for (size_t i = 1; i < chain.size(); ++i) fused_name += "_" + chain[i]->var.name();
  const ir::Var fused(fused_name);
  ir::VarMap parts;
  ir::Expr rest = fused;
  ir::Expr total = 1;
  for (size_t i = chain.size(); i-- > 0;) {
    const ir::Expr part = i == 0 ? rest : rest % chain[i]->extent;
    parts[chain[i]->var] = chain[i]->min + part;
    rest = rest / chain[i]->extent;
    total = chain[i]->extent * total;
  }
  const ir::Stmt body = ir::substitute(chain.back()->body, parts);
  program.replace(*chain[0],
                  ir::make_stmt<ir::For>(chain[0]->span, fused, ir::Expr(0), total, body));
  return {LoopResult{fused}};
}

}  // namespace tilewright::schedule
