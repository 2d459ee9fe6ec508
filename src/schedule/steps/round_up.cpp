// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "schedule/buffer_change.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

struct Refuse {
  const ir::Block& block;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot round up block `", block.name, "`"),
                 .notes = {note},
                 .help = help});
  }
};

/// The extents that iterators get; null where they keep theirs.
std::vector<Expr> wider_extents(const Program& program, const ir::Block& b,
                                const std::vector<Number>& multiples, const Refuse& refuse) {
  if (multiples.size() != b.iters.size())
    refuse("schedule.round_up.multiples",
           str("it has ", b.iters.size(), " iterators, there are ", multiples.size(), " multiples"),
           "give one multiple for each iterator, 1 where nothing changes");
  const arith::Context context(program.func());
  std::vector<Expr> out;
  for (size_t i = 0; i < b.iters.size(); ++i) {
    const int64_t m = multiples[i].open ? 0 : program.value(multiples[i]);
    if (m < 1 || m > int64_t{1} << 20)
      refuse("schedule.round_up.multiples",
             str("the multiple for `", b.iters[i].var.name(), "` is ", m),
             "use multiples of 1 to 2^20");
    const Expr wanted = context.simplify(ir::ceil_div(b.iters[i].extent, m) * m);
    const bool same = context.can_prove_equal(wanted, b.iters[i].extent);
    if (!same && b.iters[i].kind != ir::IterKind::Spatial)
      refuse("schedule.round_up.multiples",
             str("`", b.iters[i].var.name(), "` is no spatial iterator"),
             "round up spatial iterators; pad can lengthen reductions");
    out.push_back(same ? Expr() : wanted);
  }
  return out;
}

/// Of the iterators that run further, those whose loads repeat the last element, by the index that
/// they read at.
ir::VarMap repeated_indices(const Program& program, const ir::Block& b,
                            const std::vector<Expr>& wider,
                            const std::optional<std::vector<Number>>& repeated,
                            const Refuse& refuse) {
  if (!repeated) return {};
  if (repeated->size() != b.iters.size())
    refuse(
        "schedule.round_up.multiples",
        str("it has ", b.iters.size(), " iterators, `repeated` has ", repeated->size(), " numbers"),
        "give 1 for each iterator whose last element is read again, 0 for the others");
  ir::VarMap out;
  for (size_t i = 0; i < wider.size(); ++i)
    if (wider[i] && program.value((*repeated)[i]) != 0)
      out[b.iters[i].var] = ir::min(b.iters[i].var, b.iters[i].extent - 1);
  return out;
}

/// The loops of the block, one for each iterator; an Error when they have been cut already.
std::vector<const ir::For*> own_loops(const Program& program, const ir::Block& b, const Stmt& nest,
                                      const Refuse& refuse) {
  const arith::Context context(program.func());
  std::vector<const ir::For*> chain;
  for (Stmt s = nest; s.as<ir::For>(); s = chain.back()->body) chain.push_back(s.as<ir::For>());
  std::vector<const ir::For*> out;
  for (const ir::BlockIter& it : b.iters) {
    const auto found = std::find_if(chain.begin(), chain.end(), [&](const ir::For* f) {
      return it.binding == f->var && f->loop == ir::ForKind::Serial && ir::is_const(f->min, 0) &&
             context.can_prove_equal(f->extent, it.extent);
    });
    if (found == chain.end())
      refuse("schedule.round_up.domain", str("`", it.var.name(), "` has no whole loop of its own"),
             "round up before cutting the block's loops");
    out.push_back(*found);
  }
  if (b.predicate || chain.size() != out.size() || !(chain.back()->body == Stmt::of(b)))
    refuse("schedule.round_up.domain", "other loops or conditions stand around it",
           "round up before cutting the block's loops");
  return out;
}

/// The assignments with other values, at the same places.
template <class F>
Stmt with_values(const Stmt& s, F&& value) {
  return ir::rewrite(
      s,
      [&](const ir::Store& store, auto&) -> Stmt {
        return ir::with(store, [&](ir::Store& out) { out.value = value(store.value); });
      },
      [&](const ir::Update& update, auto&) -> Stmt {
        return ir::with(update, [&](ir::Update& out) {
          for (Expr& e : out.values) e = value(e);
        });
      });
}

/// Zeros in the place of what is not there must not divide.
bool divides(const Expr& value) {
  bool found = false;
  ir::walk(value, [&](const ir::Binary& b) {
    const bool division = b.op == ir::BinaryOp::Div || b.op == ir::BinaryOp::Mod;
    found = found || (division && !ir::is_float(b.type.elem) && ir::has_load(b.b));
  });
  return found;
}

}  // namespace

