// SPDX-License-Identifier: Apache-2.0
// Channels, asynchronous operations and atomics.
#include <algorithm>

#include "ir/interpret/machine.h"
#include "ir/interpret/pure.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

std::string op_name(const StmtNode& stmt) {
  if (stmt.kind == StmtKind::Async) return "async ->";
  return std::string(name(static_cast<const ChannelOp&>(stmt).op));
}

std::string item_name(const ChannelInstance& ch, int64_t item) {
  return str("`", ch.channel->name, "[", item, "]`");
}

}  // namespace

ChannelInstance& Machine::new_channel(const ChannelInfo& info, Team* team, uint32_t execution) {
  channels_.push_back(std::make_unique<ChannelInstance>());
  ChannelInstance& ch = *channels_.back();
  items_.try_emplace(info.channel, 0);
  ch.channel = info.channel;
  ch.info = &info;
  ch.team = team;
  ch.execution = execution;
  return ch;
}

ChannelInstance& Machine::shared_channel(const ChannelInfo& info, Team& team, uint32_t execution,
                                         int64_t part) {
  ChannelInstance*& ch = team.channels[{info.site, execution, part}];
  if (!ch) {
    ch = &new_channel(info, &team, execution);
    ch->part = part;
  }
  return *ch;
}

void Machine::open_channel(Task& t, const ChannelInfo& info) {
  ChannelInstance* ch;
  if (info.share == Share::Task) {
    ch = &new_channel(info, nullptr, 0);
  } else {
    const uint32_t execution = t.executions[static_cast<size_t>(info.site)]++;
    ch = &shared_channel(info, team_for(t, info.share), execution, part_for(t, info.share));
  }
  t.r[info.reg] = reinterpret_cast<uint64_t>(ch);
}

void Machine::close_channel(Task& t, const ChannelInfo& info) {
  auto& ch = *reinterpret_cast<ChannelInstance*>(t.r[info.reg]);
  if (info.share != Share::Task && ++ch.left < sharers(t, *ch.team, info.share)) return;
  if (ch.pending > 0) return;  // looked at when everything has ended
  check_finished(ch);
  ch.checked = true;
  ch.items.clear();
}

ChannelInstance& Machine::channel_of(Task& t, Reg channel, Reg peer) {
  auto& own = *reinterpret_cast<ChannelInstance*>(t.r[channel]);
  if (peer == kNoReg) return own;
  const int64_t rank = as_int(t.r[peer]);
  const std::string what = str("`", own.channel->name, "@", rank, "`");
  if (own.channel->reach != ChannelReach::Cluster || !own.team)
    fail("ir.run.channel", stmt_at(t), str(what, " does not exist"),
         {str("`", own.channel->name, "` is not a channel over the blocks of a cluster")},
         "declare the channel `over cluster`, inside the cluster's blocks");
  return shared_channel(*own.info, peer_of(t, rank, what), own.execution, own.part);
}

/// A thread comes to an operation of its agent. All threads come to the same operations in the same
/// order; the last one to come makes the operation happen.
AgentOp& Machine::arrive(Task& t, const StmtNode& stmt, ChannelInstance& ch, int64_t item,
                         int64_t bytes) {
  Team& agent = agent_of(t);
  if (item < 0)
    fail("ir.run.channel", &stmt, str("`", op_name(stmt), " ", ch.channel->name, "[", item, "]`"),
         {"the items of a channel are numbered 0, 1, 2, …", str("in ", name_of(t))},
         "use an item number of at least 0");
  const auto at = static_cast<size_t>(t.ops_done - agent.ops_done);
  if (at == agent.ops.size()) {
    if (stmt.kind == StmtKind::ChannelOp) {
      const ChannelOpKind kind = static_cast<const ChannelOp&>(stmt).op;
      const auto [last, first] = agent.last_item.try_emplace({&ch, kind}, item);
      if (!first && item <= last->second)
        fail("ir.run.channel", &stmt,
             str("`", name(kind), "` of item ", item, " of `", ch.channel->name, "` after item ",
                 last->second),
             {str("in ", name_of(t))},
             "let the item number grow with every operation of one kind of an agent");
      last->second = item;
    }
    int64_t& items = items_[ch.channel];
    items = std::max(items, item == INT64_MAX ? item : item + 1);
    agent.ops.push_back({&stmt, &ch, item, bytes, 0, {}});
  }
  AgentOp& op = agent.ops[at];
  if (op.stmt != &stmt || op.channel != &ch || op.item != item || op.bytes != bytes)
    fail("ir.run.channel", &stmt, "the threads of one agent do different channel operations",
         {str(name_of(t), " comes to `", op_name(stmt), " ", ch.channel->name, "[", item, "]`",
              where(&stmt)),
          str("another thread to `", op_name(*op.stmt), " ", op.channel->channel->name, "[",
              op.item, "]`", where(op.stmt))},
         "move the operation out of control flow that differs between the agent's threads");
  ++t.ops_done;
  ++op.arrived;
  return op;
}

