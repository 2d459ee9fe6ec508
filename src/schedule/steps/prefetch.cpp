// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

struct Refuse {
  const std::string& buffer;
  const ir::For& loop;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot prefetch `", buffer, "` in `", loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  }
};

/// The element that an access touches first: the loops inside at their start.
std::vector<Expr> first_element(const Access& access) {
  ir::VarMap first;
  std::vector<Expr> out;
  for (const ir::For* l : access.loops) first[l->var] = ir::substitute(l->min, first);
  for (const ir::Range& r : access.region.ranges) out.push_back(ir::substitute(r.min, first));
  return out;
}

}  // namespace

Results Prefetch::apply(Program& program) const {
  const ir::For& place = program.loop(at);
  const ir::For& ahead = program.loop(along);
  require_outside_of_blocks(program, place, name);
  const Refuse refuse{buffer, place};
  const int64_t far = program.value(distance), cache = program.value(level);
  if (far < 1 || far > (int64_t{1} << 20))
    refuse("schedule.prefetch.distance", str("the distance is ", far),
           "use a distance of 1 to 2^20 iterations");
  if (cache < 1 || cache > 3)
    refuse("schedule.prefetch.level", str("the cache level is ", cache), "use level 1, 2 or 3");
  std::vector<const ir::For*> around = program.loops_around(place);
  around.push_back(&place);
  if (std::find(around.begin(), around.end(), &ahead) == around.end())
    refuse("schedule.prefetch.along",
           str("`", ahead.var.name(), "` does not stand around `", place.var.name(), "`"),
           "run ahead along that loop itself or one around it");
  for (const ir::For* l : around)
    if (l->loop == ir::ForKind::Vectorized)
      refuse("schedule.prefetch.lanes",
             str("the iterations of `", l->var.name(), "` are lanes of one thread"),
             "name a loop outside of the vectorized ones");
  const Path path = program.path_to(place);
  const arith::Context context = program.context_at(path);
  std::vector<ir::Var> lets;
  ir::walk(place.body, [&](const ir::Let& let) { lets.push_back(let.var); });
  std::vector<Stmt> asked;
  std::vector<std::vector<Expr>> seen;
  for (const Access& a : accesses_of(place.body)) {
    if (a.region.buffer->name != buffer) continue;
    const ir::Buffer& b = a.region.buffer;
    if (!param_of(program.func(), b))
      refuse("schedule.prefetch.buffer", str("`", buffer, "` is made inside of the function"),
             "prefetch a parameter; what the function made itself it still has in its caches");
    std::vector<Expr> index = first_element(a);
    for (size_t d = 0; d < index.size(); ++d) {
      if (!context.can_prove(Expr(1) <= b->shape[d]))
        refuse("schedule.prefetch.empty",
               str("dimension ", d, " of `", buffer, "` may have no element"),
               "prefetch a buffer that has elements wherever the loop runs");
      const Expr then = ir::substitute(index[d], ahead.var, ahead.var + far);
      index[d] = then;
      for (const ir::Var& v : lets)
        if (uses(then, v))
          refuse("schedule.prefetch.let",
                 str("its index depends on `", v.name(), "`, which is computed inside"),
                 "name a loop inside of the let");
      if (!context.can_prove(Expr(0) <= then)) index[d] = max(index[d], Expr(0));
      if (!context.can_prove(then < b->shape[d])) index[d] = min(index[d], b->shape[d] - 1);
      index[d] = context.simplify(index[d]);
    }
    const bool known = std::any_of(seen.begin(), seen.end(), [&](const std::vector<Expr>& s) {
      return std::equal(s.begin(), s.end(), index.begin(),
                        [](const Expr& x, const Expr& y) { return ir::equal(x, y); });
    });
    if (known) continue;
    seen.push_back(index);
    asked.push_back(
        ir::make_stmt<ir::Prefetch>(place.span, b, index, static_cast<int32_t>(cache), a.write));
  }
  if (asked.empty())
    refuse("schedule.prefetch.buffer", str("its body does not touch a buffer `", buffer, "`"),
           "name a buffer that the loop's body reads or writes");
  asked.push_back(place.body);
  program.replace(place, ir::with(place, [&](ir::For& f) { f.body = ir::seq(asked); }));
  return {};
}

}  // namespace tilewright::schedule
