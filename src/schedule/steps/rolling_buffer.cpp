// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
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
  const ir::For& loop;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot roll the result of block `", block.name, "` along `",
                                loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  }
};

/// The rows that one iteration computes: first … first + size − 1 of one dimension.
struct Window {
  size_t dim = 0;
  size_t iter = 0;  // the block's iterator that indexes it
  Expr first;
  int64_t size = 0;
  int64_t step = 0;  // from one iteration to the next
};

/// One writer, all others read it later in the same iteration.
void check_uses(const Program& program, const ir::Block& p, const ir::Buffer& buffer,
                const Stmt& nest, const ir::For& loop, const Refuse& refuse) {
  if (param_of(program.func(), buffer))
    refuse("schedule.rolling_buffer.buffer",
           str("`", buffer->name, "` is a result of the function"), "roll intermediate results");
  if (buffer->layout)
    refuse("schedule.rolling_buffer.buffer", str("`", buffer->name, "` has a layout"),
           "set the layout afterwards");
  for (const Access& a : accesses_of(program.func().body)) {
    if (a.region.buffer != buffer || (a.block == &p && a.write)) continue;
    const std::string who = a.block ? str("block `", a.block->name, "`") : "a plain statement";
    if (a.write || a.block == &p || !a.block)
      refuse("schedule.rolling_buffer.use",
             str("`", buffer->name, "` is ", a.write ? "written" : "read", " by ", who, " too"),
             "roll what one block writes and other blocks read");
    if (!contains(loop.body, Stmt::of(*a.block)) ||
        !stands_before(program, nest, Stmt::of(*a.block)))
      refuse("schedule.rolling_buffer.use",
             str(who, " reads `", buffer->name, "` elsewhere than after it in `", loop.var.name(),
                 "`"),
             "compute the block at a loop around all of its consumers (compute_at)");
  }
}

/// An instance that ran in an earlier iteration must have given the same value there.
void check_inputs(const Program& program, const ir::Block& p, const ir::For& loop,
                  const Refuse& refuse) {
  const Stmt bare = ir::with(p, [](ir::Block& b) {
    for (ir::BlockIter& it : b.iters) it.binding = 0;
    b.predicate = nullptr;
  });
  for (const Stmt& s : program.path_to(p)) {
    const auto* l = s.as<ir::For>();
    const auto* let = s.as<ir::Let>();
    if ((l && uses(bare, l->var)) || (let && uses(bare, let->var)))
      refuse("schedule.rolling_buffer.input",
             str("it depends on `", (l ? l->var : let->var).name(), "` directly"),
             "roll blocks that depend on their own iterators only");
  }
  for (const ir::Region& r : p.reads) {
    const ir::Block* writer = nullptr;
    for (const Access& a : accesses_of(loop.body)) {
      if (!a.write || a.region.buffer != r.buffer) continue;
      if (!a.block || (writer && writer != a.block))
        refuse("schedule.rolling_buffer.input",
               str("`", r.buffer->name, "`, which it reads, is written in several places of `",
                   loop.var.name(), "`"),
               "roll a block whose inputs stay as they are");
      writer = a.block;
    }
    if (writer) require_plain_result(*writer, "roll what reads the result of");
  }
}

Window window_of(const Program& program, const ir::Block& p, const ResultIndex& result,
                 const Stmt& nest, const ir::For& loop, const Refuse& refuse) {
  const std::vector<ir::Range> box = iterated(program, p, nest);
  const arith::Context context = program.context_at(program.path_to(loop));
  Window out;
  bool found = false;
  for (size_t d = 0; d < result.iter_of_dim.size(); ++d) {
    const size_t i = static_cast<size_t>(result.iter_of_dim[d]);
    if (!uses(box[i].min, loop.var) && !uses(box[i].extent, loop.var)) continue;
    if (found)
      refuse("schedule.rolling_buffer.window",
             str("`", loop.var.name(), "` moves its window along two dimensions"),
             "roll along a loop that moves the window along one dimension");
    found = true;
    const std::optional<int64_t> size = ir::const_int(context.simplify(box[i].extent));
    const Expr next = ir::substitute(box[i].min, loop.var, Expr(loop.var) + 1);
    const std::optional<int64_t> step = ir::const_int(context.simplify(next - box[i].min));
    if (!size || !step)
      refuse("schedule.rolling_buffer.window",
             str("its window in dimension ", d, " is ", print(box[i].min),
                 " +: ", print(box[i].extent), ", which does not move at a constant rate"),
             "roll along a loop that moves a window of constant size");
    out = {.dim = d, .iter = i, .first = box[i].min, .size = *size, .step = *step};
  }
  if (!found || out.step < 1 || out.step >= out.size)
    refuse("schedule.rolling_buffer.reuse",
           found ? str("its window of ", out.size, " rows moves by ", out.step,
                       ": iterations share no row")
                 : str("its window does not move with `", loop.var.name(), "`"),
           "roll along a loop whose iterations compute overlapping regions");
  return out;
}

}  // namespace

