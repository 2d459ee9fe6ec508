// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

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
                 .message = str("cannot run `", loop.var.name(), "` by agents"),
                 .notes = {note},
                 .help = help});
  }
};

/// One agent: its statements, the channel it fills, those it waits for.
struct Role {
  std::string name;
  std::vector<Stmt> stmts;
  std::vector<ir::Buffer> scratch;  // what only it touches
  std::set<size_t> gives, takes;    // roles that wait for it, that it waits for
};

std::vector<Role> divide(const Program& program, const OpenBody& body,
                         const std::vector<std::string>& names, const std::vector<Number>& counts,
                         const Refuse& refuse) {
  const auto wrong = [&](const std::string& note) {
    refuse("schedule.agents.roles", note,
           "name at least two agents, and for each how many statements of the body it runs");
  };
  if (names.size() < 2 || names.size() != counts.size())
    wrong(str("there are ", names.size(), " agents and ", counts.size(), " numbers of statements"));
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    wrong("two agents have one name");
  std::vector<Role> roles;
  size_t next = 0;
  for (size_t r = 0; r < names.size(); ++r) {
    const int64_t count = program.value(counts[r]);
    if (count < 1 || count > static_cast<int64_t>(body.stmts.size() - next))
      wrong(str("agent `", names[r], "` cannot run ", count, " of the ", body.stmts.size(),
                " statements of the body"));
    roles.push_back({.name = names[r], .stmts = {}, .scratch = {}, .gives = {}, .takes = {}});
    for (int64_t i = 0; i < count; ++i) roles[r].stmts.push_back(body.stmts[next++]);
  }
  if (next != body.stmts.size())
    wrong(str("the agents run ", next, " of the ", body.stmts.size(), " statements of the body"));
  return roles;
}

void check_place(const Program& program, const ir::For& loop, const Refuse& refuse) {
  for (const Stmt& s : program.path_to(loop))
    if (s.as<ir::Agents>())
      refuse("schedule.agents.place", "it is run by an agent already", "name a loop outside");
  for (const ir::For* l : program.loops_around(loop)) {
    const bool threads = l->loop == ir::ForKind::Bound && l->axis >= ir::ThreadAxis::ThreadX;
    if (threads || l->loop == ir::ForKind::Parallel || l->loop == ir::ForKind::Vectorized ||
        l->loop == ir::ForKind::VThread)
      refuse("schedule.agents.place",
             str("`", l->var.name(), "` around it is ",
                 threads ? str("bound to ", ir::name(l->axis)) : str(ir::name(l->loop))),
             "agents stand inside loops that are serial or bound to blocks");
  }
  ir::walk(loop.body, [&](const ir::For& f) {
    if (f.loop == ir::ForKind::Bound)
      refuse("schedule.agents.place",
             str("`", f.var.name(), "` inside is bound to ", ir::name(f.axis)),
             "an agent has threads of its own");
  });
}

}  // namespace