void Machine::pop_complete(Team& agent) {
  while (!agent.ops.empty() && agent.ops.front().arrived == agent.threads) {
    agent.ops.pop_front();
    ++agent.ops_done;
  }
}

/// Lets a task through whose item is free or full; it then sees what was released or committed.
bool Machine::try_pass(Task& t, ChannelInstance& ch, int64_t item, bool acquire) {
  if (acquire) {
    if (item < ch.channel->slots) return true;
    const Item& before = ch.items[item - ch.channel->slots];
    if (before.releases < ch.channel->releases) return false;
    if (check_) t.clock.join(before.freed);
    return true;
  }
  Item& it = ch.items[item];
  if (!it.full) return false;
  if (check_) {
    t.clock.join(it.committed);
    t.clock.join(it.filled);
    t.free_ids.insert(t.free_ids.end(), it.ended.begin(), it.ended.end());
  }
  concurrent_ -= static_cast<int64_t>(it.ended.size());
  it.ended.clear();
  return true;
}

void Machine::channel_op(Task& t, const ChannelOpInfo& info) {
  const ChannelOp& stmt = *info.op;
  ChannelInstance& ch = channel_of(t, info.channel, info.peer);
  const int64_t number = as_int(t.r[info.item]);
  const int64_t bytes = info.bytes == kNoReg ? 0 : as_int(t.r[info.bytes]);
  if (bytes < 0)
    fail("ir.run.channel", &stmt, str("`commit` of ", bytes, " bytes"), {str("in ", name_of(t))},
         "commit as many bytes as the asynchronous operations of the item deliver");
  AgentOp& op = arrive(t, stmt, ch, number, bytes);
  Item& item = ch.items[number];
  if (!item.first_op) item.first_op = &stmt;
  const bool blocking = stmt.op == ChannelOpKind::Acquire || stmt.op == ChannelOpKind::Wait;
  if (blocking) {
    const bool acquire = stmt.op == ChannelOpKind::Acquire;
    if (acquire) item.acquired = true;
    pop_complete(agent_of(t));
    if (try_pass(t, ch, number, acquire)) {
      ++t.pc;
      return;
    }
    ch.waiters.push_back({&t, number, acquire});
    t.state = TaskState::AtChannel;
    t.channel = &ch;
    t.item = number;
    return;
  }
  if (check_) op.clock.join(publish(t));
  ++t.pc;
  if (op.arrived < agent_of(t).threads) return;
  const bool commit = stmt.op == ChannelOpKind::Commit;
  int64_t& count = commit ? item.commits : item.releases;
  const int64_t most = commit ? ch.channel->commits : ch.channel->releases;
  if (++count > most)
    fail("ir.run.channel", &stmt,
         str(item_name(ch, number), " has more than ", most, commit ? " commits" : " releases"),
         {str("channel `", ch.channel->name, "` is declared with ",
              commit ? "commits=" : "releases=", most),
          str("the last one is by ", name_of(t))},
         "let as many agents commit or release an item as the channel declares");
  if (check_) (commit ? item.committed : item.freed).join(op.clock);
  item.promised += commit ? bytes : 0;
  pop_complete(agent_of(t));
  settle(ch, number, item, stmt);
}

/// Sees whether the item has become full, and lets those through who waited for what has changed.
void Machine::settle(ChannelInstance& ch, int64_t number, Item& item, const StmtNode& stmt) {
  const bool committed = item.commits == ch.channel->commits;
  if (committed && item.delivered > item.promised) report_bytes(&stmt, ch, number, item);
  if (committed && !item.full && item.pending == 0 && item.delivered == item.promised) {
    for (const Epoch& e : item.empty_asyncs)
      if (item.committed.at(e.task) < e.time)
        fail("ir.run.channel", &stmt,
             str("an asynchronous operation of ", item_name(ch, number),
                 " may be issued after the item is full"),
             {"it delivers no bytes, so that only a commit after it keeps the item open",
              str("it is issued by ", name_of(e))},
             "commit the item in the agent that issues the operation, after it");
    item.full = true;
  }
  auto& waiters = ch.waiters;
  for (size_t i = 0; i < waiters.size();) {
    const ChannelInstance::Waiter w = waiters[i];
    if (!try_pass(*w.task, ch, w.item, w.acquire)) {
      ++i;
      continue;
    }
    waiters.erase(waiters.begin() + static_cast<std::ptrdiff_t>(i));
    ++w.task->pc;
    make_ready(*w.task);
  }
}

