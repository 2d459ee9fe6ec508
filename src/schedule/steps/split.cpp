// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

/// The factors as numbers, the open one worked out so that all iterations are covered.
std::vector<ir::Expr> complete_factors(const Program& program, const ir::For& loop,
                                       const std::vector<Number>& factors) {
  const auto refuse = [&](const std::string& note, const std::string& help) {
    throw Error(
        {.code = "schedule.split.factor",
         .message = str("cannot split `", loop.var.name(), "`"),
         .notes = {note, str("`", loop.var.name(), "` has ", print(loop.extent), " iterations")},
         .help = help});
  };
  if (factors.empty()) refuse("no factors are given", "give at least one factor");
  int64_t product = 1;
  size_t open = factors.size();
  std::vector<ir::Expr> out(factors.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].open) {
      if (open != factors.size()) refuse("two factors are open", "leave one factor open at most");
      open = i;
      continue;
    }
    const int64_t f = program.value(factors[i]);
    if (f < 1) refuse(str("a factor is ", f), "use factors of at least 1");
    if (__builtin_mul_overflow(product, f, &product) || product > (int64_t{1} << 40))
      refuse("the product of the factors overflows", "use smaller factors");
    out[i] = f;
  }
  if (open != factors.size()) {
    out[open] =
        program.context_at(program.path_to(loop)).simplify(ir::ceil_div(loop.extent, product));
  } else if (!program.context_at(program.path_to(loop)).can_prove(loop.extent <= product)) {
    refuse(str("the product of the factors is ", product),
           "leave one factor open (`?`), or make the product at least the number of iterations");
  }
  return out;
}

}  // namespace

Results Split::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, "split");
  const std::vector<ir::Expr> extents = complete_factors(program, i, factors);

  std::vector<ir::Var> vars;
  ir::Expr index = 0;
  ir::Expr total = 1;
  for (size_t k = 0; k < extents.size(); ++k) {
    vars.emplace_back(str(i.var.name(), "_", k));
    index = index * extents[k] + vars[k];
    total = total * extents[k];
  }
  ir::Stmt body = ir::substitute(i.body, i.var, i.min + index);
  const arith::Context context = program.context_at(program.path_to(i));
  if (!context.can_prove_equal(total, i.extent)) body = guarded(body, index < i.extent);
  for (size_t k = extents.size(); k-- > 0;)
    body = ir::make_stmt<ir::For>(i.span, vars[k], ir::Expr(0), extents[k], body);

  Results out;
  for (const ir::Var& v : vars) out.push_back(LoopResult{v});
  program.replace(i, body);
  return out;
}

}  // namespace tilewright::schedule
