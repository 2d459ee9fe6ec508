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

constexpr int64_t kLineBits = 64 * 8;  // that come together
constexpr int64_t kMostLines = 64;     // asked for at once

/// Where it is asked for, and what both steps demand of that.
class Place {
 public:
  Program& program;
  const ir::For &loop, &ahead;
  std::vector<const ir::For*> around;  // the loop itself is the last
  const arith::Context context;

  Place(Program& in, const LoopRef& at, const LoopRef& along, const std::string& buffer,
        const Number& level, std::string_view step)
      : program(in),
        loop(in.loop(at)),
        ahead(in.loop(along)),
        around(in.loops_around(loop)),
        context(in.context_at(in.path_to(loop))),
        buffer_(buffer),
        level_(in.value(level)) {
    require_outside_of_blocks(program, loop, step);
    if (level_ < 1 || level_ > 3)
      refuse("schedule.prefetch.level", str("the cache level is ", level_), "use level 1, 2 or 3");
    around.push_back(&loop);
    if (std::ranges::find(around, &ahead) == around.end())
      refuse("schedule.prefetch.along",
             str("`", ahead.var.name(), "` does not stand around `", loop.var.name(), "`"),
             "run ahead along that loop itself or one around it");
    for (const ir::For* l : around)
      if (l->loop == ir::ForKind::Vectorized)
        refuse("schedule.prefetch.lanes",
               str("the iterations of `", l->var.name(), "` are lanes of one thread"),
               "name a loop outside of the vectorized ones");
    ir::walk(loop.body, [&](const ir::Let& let) { lets_.push_back(let.var); });
  }

