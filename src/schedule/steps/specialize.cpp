// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Stmt;

[[noreturn]] void refuse(const std::string& condition, std::vector<std::string> notes,
                         const std::string& help) {
  throw Error({.code = "schedule.specialize.condition",
               .message = str("cannot specialize for ", ir::quoted(condition)),
               .notes = std::move(notes),
               .help = help});
}

/// The condition in the scope of the statement: symbols, and the loops and lets around.
ir::Expr condition_at(const Program& program, const Path& path, const std::string& text) {
  ir::Environment scope;
  std::string known;
  const auto add = [&](const ir::Var& var) {
    // Of two variables of one name the text can mean only the inner one.
    std::erase_if(scope.vars, [&](const ir::Var& v) { return v.name() == var.name(); });
    scope.vars.push_back(var);
  };
  for (const ir::Symbol& s : program.func().symbols) add(s.var);
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (const auto* loop = path[i].as<ir::For>()) add(loop->var);
    if (const auto* let = path[i].as<ir::Let>()) add(let->var);
  }
  for (const ir::Var& v : scope.vars) known += str(known.empty() ? "`" : ", `", v.name(), "`");
  const std::string help =
      known.empty() ? "there are no symbols, and no loops or lets around: nothing can differ"
                    : str("use an expression over ", known);
  ir::Expr condition;
  try {
    condition = ir::parse_expr(text, scope);
  } catch (const Error& e) {
    refuse(text, {e.diagnostic.message}, help);
  }
  if (condition.type() != ir::kBool)
    refuse(text, {str("its value is ", ir::print(condition.type()), ", not true or false")}, help);
  return condition;
}

/// The statement where `context` holds: extents and predicates become simpler, or disappear.
Stmt relieved(const Stmt& s, const arith::Context& context) {
  const auto below = [&](const arith::Context& inside) {
    return ir::map_children(s, {[](const ir::Expr& e) { return e; },
                                [&](const Stmt& child) { return relieved(child, inside); },
                                [](const ir::Buffer& b) { return b; }});
  };
  arith::Context inside = context;
  if (const auto* loop = s.as<ir::For>()) {
    inside.bind(loop->var, loop->min, loop->extent);
    const Stmt now = below(inside);
    return ir::with(*now.as<ir::For>(),
                    [&](ir::For& f) { f.extent = context.simplify(loop->extent); });
  }
  if (const auto* let = s.as<ir::Let>()) {
    if (let->value.type() == ir::kIndex) inside.define(let->var, let->value);
    return below(inside);
  }
  if (const auto* block = s.as<ir::Block>()) {
    if (!block->predicate || has_load(block->predicate)) return s;
    for (const ir::BlockIter& it : block->iters) inside.assume(eq(it.var, it.binding));
    const ir::Expr predicate =
        inside.can_prove(block->predicate) ? ir::Expr() : inside.simplify(block->predicate);
    return ir::with(*block, [&](ir::Block& b) { b.predicate = predicate; });
  }
  return below(inside);
}

}  // namespace

Results Specialize::apply(Program& program) const {
  const Stmt named = program.loop_or_block(target);
  require_outside_of_blocks(program, *named, name);
  const auto* block = named.as<ir::Block>();
  const Stmt at = block ? nest_of(program, *block) : named;
  const Path path = program.path_to(at);
  for (const ir::For* l : program.loops_around(*at))
    if (l->loop == ir::ForKind::Vectorized)
      refuse(condition, {str("the lanes of `", l->var.name(), "` around would go different ways")},
             "specialize outside of vectorized loops");
  const ir::Expr holds = condition_at(program, path, condition);
  const Stmt other = copy_of(program, at, "_else");
  arith::Context context = context_outside(program, at);
  context.assume(holds);
  program.replace(at, ir::make_stmt<ir::If>(at->span, holds, relieved(at, context), other));
  if (const auto* loop = at.as<ir::For>(); loop && !block)
    return {LoopResult{loop->var}, LoopResult{other.as<ir::For>()->var}};
  std::string second;
  ir::walk(other, [&](const ir::Block& b) {
    second = b.name;
    return false;
  });
  return {BlockResult{block->name}, BlockResult{second}};
}

}  // namespace tilewright::schedule
