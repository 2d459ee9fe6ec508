// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "schedule/accesses.h"
#include "schedule/slots.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

struct Refuse {
  const ir::For& loop;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot stagger `", loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  }
};

/// When each statement of the body runs: so many iterations late, at that place of an iteration.
struct Turns {
  std::vector<int64_t> delays, places;
};

Turns turns_of(const Program& program, const Stagger& step, size_t stmts, const Refuse& refuse) {
  constexpr int64_t kMostIterations = 63;
  const auto wrong = [&](const std::string& note) {
    refuse("schedule.stagger.turns", note,
           str("give each of the ", stmts, " statements of the body its delay, from 0 to ",
               kMostIterations, ", and name each once in the order"));
  };
  if (step.delays.size() != stmts || step.order.size() != stmts)
    wrong(str("there are ", stmts, " statements, ", step.delays.size(), " delays and ",
              step.order.size(), " places"));
  Turns out{.delays = {}, .places = std::vector<int64_t>(stmts, -1)};
  for (const Number& n : step.delays) {
    out.delays.push_back(program.value(n));
    if (out.delays.back() < 0 || out.delays.back() > kMostIterations)
      wrong(str("one delay is ", out.delays.back()));
  }
  for (size_t place = 0; place < stmts; ++place) {
    const int64_t at = program.value(step.order[place]);
    if (at < 0 || at >= static_cast<int64_t>(stmts) || out.places[at] >= 0)
      wrong(str("statement ", at,
                at < 0 || at >= static_cast<int64_t>(stmts) ? " does not exist" : " occurs twice"));
    out.places[at] = static_cast<int64_t>(place);
  }
  return out;
}

/// Whether statement a of an iteration runs before statement b of the one `later` iterations on.
bool before(const Turns& turns, size_t a, size_t b, int64_t later) {
  const int64_t between = turns.delays[b] + later - turns.delays[a];
  return between > 0 || (between == 0 && turns.places[a] < turns.places[b]);
}

/// Two accesses that meet, one writing, keep their order: within an iteration, and in different
/// ones unless each iteration has a place of its own for what it allocates.
void require_order(const Program& program, const ir::For& loop, const OpenBody& body,
                   const Turns& turns, const Refuse& refuse) {
  const auto require = [&](size_t a, size_t b, int64_t later, const Conflict& c) {
    if (before(turns, a, b, later)) return;
    const int64_t least = std::max<int64_t>(0, turns.delays[a] - later);
    refuse("schedule.stagger.dependence",
           str(c.text(), later ? " in a later iteration" : " in the same iteration",
               ", but statement ", b, " would run before statement ", a),
           str("give statement ", b, " a delay of ", least, " or more, and with just ", least,
               " a place after statement ", a));
  };
  std::vector<std::vector<Access>> accesses;
  for (const Stmt& s : body.stmts) accesses.push_back(accesses_of(s));
  for (size_t i = 0; i < accesses.size(); ++i)
    for (size_t j = i + 1; j < accesses.size(); ++j)
      for (const Access& a : accesses[i])
        for (const Access& b : accesses[j])
          if (a.region.buffer == b.region.buffer && (a.write || b.write)) require(i, j, 0, {a, b});

  const auto has = [&](size_t stmt, const Access& a) {
    return std::any_of(accesses[stmt].begin(), accesses[stmt].end(), [&](const Access& b) {
      return b.block == a.block && b.write == a.write && b.region.buffer == a.region.buffer;
    });
  };
  for (const Conflict& c : conflicts_across(loop, loop, program))
    for (size_t i = 0; i < accesses.size(); ++i)
      for (size_t j = 0; j < accesses.size(); ++j) {
        if (i == j || !has(i, c.first) || !has(j, c.second)) continue;
        if (c.first_earlier) require(i, j, 1, c);
        if (c.second_earlier) require(j, i, 1, {c.second, c.first});
      }
}

}  // namespace

Results Stagger::apply(Program& program) const {
  const ir::For& k = program.loop(loop);
  const Refuse refuse{k};
  require_divisible(program, k, name);
  const OpenBody body = open_body(k.body);
  const Turns turns = turns_of(program, *this, body.stmts.size(), refuse);
  require_order(program, k, body, turns, refuse);

  std::vector<Stmt> stmts = body.stmts;
  std::vector<ir::Buffer> rings, scratch;
  for (const ir::Buffer& b : body.buffers) {
    int64_t first = 64, last = 0;
    for (size_t i = 0; i < stmts.size(); ++i) {
      if (!Touches({body.stmts[i]}).touches(b)) continue;
      first = std::min(first, turns.delays[i]);
      last = std::max(last, turns.delays[i]);
    }
    if (first >= last) {
      scratch.push_back(b);
      continue;
    }
    const Slots slots(program, k, b, last - first + 1, name);
    for (Stmt& s : stmts) s = slots.apply(s);
    rings.push_back(slots.buffer());
  }

  const ir::Var step(k.var.name());
  const int64_t most = *std::max_element(turns.delays.begin(), turns.delays.end());
  std::vector<Stmt> now(stmts.size());
  for (size_t i = 0; i < stmts.size(); ++i) {
    const int64_t delay = turns.delays[i];
    const Expr begun = delay == 0 ? ir::bool_imm(true) : Expr(delay) <= step;
    const Expr goes_on = delay == most ? ir::bool_imm(true) : step < k.extent + delay;
    now[turns.places[i]] =
        guarded(ir::substitute(stmts[i], k.var, k.min + (step - delay)), ir::both(begun, goes_on));
  }
  const Stmt all = allocated(scratch, ir::seq(std::move(now)));
  program.replace(
      k, allocated(rings, ir::make_stmt<ir::For>(k.span, step, Expr(0), k.extent + most, all)));
  return {LoopResult{step}};
}

}  // namespace tilewright::schedule