  [[noreturn]] void refuse(const char* code, const std::string& note,
                           const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot prefetch `", buffer_, "` in `", loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  }

  std::vector<Access> accesses() const {
    std::vector<Access> out;
    for (Access& a : accesses_of(loop.body))
      if (a.region.buffer->name == buffer_) out.push_back(std::move(a));
    if (out.empty())
      refuse("schedule.prefetch.buffer", str("its body does not touch a buffer `", buffer_, "`"),
             "name a buffer that the loop's body reads or writes");
    return out;
  }

  /// Asks for the element once, at an index that is clamped to the buffer.
  void ask(const Access& access, std::vector<Expr> index) {
    const ir::Buffer& b = access.region.buffer;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!context.can_prove(Expr(1) <= b->shape[d]))
        refuse("schedule.prefetch.empty",
               str("dimension ", d, " of `", buffer_, "` may have no element"),
               "prefetch a buffer that has elements wherever the loop runs");
      const Expr then = index[d];
      for (const ir::Var& v : lets_)
        if (uses(then, v))
          refuse("schedule.prefetch.let",
                 str("its index depends on `", v.name(), "`, which is computed inside"),
                 "name a loop inside of the let");
      if (!context.can_prove(Expr(0) <= then)) index[d] = max(index[d], Expr(0));
      if (!context.can_prove(then < b->shape[d])) index[d] = min(index[d], b->shape[d] - 1);
      index[d] = context.simplify(index[d]);
    }
    const bool known = std::any_of(seen_.begin(), seen_.end(), [&](const std::vector<Expr>& s) {
      return std::equal(s.begin(), s.end(), index.begin(),
                        [](const Expr& x, const Expr& y) { return ir::equal(x, y); });
    });
    if (known) return;
    seen_.push_back(index);
    asked_.push_back(ir::make_stmt<ir::Prefetch>(loop.span, b, index, static_cast<int32_t>(level_),
                                                 access.write));
  }

  void finish() {
    asked_.push_back(loop.body);
    program.asks_ahead();
    program.replace(loop, ir::with(loop, [&](ir::For& f) { f.body = ir::seq(asked_); }));
  }

 private:
  const std::string& buffer_;
  const int64_t level_;
  std::vector<ir::Var> lets_;
  std::vector<Stmt> asked_;
  std::vector<std::vector<Expr>> seen_;
};

/// The element that an access touches first: the loops inside at their start.
std::vector<Expr> first_element(const Access& access) {
  ir::VarMap first;
  std::vector<Expr> out;
  for (const ir::For* l : access.loops) first[l->var] = ir::substitute(l->min, first);
  for (const ir::Range& r : access.region.ranges) out.push_back(ir::substitute(r.min, first));
  return out;
}

/// How many elements an access touches in each dimension; nothing unless they lie in a row of known
/// length.
std::optional<std::vector<int64_t>> run_of(const Access& access, const arith::Context& context) {
  ir::VarMap last;
  for (const ir::For* l : access.loops) last[l->var] = ir::substitute(l->min + l->extent - 1, last);
  const std::vector<Expr> first = first_element(access);
  std::vector<int64_t> out(first.size());
  bool whole = true;  // all dimensions so far, from the last on
  for (size_t d = first.size(); d-- > 0;) {
    const ir::Range& r = access.region.ranges[d];
    const Expr extent = ir::substitute(r.min + r.extent, last) - first[d];
    const auto known = ir::const_int(context.simplify(extent));
    if (!known || *known < 1 || (!whole && *known != 1)) return std::nullopt;
    out[d] = *known;
    whole = whole && ir::is_const(access.region.buffer->shape[d], *known);
  }
  return out;
}

}  // namespace

Results Prefetch::apply(Program& program) const {
  Place place(program, at, along, buffer, level, name);
  const int64_t far = program.value(distance);
  if (far < 1 || far > (int64_t{1} << 20))
    place.refuse("schedule.prefetch.distance", str("the distance is ", far),
                 "use a distance of 1 to 2^20 iterations");
  for (const Access& a : place.accesses()) {
    if (!param_of(program.func(), a.region.buffer))
      place.refuse(
          "schedule.prefetch.buffer", str("`", buffer, "` is made inside of the function"),
          "prefetch a parameter; what the function made itself it still has in its caches");
    std::vector<Expr> index = first_element(a);
    for (Expr& e : index) e = ir::substitute(e, place.ahead.var, place.ahead.var + far);
    place.ask(a, std::move(index));
  }
  place.finish();
  return {};
}

Results PrefetchNext::apply(Program& program) const {
  Place place(program, at, along, buffer, level, name);
  const ir::For& ahead = place.ahead;
  if (&ahead == &place.loop)
    place.refuse("schedule.prefetch.along", "it is that loop itself",
                 "name a loop around the one in which it is asked for");
  const Expr next = ahead.min + (ahead.var - ahead.min + 1) % ahead.extent;
  for (const Access& a : place.accesses()) {
    const ir::Buffer& b = a.region.buffer;
    if (a.is_private || b->scope.kind != ir::ScopeKind::Global)
      place.refuse("schedule.prefetch.buffer", str("`", buffer, "` is not in memory around it"),
                   "name a buffer in global memory that is allocated outside of the loop");
    const auto extents = run_of(a, place.context);
    if (!extents)
      place.refuse("schedule.prefetch.run",
                   "what an iteration touches does not lie in a row of known length",
                   "lay the buffer out in the order in which it is read");
    std::vector<Expr> first = first_element(a);
    // The loops that touch the same again and again ask for a part each.
    int64_t turns = 1;
    Expr turn = 0;
    for (auto l = std::ranges::find(place.around, &ahead) + 1; *l != &place.loop; ++l) {
      const ir::For& f = **l;
      const auto extent = ir::const_int(f.extent);
      if (!extent || *extent < 1 ||
          std::ranges::any_of(first, [&](const Expr& e) { return ir::uses(e, f.var); }))
        continue;
      turn = turn * *extent + (f.var - f.min);
      turns *= *extent;
    }
    int64_t elements = 1;
    for (const int64_t n : *extents) elements *= n;
    const int64_t in_line = std::max<int64_t>(kLineBits / ir::bits(b->elem), 1);
    const int64_t lines = (elements + in_line - 1) / in_line;
    const int64_t each = (lines + turns - 1) / turns;
    if (each > kMostLines)
      place.refuse(
          "schedule.prefetch.many", str("an iteration would ask for ", each, " lines"),
          "name a loop with a smaller body, or one to run along that has more loops inside");
    for (int64_t i = 0; i < each; ++i) {
      Expr rest = (turn * lines / turns + i) * in_line;  // elements from the first one
      std::vector<Expr> index = first;
      for (size_t d = index.size(); d-- > 0;) {
        if ((*extents)[d] == 1) continue;
        index[d] = index[d] + rest % (*extents)[d];
        rest = rest / (*extents)[d];
      }
      for (Expr& e : index) e = ir::substitute(e, ahead.var, next);
      place.ask(a, std::move(index));
    }
  }
  place.finish();
  return {};
}

}  // namespace tilewright::schedule
