// SPDX-License-Identifier: Apache-2.0
// partition, fission, merge: cutting and joining loops along program order.
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "schedule/loop_checks.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

/// Do accesses of `late` in an earlier iteration and of `early` in a later one never meet?
/// `first` and `second` are the statements that change their order for those iterations.
void require_movable(const Program& program, const ir::For& loop, const Stmt& first,
                     const Stmt& second, std::string_view step) {
  const std::vector<Access> one = accesses_of(first), two = accesses_of(second);
  for (const Conflict& c : conflicts_across(loop, loop, program)) {
    const auto in = [](const std::vector<Access>& all, const Access& a) {
      return std::any_of(all.begin(), all.end(), [&](const Access& b) {
        return b.block == a.block && b.write == a.write && b.region.buffer == a.region.buffer;
      });
    };
    if (!(in(one, c.first) && in(two, c.second)) && !(in(one, c.second) && in(two, c.first)))
      continue;
    throw Error({.code = "schedule.loop.dependence",
                 .message = str("cannot ", step, " `", loop.var.name(), "`"),
                 .notes = {str(c.text(), " in different iterations")},
                 .help = "both parts must touch different elements in different iterations"});
  }
}

/// `s` with `by` in place of `loop`, which is the first thing that `s` does after declaring
/// buffers; null when it is not.
Stmt with_first(const Stmt& s, const Stmt& loop, const Stmt& by) {
  if (s == loop) return by;
  if (const auto* alloc = s.as<ir::Alloc>()) {
    const Stmt body = with_first(alloc->body, loop, by);
    return body ? ir::with(*alloc, [&](ir::Alloc& n) { n.body = body; }) : Stmt();
  }
  if (const auto* seq = s.as<ir::Seq>()) {
    const Stmt head = with_first(seq->stmts.front(), loop, by);
    return head ? ir::with(*seq, [&](ir::Seq& n) { n.stmts.front() = head; }) : Stmt();
  }
  return {};
}

}  // namespace

Results Partition::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, name);
  const arith::Context context = program.context_at(program.path_to(i));
  std::vector<Expr> edges = {0};
  for (const Number& n : points) {
    const Expr point = program.value(n);
    if (!context.can_prove(edges.back() <= point) || !context.can_prove(point <= i.extent))
      throw Error({.code = "schedule.partition.point",
                   .message = str("cannot cut `", i.var.name(), "` at ", print(point)),
                   .notes = {str("`", i.var.name(), "` has ", print(i.extent), " iterations")},
                   .help = "give points in ascending order between 0 and the extent"});
    edges.push_back(point);
  }
  edges.push_back(i.extent);
  Results out;
  std::vector<Stmt> parts;
  for (size_t k = 0; k + 1 < edges.size(); ++k) {
    const ir::Var var(str(i.var.name(), "_", k));
    const Stmt body = k == 0 ? i.body : copy_of(program, i.body, str("_part", k));
    parts.push_back(ir::make_stmt<ir::For>(i.span, var, i.min + edges[k], edges[k + 1] - edges[k],
                                           ir::substitute(body, i.var, var)));
    out.push_back(LoopResult{var});
  }
  program.replace(i, ir::seq(std::move(parts)));
  return out;
}

Results Fission::apply(Program& program) const {
  const ir::For& i = program.loop(loop);
  require_serial(i, name);
  require_no_sync(i, name);
  const auto* all = i.body.as<ir::Seq>();
  const int64_t cut = program.value(after);
  if (!all || cut < 1 || cut >= static_cast<int64_t>(all->stmts.size()))
    throw Error(
        {.code = "schedule.fission.place",
         .message = str("cannot cut the body of `", i.var.name(), "` after statement ", cut),
         .notes = {str("it has ", all ? all->stmts.size() : 1, " statements")},
         .help = "name a statement with another one after it; an allocation around both "
                 "must be moved out first"});
  const Stmt first = ir::seq({all->stmts.begin(), all->stmts.begin() + cut});
  const Stmt second = ir::seq({all->stmts.begin() + cut, all->stmts.end()});
  require_movable(program, i, first, second, name);
  const ir::Var var(str(i.var.name(), "_1"));
  const Stmt early = ir::with(i, [&](ir::For& f) { f.body = first; });
  const Stmt late =
      ir::make_stmt<ir::For>(i.span, var, i.min, i.extent, ir::substitute(second, i.var, var));
  const ir::Var kept = i.var;
  program.replace(i, ir::seq({early, late}));
  return {LoopResult{kept}, LoopResult{var}};
}

Results Merge::apply(Program& program) const {
  const ir::For& a = program.loop(first);
  const ir::For& b = program.loop(second);
  const auto refuse = [&](const std::string& note) {
    throw Error({.code = "schedule.merge.loops",
                 .message = str("cannot merge `", a.var.name(), "` and `", b.var.name(), "`"),
                 .notes = {note},
                 .help = "merge neighbouring serial loops of equal range"});
  };
  for (const ir::For* l : {&a, &b}) {
    require_serial(*l, name);
    require_no_sync(*l, name);
  }
  const Path pa = program.path_to(a);
  const auto* all = pa.size() > 1 ? pa[pa.size() - 2].as<ir::Seq>() : nullptr;
  if (!all) refuse("they do not stand in one sequence");
  const arith::Context context = program.context_at(pa);
  if (!context.can_prove_equal(a.min, b.min) || !context.can_prove_equal(a.extent, b.extent))
    refuse(str("their ranges differ: ", print(a.extent), " and ", print(b.extent), " iterations"));

  // Check the merged loop as if it were there: what changes order is the second part of an earlier
  // iteration against the first part of a later one.
  const Stmt tail = ir::substitute(b.body, b.var, a.var);
  const Stmt merged = ir::with(a, [&](ir::For& f) { f.body = ir::seq({a.body, tail}); });
  std::vector<Stmt> stmts = all->stmts;
  const auto place = std::find(stmts.begin(), stmts.end(), Stmt::of(a));
  const Stmt joined = place + 1 == stmts.end() ? Stmt() : with_first(place[1], Stmt::of(b), merged);
  if (!joined) refuse("the second does not directly follow the first");
  *place = joined;
  stmts.erase(place + 1);
  const Stmt head = a.body;
  const ir::Var var = a.var;
  program.replace(pa[pa.size() - 2], ir::seq(std::move(stmts)));
  require_movable(program, *find_loop(program.func().body, var), head, tail, name);
  return {LoopResult{var}};
}

}  // namespace tilewright::schedule
