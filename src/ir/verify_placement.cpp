// SPDX-License-Identifier: Apache-2.0
// What may stand inside what: agents, channels, asynchronous operations, barriers, bound loops.
#include <map>
#include <optional>

#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir::detail {
namespace {

/// Statements that only compute, with loops that are executed by one thread.
constexpr Parts kComputing = {{StmtKind::Store, StmtKind::Update, StmtKind::Seq, StmtKind::Let,
                               StmtKind::Alloc, StmtKind::While, StmtKind::If, StmtKind::Block,
                               StmtKind::InstrCall, StmtKind::Atomic, StmtKind::Prefetch},
                              {ForKind::Serial, ForKind::Vectorized, ForKind::Unrolled}};

struct PlaceRule {
  Parts around;
  Parts inside;  // what may stand inside, at any depth
  std::string_view why;
  std::string_view help;
};

constexpr PlaceRule kRules[] = {
    {.around = {{}, {ForKind::Vectorized}},
     .inside = kComputing,
     .why = "its iterations become the lanes of one thread",
     .help = "make the loop serial, or move the statement out of it"},
    {.around = {{}, {ForKind::Parallel}},
     .inside = kAllParts.without({{StmtKind::Agents, StmtKind::Barrier}, {ForKind::Bound}}),
     .why = "its iterations run on as many threads as there happen to be",
     .help = "bind the loop to blocks or threads with `bind(…)`"},
    {.around = {{}, {ForKind::VThread}},
     .inside = kAllParts.without({{StmtKind::Agents, StmtKind::Barrier}}),
     .why = "its iterations are interleaved in any order",
     .help = "move the statement out of the loop, or make the loop serial"},
    {.around = {StmtKind::Async},
     .inside = kComputing.without({{StmtKind::Alloc, StmtKind::While}}),
     .why = "an asynchronous operation only moves or combines data",
     .help = "move the statement before or behind `async`"},
    {.around = {StmtKind::Agents},
     .inside = kAllParts.without({{StmtKind::Agents}, {ForKind::Bound}}),
     .why = "an agent has threads of its own",
     .help = "use the agent's thread variable, and agents beside instead of inside one another"},
};

void check_rules(const Stmt& s, const Path& path) {
  for (const Around& around : path) {
    for (const PlaceRule& rule : kRules) {
      if (!rule.around.contains(around.stmt) || rule.inside.contains(s)) continue;
      fail("ir.verify.placement", s->span,
           str(describe(s), " stands inside ", describe(around.stmt)), {std::string(rule.why)},
           std::string(rule.help));
    }
  }
}

const For* bound_loop(const Around& around) {
  const For* loop = around.stmt.as<For>();
  return loop && loop->loop == ForKind::Bound ? loop : nullptr;
}

/// The innermost statement around for which `test` holds, or null.
template <class Test>
const Around* find(const Path& path, Test test) {
  for (auto it = path.rbegin(); it != path.rend(); ++it)
    if (test(*it)) return &*it;
  return nullptr;
}

bool inside_bound(const Path& path, bool (*test)(ThreadAxis)) {
  return find(path, [&](const Around& a) {
    const For* loop = bound_loop(a);
    return loop && test(loop->axis);
  });
}

bool inside_agent(const Path& path) {
  return find(path, [](const Around& a) { return a.agent != nullptr; });
}

/// Blocks hold clusters' ranks, those hold threads; each axis is bound once.
void check_bound_loop(const For& loop, const Path& path) {
  const auto level = [](ThreadAxis axis) { return is_block(axis) ? 0 : is_cluster(axis) ? 1 : 2; };
  for (const Around& around : path) {
    const For* outer = bound_loop(around);
    if (!outer) continue;
    if (outer->axis == loop.axis)
      fail("ir.verify.bind_axis", loop.span,
           str("loop ", quoted(loop.var.name()), " is bound to `", name(loop.axis),
               "` inside of loop ", quoted(outer->var.name()), ", which is bound to it already"),
           {}, "bind the loops to two axes, or fuse them first");
    if (level(outer->axis) > level(loop.axis))
      fail("ir.verify.bind_axis", loop.span,
           str("loop ", quoted(loop.var.name()), " is bound to `", name(loop.axis),
               "` inside of loop ", quoted(outer->var.name()), " bound to `", name(outer->axis),
               "`"),
           {"blocks hold the ranks of a cluster, and those hold threads"},
           "reorder the loops: block outside, then cluster, then thread");
  }
}

void check_agents(const Stmt& s, const Path& path) {
  if (inside_bound(path, is_thread))
    fail("ir.verify.placement", s->span, "`agents` stands inside a loop that is bound to threads",
         {"each agent has threads of its own: `load(t in 0..32): …`"},
         "put `agents` into the loop bound to blocks, without a loop bound to threads around it");
  std::map<std::string, int> names;
  for (const Agent& a : s.as<Agents>()->agents)
    if (names[a.name]++ > 0)
      fail("ir.verify.duplicate", s->span, str("two agents are named ", quoted(a.name)), {},
           "give every agent its own name, or write one with an index: `compute[c in 0..2]`");
}

/// Channel operations of concurrent iterations would not grow in item number.
void check_channel_use(const Stmt& s, const Channel& channel, const Expr& rank, const Path& path) {
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    const ChannelScope* scope = it->stmt.as<ChannelScope>();
    if (scope && scope->channel == channel) break;
    const For* loop = it->stmt.as<For>();
    if (loop && (loop->loop == ForKind::Parallel || loop->loop == ForKind::VThread))
      fail("ir.verify.placement", s->span,
           str(describe(s), " stands inside ", describe(it->stmt), ", its channel outside"),
           {"the item numbers of one agent grow, which iterations in any order cannot ensure"},
           "declare the channel inside the loop, or make the loop serial");
    if (loop && loop->loop == ForKind::Bound && !is_thread(loop->axis))
      fail("ir.verify.channel_reach", s->span,
           str("channel ", quoted(channel->name), " is declared outside of ", describe(it->stmt)),
           {"a channel connects agents of one block; every block has channels of its own"},
           str("declare the channel inside the loop ", quoted(loop->var.name())));
    if (it->agent && channel->reach == ChannelReach::Agent)
      fail(
          "ir.verify.channel_reach", s->span,
          str("channel ", quoted(channel->name), " is `over agent`, but declared outside of agent ",
              quoted(it->agent->name), " that uses it"),
          {}, "declare it inside the agent, or `over block`");
  }
  if (rank && channel->reach != ChannelReach::Cluster)
    fail("ir.verify.channel_reach", s->span,
         str("channel ", quoted(channel->name), " is `over ", name(channel->reach),
             "`, so that no other block can name it"),
         {}, "declare the channel `over cluster`");
}