Results RollingBuffer::apply(Program& program) const {
  const ir::Block& p = program.block(block);
  const ir::For& at = program.loop(loop);
  const Refuse refuse{p, at};
  require_outside_of_blocks(program, p, name);
  const ResultIndex result = require_plain_result(p, name);
  const Stmt nest = nest_of(program, p);
  const Path path = program.path_to(nest);
  auto place = std::find(path.begin(), path.end(), Stmt::of(at));
  if (place == path.end() || *place == nest)
    refuse("schedule.rolling_buffer.loop", "the loop does not stand around the block's own loops",
           "compute the block at the loop first (compute_at)");
  for (++place; *place != nest; ++place)
    if (!place->as<ir::Seq>() && !place->as<ir::Alloc>())
      refuse("schedule.rolling_buffer.loop",
             "something stands between the loop and the block's own loops",
             "name the innermost loop around them");
  if (p.writes.size() != 1)
    refuse("schedule.rolling_buffer.buffer", "it writes several buffers",
           "roll blocks with one result");
  for (const ir::BlockIter& it : p.iters)
    if (it.kind == ir::IterKind::Ordered)
      refuse("schedule.rolling_buffer.loop", str("its iterator `", it.var.name(), "` is ordered"),
             "roll a block once, and no scan");
  const auto in_order = [](const ir::For& l) {
    return l.loop == ir::ForKind::Serial || l.loop == ir::ForKind::Unrolled;
  };
  if (!in_order(at))
    refuse("schedule.rolling_buffer.loop", str("`", at.var.name(), "` is ", ir::name(at.loop)),
           "roll along a serial loop");
  if (p.body.as<ir::Update>() && (!p.init || !starts_below(program, p, nest)))
    refuse("schedule.rolling_buffer.init", "its reduction starts elsewhere",
           "roll before decompose_reduction or partition cuts it");
  for (const std::string& why : {why_not_exact(program, p, nest), why_not_whole(program, p, nest)})
    if (!why.empty())
      refuse("schedule.rolling_buffer.exact", why,
             "roll a block that computes its whole window in each iteration");
  const ir::Buffer old = p.writes[0].buffer;
  check_uses(program, p, old, nest, at, refuse);
  check_inputs(program, p, at, refuse);
  const Window window = window_of(program, p, result, nest, at, refuse);
  const ir::BlockIter& row = p.iters[window.iter];
  for (const Stmt& s : program.path_to(p))
    if (const auto* l = s.as<ir::For>();
        l && contains(nest, s) && uses(row.binding, l->var) && !in_order(*l))
      refuse("schedule.rolling_buffer.loop", str("`", l->var.name(), "` is ", ir::name(l->loop)),
             "say how the loops over rows run afterwards");

  // What an iteration reads lies in its window: what it does not compute itself, the iteration
  // before it has, and no row of the window takes the place of another.
  const arith::Context context = program.context_at(program.path_to(at));
  const ir::Region read = touched(at.body, old, false, context);
  const ir::Range& rows = read.ranges[window.dim];
  if (!context.can_prove(window.first <= rows.min) ||
      !context.can_prove(rows.min + rows.extent <= window.first + window.size))
    refuse("schedule.rolling_buffer.read",
           str(print(read), " is read, which is not known to be in the window ",
               print(window.first), " +: ", window.size),
           "roll when consumers read what the same iteration computes");

  std::vector<Expr> shape = old->shape;
  shape[window.dim] = window.size;
  const ir::Buffer now =
      ir::make_buffer(old->name, old->elem, shape, old->scope, nullptr, old->alignment, old->span);
  const auto index = [&](std::vector<Expr> indices) {
    indices[window.dim] = indices[window.dim] % window.size;
    return indices;
  };
  const auto ranges = [&](std::vector<ir::Range> all) {
    ir::Range& r = all[window.dim];
    r = ir::is_const(r.extent, 1) ? ir::Range{r.min % window.size, 1} : ir::Range{0, window.size};
    return all;
  };
  const Expr fresh =
      logical_or(Expr(at.var) <= at.min, window.first + (window.size - window.step) <= row.var);
  const Stmt rolled = ir::with(p, [&](ir::Block& b) {
    b.predicate = ir::both(b.predicate, fresh);
    b.iters[window.iter].kind = ir::IterKind::Ordered;
  });
  const ir::Var var = at.var;
  const Stmt alloc = Stmt::of(*allocation_of(program, old));
  program.replace(p, rolled);
  Stmt body = ir::rewrite(program.func().body, [&](const ir::Alloc& a, auto& self) -> Stmt {
    return a.buffer == old ? self(a.body) : self.children(a);
  });
  body = with_change(body, {old, now, index, ranges});
  if (!body)
    refuse("schedule.rolling_buffer.call", str("an instruction works on `", old->name, "`"),
           "use it before tensorize");
  program.set_body(body);
  const Stmt turned = Stmt::of(*find_loop(program.func().body, var));
  program.replace(turned, ir::make_stmt<ir::Alloc>(alloc->span, now, turned));
  return {};
}

}  // namespace tilewright::schedule