Results RoundUp::apply(Program& program) const {
  const ir::Block& b = program.block(block);
  require_outside_of_blocks(program, b, name);
  const Refuse refuse{b};
  const std::vector<Expr> wider = wider_extents(program, b, multiples, refuse);
  if (std::none_of(wider.begin(), wider.end(), [](const Expr& e) { return bool(e); })) return {};
  const ir::VarMap again = repeated_indices(program, b, wider, repeated, refuse);
  const auto* update = b.body.as<ir::Update>();
  const auto* store = b.body.as<ir::Store>();
  if (holds_others(b) || b.writes.size() != 1 || (!store && !(update && b.init)))
    refuse("schedule.round_up.body", "its body is not one assignment or reduction with its start",
           "round up blocks that compute one element");
  const Stmt nest = nest_of(program, b);
  const std::vector<const ir::For*> loops = own_loops(program, b, nest, refuse);
  for (const Expr& value : update ? update->values : std::vector<Expr>{store->value})
    if (divides(value))
      refuse("schedule.round_up.body", "it divides by what it reads",
             "round up blocks without integer division");

  const ResultIndex result = require_plain_result(b, name);
  const ir::Buffer old = b.writes[0].buffer;
  if (!allocation_of(program, old) || old->layout)
    refuse("schedule.round_up.result", str("`", old->name, "` has a size of its own"),
           "use cache_write first, and round up what writes the copy");
  ir::walk(program.func().body, [&](const ir::Block& other) {
    for (const ir::Region& w : other.writes)
      if (w.buffer == old && &other != &b)
        refuse("schedule.round_up.result", str("`", other.name, "` writes `", old->name, "` too"),
               "round up before its reduction is taken apart");
    for (const ir::Region& r : b.reads)
      if (r.buffer == old)
        refuse("schedule.round_up.body", str("it reads its own result `", old->name, "`"),
               "round up a block that only writes its result");
  });
  const arith::Context context(program.func());
  std::vector<Expr> shape = old->shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto i = static_cast<size_t>(result.iter_of_dim[d]);
    if (!wider[i]) continue;
    if (!context.can_prove_equal(shape[d], b.iters[i].extent))
      refuse("schedule.round_up.result", str("it fills a part of `", old->name, "` only"),
             "round up blocks that fill their result");
    shape[d] = wider[i];
  }

  const auto guarded_load = [&](const ir::Load& l, auto& self) -> Expr {
    const Expr load = self.children(l);
    Expr valid;
    for (size_t i = 0; i < wider.size(); ++i)
      if (wider[i] && !again.contains(b.iters[i].var) && ir::uses(Expr::of(l), b.iters[i].var))
        valid = ir::both(valid, b.iters[i].var < b.iters[i].extent);
    return valid ? ir::guard(valid, load, ir::imm(l.buffer->elem, 0)) : load;
  };
  // Conditions around loads move with them: they tell what is inside of the buffer.
  const auto value = [&](const Expr& e) {
    return ir::substitute(ir::rewrite(e, guarded_load), again);
  };
  Stmt inner = ir::with(b, [&](ir::Block& n) {
    for (size_t i = 0; i < wider.size(); ++i)
      if (wider[i]) n.iters[i].extent = wider[i];
    for (ir::Region& r : n.reads)
      for (ir::Range& range : r.ranges) range.min = ir::substitute(range.min, again);
    n.body = with_values(b.body, value);
    if (b.init) n.init = with_values(b.init, value);
  });
  std::vector<const ir::For*> chain;
  for (Stmt s = nest; s.as<ir::For>(); s = chain.back()->body) chain.push_back(s.as<ir::For>());
  for (auto f = chain.rbegin(); f != chain.rend(); ++f) {
    const auto i = static_cast<size_t>(std::find(loops.begin(), loops.end(), *f) - loops.begin());
    inner = ir::with(**f, [&](ir::For& n) {
      n.body = inner;
      if (wider[i]) n.extent = wider[i];
    });
  }
  program.replace(nest, inner);

  const ir::Buffer now =
      ir::make_buffer(old->name, old->elem, shape, old->scope, nullptr, old->alignment, old->span);
  const auto index = [](const std::vector<Expr>& indices) { return indices; };
  const auto ranges = [](const std::vector<ir::Range>& same) { return same; };
  const Stmt body = with_change(program.func().body, {old, now, index, ranges});
  if (!body)
    refuse("schedule.round_up.result",
           str("a statement that cannot be changed uses `", old->name, "`"),
           "round up before tensorize");
  program.set_body(body);
  return {};
}

}  // namespace tilewright::schedule