/// What must stand around a barrier, and how it is asked for.
std::optional<std::string_view> missing_around(BarrierReach reach, const Path& path) {
  const bool threads = inside_agent(path) || inside_bound(path, is_thread);
  switch (reach) {
    case BarrierReach::Agent: return inside_agent(path) ? std::nullopt : std::optional("an agent");
    case BarrierReach::Cluster:
      return inside_bound(path, is_cluster) ? std::nullopt
                                            : std::optional("a loop bound to `cluster.x`");
    case BarrierReach::Grid:
      return inside_bound(path, is_block) || inside_bound(path, is_cluster)
                 ? std::nullopt
                 : std::optional("a loop bound to `block.x`");
    case BarrierReach::Warp:
    case BarrierReach::Named:
    case BarrierReach::Block:
      return threads ? std::nullopt : std::optional("an agent or a loop bound to `thread.x`");
  }
  __builtin_unreachable();
}

}  // namespace

void verify_placement(const LoopFunc& func) {
  std::map<std::string, int64_t> named;
  walk_paths(func.body, [&](const Stmt& s, const Path& path) {
    check_rules(s, path);
    if (const For* loop = s.as<For>()) {
      if (loop->loop == ForKind::Bound) check_bound_loop(*loop, path);
    } else if (s.as<Agents>()) {
      check_agents(s, path);
    } else if (const ChannelOp* op = s.as<ChannelOp>()) {
      check_channel_use(s, op->channel, op->rank, path);
    } else if (const Async* async = s.as<Async>()) {
      check_channel_use(s, async->channel, async->rank, path);
    } else if (const ChannelScope* scope = s.as<ChannelScope>()) {
      if (scope->channel->reach == ChannelReach::Cluster && !inside_bound(path, is_cluster))
        fail("ir.verify.channel_reach", s->span,
             str("channel ", quoted(scope->channel->name),
                 " is `over cluster` outside of a cluster"),
             {}, "declare it inside a loop bound to `cluster.x`, or `over block`");
    } else if (const Barrier* barrier = s.as<Barrier>()) {
      if (const auto missing = missing_around(barrier->reach, path))
        fail("ir.verify.barrier_reach", s->span,
             str(describe(s), " has no participants: ", *missing, " must stand around it"), {},
             str("put it into ", *missing, ", or leave it out"));
      if (barrier->reach == BarrierReach::Named) {
        const auto [known, first] = named.emplace(barrier->name, barrier->participants);
        if (!first && known->second != barrier->participants)
          fail("ir.verify.barrier_reach", s->span,
               str("barrier \"", barrier->name, "\" waits for ", barrier->participants,
                   " threads here and for ", known->second, " elsewhere"),
               {}, "state the same number of threads at every barrier of one name");
      }
    }
  });
}

}  // namespace tilewright::ir::detail
