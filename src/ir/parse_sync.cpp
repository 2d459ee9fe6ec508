// SPDX-License-Identifier: Apache-2.0
// The statements of concurrent programs: agents, channels, barriers, atomics.
#include "ir/parse_stmt.h"

namespace tilewright::ir {

StmtParser::Open StmtParser::channel() {
  const Token at = cursor_.next();
  const Token name = cursor_.expect_name("a channel");
  auto made = std::make_shared<ChannelNode>();
  made->name = name.text;
  made->span = cursor_.span(name);
  cursor_.expect("[", "before the number of slots");
  made->slots = cursor_.expect_int("the number of slots", 1);
  cursor_.expect("]", "after the number of slots");
  cursor_.expect("commits", "after the channel");
  cursor_.expect("=", "after `commits`");
  made->commits = cursor_.expect_int("the number of commits", 1);
  cursor_.expect("releases", "after the commits");
  cursor_.expect("=", "after `releases`");
  made->releases = cursor_.expect_int("the number of releases", 1);
  cursor_.expect("over", "after the releases");
  made->reach = one_of("what the channel spans",
                       {ChannelReach::Agent, ChannelReach::Block, ChannelReach::Cluster});
  const Channel handle{std::shared_ptr<const ChannelNode>(std::move(made))};
  names_.declare(cursor_, name, handle);
  return {0, [=, this](Stmt body) { return node<ChannelScope>(at, handle, std::move(body)); }};
}

std::pair<Token, int64_t> StmtParser::counted(std::string_view what) {
  const Token name = cursor_.expect_name(what);
  cursor_.expect("in", str("after `", name.text, "`"));
  cursor_.expect_int("the first value", 0, 0);
  cursor_.expect("..", "after 0");
  return {name, cursor_.expect_int("the end of the range", 1)};
}

Stmt StmtParser::agents() {
  const Token at = cursor_.next();
  enter(cursor_.expect("{", "after `agents`"));
  std::vector<Agent> agents;
  while (!cursor_.accept("}")) agents.push_back(agent());
  leave();
  return node<Agents>(at, std::move(agents));
}

Agent StmtParser::agent() {
  Agent out;
  const NameScope scope(names_);
  out.name = cursor_.expect_word("an agent").text;
  const auto variable = [&](std::string_view what, Var& var, int64_t& count) {
    const auto [name, end] = counted(what);
    var = Var(std::string(name.text), kIndex, cursor_.span(name));
    count = end;
    names_.declare(cursor_, name, var);
  };
  if (cursor_.accept("[")) {
    variable("the index of the agent", out.index, out.count);
    cursor_.expect("]", "after the number of agents");
  }
  cursor_.expect("(", "before the threads of the agent");
  variable("the thread of the agent", out.thread, out.threads);
  if (cursor_.accept(",")) {
    cursor_.expect("regs", "after the threads");
    cursor_.expect("=", "after `regs`");
    out.registers = cursor_.expect_int("the number of registers", 1);
  }
  cursor_.expect(")", "after the threads");
  cursor_.expect(":", "before the body of the agent");
  out.body = block();
  return out;
}

StmtParser::Item StmtParser::item() {
  Item out;
  const Token name = cursor_.expect_word("a channel");
  out.channel = names_.channel(cursor_, name);
  out.rank = exprs_.rank();
  cursor_.expect("[", "before the number of the item");
  out.item = exprs_.expr();
  cursor_.expect("]", "after the number of the item");
  return out;
}

Stmt StmtParser::channel_op() {
  const Token at = cursor_.peek();
  const auto op = one_of("a channel operation", {ChannelOpKind::Acquire, ChannelOpKind::Commit,
                                                 ChannelOpKind::Wait, ChannelOpKind::Release});
  const Item on = item();
  Expr bytes;
  const bool stated = cursor_.at("bytes") && !cursor_.next_is("[") && !cursor_.next_is("@");
  if (op == ChannelOpKind::Commit && stated) {
    cursor_.next();
    bytes = exprs_.expr();
  }
  return node<ChannelOp>(at, op, on.channel, on.item, bytes, on.rank);
}

Stmt StmtParser::async() {
  const Token at = cursor_.next();
  cursor_.expect("->", "after `async`");
  const Item on = item();
  Expr bytes;
  if (cursor_.accept("bytes")) bytes = exprs_.expr();
  return node<Async>(at, on.channel, on.item, bytes, on.rank, block());
}

Stmt StmtParser::barrier() {
  const Token at = cursor_.next();
  const auto reach = one_of("who waits at the barrier",
                            {BarrierReach::Warp, BarrierReach::Agent, BarrierReach::Named,
                             BarrierReach::Block, BarrierReach::Cluster, BarrierReach::Grid});
  if (reach != BarrierReach::Named) return node<Barrier>(at, reach);
  const std::string name = cursor_.expect_string("the name of the barrier");
  return node<Barrier>(at, reach, name, cursor_.expect_int("the number of participants", 1));
}

Stmt StmtParser::atomic() {
  const Token at = cursor_.next();
  const auto op = one_of("an atomic operation", {AtomicOp::Add, AtomicOp::Min, AtomicOp::Max,
                                                 AtomicOp::Exchange, AtomicOp::CompareExchange});
  MemoryOrder order = MemoryOrder::Relaxed;
  if (!cursor_.at("("))
    order = one_of("a memory order", {MemoryOrder::Relaxed, MemoryOrder::Acquire,
                                      MemoryOrder::Release, MemoryOrder::AcquireRelease});
  cursor_.expect("(", "before the element");
  ExprParser::Access a = exprs_.access();
  if (a.mask || a.rank)
    cursor_.fail("ir.parse.atomic", a.at, "an atomic has neither mask nor rank",
                 "put the atomic under an `if`");
  cursor_.expect(",", "after the element");
  const Expr value = exprs_.expr();
  Expr expected;
  if (cursor_.accept(",")) expected = exprs_.expr();
  cursor_.expect(")", "after the value");
  Buffer old;
  if (cursor_.accept("->")) old = names_.buffer(cursor_, cursor_.expect_word("a buffer"));
  return node<Atomic>(at, op, order, std::move(a.buffer), std::move(a.indices), value, expected,
                      old);
}

Stmt StmtParser::prefetch() {
  const Token at = cursor_.next();
  const int64_t level = cursor_.expect_int("the cache level", 1, 3);
  const bool write = cursor_.at("write") && !cursor_.next_is("[");
  if (write) cursor_.next();
  ExprParser::Access a = exprs_.access();
  if (a.mask || a.rank)
    cursor_.fail("ir.parse.prefetch", a.at, "a prefetch has neither mask nor rank",
                 "name one element");
  return node<Prefetch>(at, std::move(a.buffer), std::move(a.indices), static_cast<int32_t>(level),
                        write);
}

}  // namespace tilewright::ir
