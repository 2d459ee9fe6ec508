// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/print.h"
#include "schedule/accesses.h"
#include "schedule/nests.h"
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
                 .message = str("cannot pipeline `", loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  }
};

std::string describe(const Stmt& s) {
  std::string name;
  ir::walk(s, [&](const ir::Block& b) {
    if (name.empty()) name = str("block `", b.name, "`");
  });
  return name.empty() ? "a statement" : name;
}

/// How many statements at the head of the body only fill buffers of the iteration, and read nothing
/// that the rest writes.
size_t count_producers(const OpenBody& body, const Refuse& refuse) {
  if (body.stmts.size() < 2)
    refuse("schedule.pipeline.body", "its body is one statement",
           "move a producer into the loop first (cache_read, compute_at)");
  const auto own = [&](const ir::Buffer& b) {
    return std::find(body.buffers.begin(), body.buffers.end(), b) != body.buffers.end();
  };
  std::string why;
  size_t count = 0;
  for (; count + 1 < body.stmts.size() && why.empty(); ++count)
    for (const ir::Buffer& b : Touches({body.stmts[count]}).written)
      if (!own(b) && why.empty())
        why =
            str(describe(body.stmts[count]), " writes `", b->name, "`, which other iterations see");
  if (!why.empty()) --count;
  // A producer that reads what the rest writes is no producer, nor is any after it.
  for (size_t i = 0; i < count; ++i) {
    const Touches rest({body.stmts.begin() + static_cast<std::ptrdiff_t>(count), body.stmts.end()});
    for (const ir::Buffer& b : Touches({body.stmts[i]}).all) {
      if (own(b) || !rest.writes(b)) continue;
      why = str(describe(body.stmts[i]), " reads `", b->name,
                "`, which the rest of an iteration writes");
      count = i;  // the rest has grown: look again from the start
      i = static_cast<size_t>(-1);
      break;
    }
  }
  if (count == 0)
    refuse("schedule.pipeline.producer", why,
           "put the statements that fill buffers of the iteration first (cache_read, compute_at)");
  return count;
}

/// Asynchronous operations move data, each on its own.
void check_async(const Program& program, const ir::For& loop, const std::vector<Stmt>& producers,
                 const Refuse& refuse) {
  for (const ir::For* l : program.loops_around(loop)) {
    if (l->loop == ir::ForKind::Vectorized)
      refuse("schedule.pipeline.place", str("`", l->var.name(), "` around it is vectorized"),
             "vectorize loops inside of it");
    if (l->loop == ir::ForKind::Bound && l->axis >= ir::ThreadAxis::ThreadX)
      refuse("schedule.pipeline.place",
             str("`", l->var.name(), "` around it is bound to ", ir::name(l->axis)),
             "bind loops inside of it to threads: a block issues one copy for all of them");
  }
  for (size_t i = 0; i < producers.size(); ++i) {
    const std::string who = describe(producers[i]);
    ir::walk(
        producers[i],
        [&](const ir::For& f) {
          if (f.loop == ir::ForKind::Parallel || f.loop == ir::ForKind::Bound ||
              f.loop == ir::ForKind::VThread)
            refuse("schedule.pipeline.async",
                   str(who, " runs in `", f.var.name(), "`, which is ", ir::name(f.loop)),
                   "leave the loops of an asynchronous copy to the hardware that makes it");
        },
        [&](const ir::Alloc& a) {
          refuse("schedule.pipeline.async", str(who, " needs `", a.buffer->name, "` for itself"),
                 "an asynchronous operation only moves and combines data");
        },
        [&](const ir::While&) {
          refuse("schedule.pipeline.async", str(who, " holds a while loop"),
                 "an asynchronous operation only moves and combines data");
        });
    const Touches mine({producers[i]});
    for (size_t j = i + 1; j < producers.size(); ++j) {
      const Touches other({producers[j]});
      for (const ir::Buffer& b : mine.all)
        if ((mine.writes(b) || other.writes(b)) && other.touches(b))
          refuse("schedule.pipeline.async",
                 str("`", b->name, "` is touched by ", who, " and ", describe(producers[j]),
                     ", which nothing would order"),
                 "use the sync form, or inline one of them into the other");
    }
  }
}

}  // namespace