Results Agents::apply(Program& program) const {
  const ir::For& k = program.loop(loop);
  const Refuse refuse{k};
  const int64_t ring = program.value(slots);
  if (ring < 1 || ring > 64)
    refuse("schedule.agents.slots", str("a channel would have ", ring, " slots"),
           "use 1 to 64 slots");
  require_divisible(program, k, name);
  check_place(program, k, refuse);
  const OpenBody body = open_body(k.body);
  std::vector<Role> all = divide(program, body, roles, statements, refuse);
  std::vector<Touches> touches;
  for (const Role& r : all) touches.emplace_back(r.stmts);

  const auto own = [&](const ir::Buffer& b) {
    return std::find(body.buffers.begin(), body.buffers.end(), b) != body.buffers.end();
  };
  const auto private_scope = [](const ir::Buffer& b) {
    return b->scope.kind == ir::ScopeKind::Register || b->scope.kind == ir::ScopeKind::Tile;
  };
  for (size_t r = 0; r < all.size(); ++r)
    for (const ir::Buffer& b : touches[r].all) {
      if (own(b)) continue;
      if (private_scope(b))
        refuse("schedule.agents.scope",
               str("agent `", all[r].name, "` touches `", b->name, "`, which lives in `",
                   print(b->scope), "` outside of the agents"),
               "keep it in shared memory, or allocate it inside of the loop");
      for (size_t q = 0; q < all.size(); ++q)
        if (q != r && touches[q].writes(b))
          refuse("schedule.agents.dependence",
                 str("`", b->name, "`, which outlives an iteration, is written by agent `",
                     all[q].name, "` and touched by agent `", all[r].name, "`"),
                 "let one agent do both, or move the buffer into the loop");
    }

  std::vector<ir::Buffer> rings;
  for (const ir::Buffer& b : body.buffers) {
    std::vector<size_t> users;
    for (size_t r = 0; r < all.size(); ++r)
      if (touches[r].touches(b)) users.push_back(r);
    if (users.size() < 2) {
      if (!users.empty()) all[users[0]].scratch.push_back(b);
      continue;
    }
    for (size_t i = 1; i < users.size(); ++i)
      if (touches[users[i]].writes(b))
        refuse("schedule.agents.writers",
               str("`", b->name, "` is written by agent `", all[users[i]].name,
                   "` and touched by agent `", all[users[0]].name, "`"),
               "let the first agent that touches a buffer be the only one that writes it");
    if (private_scope(b))
      refuse("schedule.agents.scope",
             str("`", b->name, "` goes from agent `", all[users[0]].name, "` to agent `",
                 all[users[1]].name, "`, but lives in `", print(b->scope), "`"),
             "hand on what lives in shared memory (set_scope)");
    for (size_t i = 1; i < users.size(); ++i) {
      all[users[0]].gives.insert(users[i]);
      all[users[i]].takes.insert(users[0]);
    }
    const Slots turns(program, k, b, ring, name);
    for (Role& r : all)
      for (Stmt& s : r.stmts) s = turns.apply(s);
    rings.push_back(turns.buffer());
  }

  std::vector<ir::Channel> channels(all.size());
  for (size_t r = 0; r < all.size(); ++r)
    if (!all[r].gives.empty())
      channels[r] = ir::Channel(std::make_shared<const ir::ChannelNode>(
          ir::ChannelNode{.name = all[r].name,
                          .slots = ring,
                          .releases = static_cast<int64_t>(all[r].gives.size())}));
  std::vector<ir::Agent> agents;
  Results out;
  for (size_t r = 0; r < all.size(); ++r) {
    const ir::Var var(k.var.name());
    const Expr item = var - k.min;
    std::vector<Stmt> stmts;
    const auto op = [&](ir::ChannelOpKind kind, size_t of) {
      stmts.push_back(ir::make_stmt<ir::ChannelOp>(k.span, kind, channels[of], item));
    };
    for (const size_t from : all[r].takes) op(ir::ChannelOpKind::Wait, from);
    if (channels[r]) op(ir::ChannelOpKind::Acquire, r);
    stmts.push_back(ir::substitute(allocated(all[r].scratch, ir::seq(all[r].stmts)), k.var, var));
    if (channels[r]) op(ir::ChannelOpKind::Commit, r);
    for (const size_t from : all[r].takes) op(ir::ChannelOpKind::Release, from);
    agents.push_back(
        {.name = all[r].name,
         .index = {},
         .thread = ir::Var("t"),
         .body = ir::make_stmt<ir::For>(k.span, var, k.min, k.extent, ir::seq(std::move(stmts)))});
    out.push_back(LoopResult{var});
  }
  Stmt now = ir::make_stmt<ir::Agents>(k.span, agents);
  for (size_t r = all.size(); r-- > 0;)
    if (channels[r]) now = ir::make_stmt<ir::ChannelScope>(k.span, channels[r], now);
  program.replace(k, allocated(rings, now));
  return out;
}

}  // namespace tilewright::schedule
