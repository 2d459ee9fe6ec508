// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/interpret/compiler.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ir::run {

void Compiler::agents(const Agents& a) {
  const auto index = static_cast<Reg>(program_.agents.size());
  program_.agents.emplace_back();
  const int32_t at = emit({.op = Op::Agents, .a = index});
  const bool outer_threads = in_threads_;
  in_threads_ = true;
  AgentsInfo info;
  for (const Agent& agent : a.agents) {
    const Mark m = mark();
    AgentsInfo::Entry entry;
    entry.agent = &agent;
    entry.body = here();
    if (agent.index) {
      entry.index = reserve();
      bind(agent.index, {entry.index, 1});
    }
    if (agent.thread) {
      entry.thread = reserve();
      bind(agent.thread, {entry.thread, 1});
      mark_thread_var(agent.thread, agent.threads > 1);
    }
    info.entries.push_back(entry);
    stmt(agent.body);
    emit({.op = Op::TaskEnd});
    release(m);
  }
  in_threads_ = outer_threads;
  program_.agents[static_cast<size_t>(index)] = std::move(info);
  set_target(at);
}

void Compiler::channel_scope(const ChannelScope& c) {
  ChannelInfo info;
  info.channel = c.channel.get();
  info.reg = reserve();
  if (in_threads_)  // over a cluster there is one instance per block
    info.share = c.channel->reach == ChannelReach::Agent ? Share::Agent : Share::Block;
  if (info.share != Share::Task) info.site = program_.sites++;
  channels_[c.channel.get()] = info.reg;
  const auto index = static_cast<Reg>(program_.channels.size());
  program_.channels.push_back(info);
  emit({.op = Op::ChannelOpen, .a = index});
  stmt(c.body);
  emit({.op = Op::ChannelClose, .a = index});
}

Reg Compiler::channel_reg(const Channel& channel, const Span& at) const {
  const auto found = channels_.find(channel.get());
  if (found != channels_.end()) return found->second;
  throw Error({.code = "ir.run.unbound",
               .at = at,
               .message = str("channel `", channel->name, "` does not exist here"),
               .help = "use the channel inside the braces that declare it"});
}

void Compiler::channel_op(const ChannelOp& c) {
  ChannelOpInfo info;
  info.op = &c;
  info.channel = channel_reg(c.channel, c.span);
  info.item = scalar(c.item);
  if (c.bytes) info.bytes = scalar(c.bytes);
  if (c.rank) info.peer = scalar(c.rank);
  emit({.op = Op::ChannelOp, .a = static_cast<Reg>(program_.channel_ops.size())});
  program_.channel_ops.push_back(info);
}

/// Does the value differ between the threads of an agent?
bool Compiler::names_thread(const Expr& e) const {
  bool found = false;
  walk(
      e, [&](const VarNode& v) { found = found || depends_on_thread(v); },
      [&](const Load& l) {
        const auto at = buffers_.find(l.buffer.get());
        found = found || (at != buffers_.end() && at->second.thread_private);
      });
  return found;
}

/// Does the statement differ between the threads of an agent? `slots` receives its buffers.
bool Compiler::names_thread(const Stmt& s, std::vector<int32_t>* slots) const {
  bool found = false;
  const auto mention = [&](const Buffer& b) {
    const auto at = b ? buffers_.find(b.get()) : buffers_.end();
    if (at == buffers_.end()) return;
    found = found || at->second.thread_private;
    slots->push_back(at->second.slot);
  };
  walk(
      s, [&](const VarNode& v) { found = found || depends_on_thread(v); },
      [&](const Load& l) { mention(l.buffer); }, [&](const Store& st) { mention(st.buffer); },
      [&](const Update& u) {
        for (const Target& t : u.targets) mention(t.buffer);
      },
      [&](const Atomic& a) {
        mention(a.buffer);
        mention(a.old);
      },
      [&](const InstrCall& c) {
        for (const Region& r : c.operands) mention(r.buffer);
      });
  std::sort(slots->begin(), slots->end());
  slots->erase(std::unique(slots->begin(), slots->end()), slots->end());
  return found;
}

void Compiler::async(const Async& a) {
  AsyncInfo info;
  info.async = &a;
  info.channel = channel_reg(a.channel, a.span);
  info.item = scalar(a.item);
  if (a.bytes) info.bytes = scalar(a.bytes);
  if (a.rank) info.peer = scalar(a.rank);
  info.per_thread = names_thread(a.body, &info.slots);
  const auto index = static_cast<Reg>(program_.asyncs.size());
  program_.asyncs.push_back(std::move(info));
  const int32_t at = emit({.op = Op::Async, .a = index});
  const bool outer_async = in_async_;
  in_async_ = true;
  stmt(a.body);
  in_async_ = outer_async;
  emit({.op = Op::TaskEnd});
  set_target(at);
}

void Compiler::barrier(const Barrier& b) {
  emit({.op = Op::Barrier, .a = static_cast<Reg>(program_.barriers.size())});
  program_.barriers.push_back(&b);
}

void Compiler::atomic(const Atomic& a) {
  AtomicInfo info;
  info.atomic = &a;
  info.access =
      access(storage(*a.buffer, a.span), indices(a.indices), nullptr, nullptr, true, false);
  info.value = scalar(a.value);
  if (a.expected) info.expected = scalar(a.expected);
  if (a.old) info.old_access = access(storage(*a.old, a.span), {}, nullptr, nullptr, true, false);
  emit({.op = Op::Atomic, .a = static_cast<Reg>(program_.atomics.size())});
  program_.atomics.push_back(info);
}

}  // namespace tilewright::ir::run