Results Pipeline::apply(Program& program) const {
  const ir::For& k = program.loop(loop);
  const Refuse refuse{k};
  const int64_t count = program.value(stages);
  if (count < 2 || count > 64)
    refuse("schedule.pipeline.stages", str("it would have ", count, " stages"),
           "use 2 to 64 stages");
  require_divisible(program, k, name);
  const OpenBody body = open_body(k.body);
  const size_t cut = count_producers(body, refuse);
  std::vector<Stmt> producers(body.stmts.begin(),
                              body.stmts.begin() + static_cast<std::ptrdiff_t>(cut));
  std::vector<Stmt> rest(body.stmts.begin() + static_cast<std::ptrdiff_t>(cut), body.stmts.end());
  if (overlap == Overlap::Async) check_async(program, k, producers, refuse);

  std::vector<ir::Buffer> rings, scratch;
  std::map<const ir::BufferNode*, Expr> bytes;
  const Touches ahead(producers);
  for (const ir::Buffer& b : body.buffers) {
    if (!ahead.touches(b)) {
      scratch.push_back(b);
      continue;
    }
    const Slots slots(program, k, b, count, name);
    for (Stmt& s : producers) s = slots.apply(s);
    for (Stmt& s : rest) s = slots.apply(s);
    rings.push_back(slots.buffer());
    bytes[slots.buffer().get()] = slots.bytes();
  }
  if (rings.empty())
    refuse("schedule.pipeline.producer",
           str(describe(producers[0]), " fills no buffer of the iteration"),
           "put the statements that fill buffers of the iteration first (cache_read, compute_at)");

  const ir::Var step(k.var.name());
  const Expr behind = step - (count - 1);
  const Expr starts = step < k.extent, ends = Expr(count - 1) <= step;
  for (Stmt& s : producers) s = ir::substitute(s, k.var, k.min + step);
  const Stmt work = ir::substitute(allocated(scratch, ir::seq(rest)), k.var, k.min + behind);
  Stmt both;
  ir::Channel channel;
  if (overlap == Overlap::Sync) {
    both = ir::seq({guarded(ir::seq(producers), starts), guarded(work, ends)});
  } else {
    channel = ir::Channel(std::make_shared<const ir::ChannelNode>(ir::ChannelNode{
        .name = str(k.var.name(), "_ring"), .slots = count, .reach = ir::ChannelReach::Agent}));
    const auto op = [&](ir::ChannelOpKind kind, const Expr& item, const Expr& sent) {
      return ir::make_stmt<ir::ChannelOp>(k.span, kind, channel, item, sent);
    };
    std::vector<Stmt> issue = {op(ir::ChannelOpKind::Acquire, step, nullptr)};
    Expr total = 0;
    for (const Stmt& s : producers) {
      Expr sent = 0;
      const Touches touches({s});
      for (const ir::Buffer& b : rings)
        if (touches.writes(b)) sent = sent + bytes[b.get()];
      total = total + sent;
      issue.push_back(ir::make_stmt<ir::Async>(s->span, channel, step, sent, nullptr, s));
    }
    issue.push_back(op(ir::ChannelOpKind::Commit, step, total));
    both = ir::seq(
        {ir::make_stmt<ir::If>(k.span, starts, ir::seq(issue)),
         ir::make_stmt<ir::If>(k.span, ends,
                               ir::seq({op(ir::ChannelOpKind::Wait, behind, nullptr), work,
                                        op(ir::ChannelOpKind::Release, behind, nullptr)}))});
  }
  Stmt now = ir::make_stmt<ir::For>(k.span, step, Expr(0), k.extent + (count - 1), both);
  if (channel) now = ir::make_stmt<ir::ChannelScope>(k.span, channel, now);
  program.replace(k, allocated(rings, now));
  return {LoopResult{step}};
}

}  // namespace tilewright::schedule