void Machine::issue_async(Task& t, const Inst& i) {
  const AsyncInfo& info = program_.asyncs[static_cast<size_t>(i.a)];
  const Async& stmt = *info.async;
  ChannelInstance& ch = channel_of(t, info.channel, info.peer);
  const int64_t number = as_int(t.r[info.item]);
  const int64_t bytes = info.bytes == kNoReg ? -1 : as_int(t.r[info.bytes]);
  const int32_t body = t.pc + 1;
  if (info.bytes != kNoReg && bytes < 0)
    fail("ir.run.channel", &stmt, str("an asynchronous operation delivers ", bytes, " bytes"),
         {str("in ", name_of(t))}, "state a number of bytes of at least 0");
  if (info.per_thread) {
    if (number < 0) arrive(t, stmt, ch, number, bytes);  // reports it
    start_async(t, info, ch, number, check_ ? publish(t) : Clock(), body);
    t.pc = i.dst;
    return;
  }
  AgentOp& op = arrive(t, stmt, ch, number, bytes);
  if (check_) op.clock.join(publish(t));
  if (op.arrived == agent_of(t).threads) {
    start_async(t, info, ch, number, op.clock, body);
    pop_complete(agent_of(t));
  }
  t.pc = i.dst;
}

void Machine::start_async(Task& t, const AsyncInfo& info, ChannelInstance& ch, int64_t number,
                          Clock clock, int32_t body) {
  Item& item = ch.items[number];
  if (!item.first_op) item.first_op = info.async;
  if (item.full)
    fail("ir.run.channel", info.async,
         str("an asynchronous operation names ", item_name(ch, number), ", which is already full"),
         {str("it has its ", item.commits, " commits and ", item.delivered, " bytes"),
          str("issued by ", name_of(t))},
         "commit the item after issuing the operation, or commit the bytes that it delivers");
  Task& a = new_task(t);
  a.async = &info;
  a.channel = &ch;
  a.item = number;
  a.bits = info.bytes == kNoReg ? 0 : as_int(t.r[info.bytes]) * 8;
  a.clock = std::move(clock);
  a.issued = {t.id, t.time - 1};  // publishing has moved the issuer's time on
  auto name = std::make_shared<TaskName>();
  *name = {t.name, info.async, nullptr, number, 0};
  a.name = std::move(name);
  take_id(a, t.free_ids);
  a.pc = body;
  ++item.pending;
  ++ch.pending;
  ++concurrent_;
  for (const int32_t slot : info.slots) {
    Instance* m = a.slots[static_cast<size_t>(slot)];
    if (!m->alloc) continue;  // a parameter
    ++m->borrowed;
    if (check_) note_user(*m, {a.now(), t.pc});
  }
  make_ready(a);
}

void Machine::end_async(Task& t) {
  ChannelInstance& ch = *t.channel;
  Item& item = ch.items[t.item];
  const int64_t bytes = (t.bits + 7) / 8;
  item.delivered += bytes;
  --item.pending;
  --ch.pending;
  if (check_) {
    if (bytes == 0) item.empty_asyncs.push_back(t.issued);
    item.filled.join(publish(t));
    item.ended.push_back(t.id);
  } else {
    --concurrent_;
  }
  for (const int32_t slot : t.async->slots) {
    Instance* m = t.slots[static_cast<size_t>(slot)];
    if (!m->alloc) continue;
    --m->borrowed;
    if (m->ended && m->borrowed == 0) drop(*m);
  }
  settle(ch, t.item, item, *t.async->async);
}

void Machine::report_bytes(const StmtNode* at, const ChannelInstance& ch, int64_t number,
                           const Item& item) const {
  fail("ir.run.channel", at,
       str(item_name(ch, number), " receives ", item.delivered, " bytes and was committed with ",
           item.promised),
       {"an item is full when exactly the committed bytes have arrived"},
       "commit the bytes that the asynchronous operations of the item deliver");
}

void Machine::check_finished(const ChannelInstance& ch) const {
  int64_t first = INT64_MAX;
  for (const auto& [number, item] : ch.items) {
    const bool used = item.acquired || item.commits > 0 || item.delivered > 0;
    const bool done = item.full && (!item.acquired || item.releases == ch.channel->releases);
    if (used && !done) first = std::min(first, number);
  }
  if (first == INT64_MAX) return;
  const Item& item = ch.items.at(first);
  if (item.commits == ch.channel->commits && item.promised != item.delivered)
    report_bytes(item.first_op, ch, first, item);
  fail("ir.run.channel", item.first_op,
       str(item_name(ch, first), item.full ? " is not released" : " is not full", " at the end"),
       {str("it has ", item.commits, " of ", ch.channel->commits, " commits and ", item.releases,
            " of ", ch.channel->releases, " releases")},
       "commit, fill and release every item that is acquired as often as the channel declares");
}

}  // namespace tilewright::ir::run
