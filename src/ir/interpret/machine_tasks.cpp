// SPDX-License-Identifier: Apache-2.0
// Concurrent loops, agents and barriers.
#include <algorithm>
#include <numeric>

#include "ir/interpret/machine.h"
#include "ir/interpret/pure.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

constexpr int64_t kWarp = 32;
constexpr size_t kNamesKept = 4;  // of tasks that used one number after another

/// 0, 1, 2 for x, y, z.
int dimension(ThreadAxis axis) { return static_cast<int>(axis) % 3; }

int64_t linear(const int64_t (&at)[3], const int64_t (&extents)[3]) {
  return at[0] + extents[0] * (at[1] + extents[1] * at[2]);
}

}  // namespace

const Clock& Machine::publish(Task& t) {
  t.clock.raise(t.id, t.time);
  ++t.time;
  return t.clock;
}

void Machine::take_id(Task& t, std::vector<uint32_t>& from) {
  if (!check_) return;
  if (from.empty()) {
    t.id = next_id_++;
    t.time = 1;
  } else {
    t.id = from.back();
    from.pop_back();
    t.time = t.clock.at(t.id) + 1;  // its former users ended before this task began
  }
  if (names_.size() <= t.id) names_.resize(t.id + 1);
  std::vector<NameOfId>& names = names_[t.id];
  if (names.size() == kNamesKept) names.erase(names.begin());
  names.push_back({t.name, t.time});
}

Fork& Machine::new_fork(Task& t, int64_t count, int32_t resume) {
  if (idle_forks_.empty()) {
    forks_.push_back(std::make_unique<Fork>());
    idle_forks_.push_back(forks_.back().get());
  }
  Fork& f = *idle_forks_.back();
  idle_forks_.pop_back();
  f = Fork{};
  f.parent = &t;
  f.count = count;
  f.resume = resume;
  if (options_.seed != 0 && count > 1) {
    f.offset = static_cast<int64_t>(random_.below(static_cast<uint64_t>(count)));
    do {
      f.step = 1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(count)));
    } while (std::gcd(f.step, count) != 1);
  }
  return f;
}

void Machine::open_fork(Task& t, Fork& f) {
  for (Team* team : f.teams) team->threads += f.count - 1;
  if (check_) {
    f.base = publish(t);
    f.clock = f.base;
    f.ids = std::move(t.free_ids);
    t.free_ids.clear();
  }
  ++concurrent_;
  t.state = TaskState::Forked;
  if (options_.seed == 0)
    ready_.push_front({nullptr, &f});
  else
    ready_.push_back({nullptr, &f});
}

void Machine::fork(Task& t, const Inst& i) {
  const int64_t count = as_int(t.r[i.c]);
  if (count <= 0) {
    t.pc = i.dst;
    return;
  }
  const ForkInfo& info = program_.forks[static_cast<size_t>(i.a)];
  Fork& f = new_fork(t, count, i.dst);
  f.loop = &info;
  f.min = as_int(t.r[i.b]);
  f.body = t.pc + 1;
  if (info.loop->loop == ForKind::Bound) {
    if (!t.place.device) t.place.device = std::make_shared<Team>();
    f.teams.push_back(t.place.device.get());
    if (info.loop->axis >= ThreadAxis::ClusterX) f.teams.push_back(&cluster_of(t));
    if (info.loop->axis >= ThreadAxis::ThreadX) {
      f.teams.push_back(&block_of(t));
      if (t.place.agent) f.teams.push_back(t.place.agent.get());
      f.one_agent = true;
    } else if (info.loop->axis >= ThreadAxis::ClusterX) {
      t.place.cluster->extents[dimension(info.loop->axis)] = count;
    }
  }
  open_fork(t, f);
}

void Machine::fork_agents(Task& t, const Inst& i) {
  const AgentsInfo& info = program_.agents[static_cast<size_t>(i.a)];
  int64_t count = 0;
  for (const AgentsInfo::Entry& e : info.entries) count += e.agent->count * e.agent->threads;
  Fork& f = new_fork(t, count, i.dst);
  f.agents = &info;
  if (!t.place.device) t.place.device = std::make_shared<Team>();
  f.teams = {t.place.device.get(), &cluster_of(t), &block_of(t)};
  for (const AgentsInfo::Entry& e : info.entries)
    for (int64_t c = 0; c < e.agent->count; ++c) {
      f.agent_teams.push_back(std::make_shared<Team>());
      f.agent_teams.back()->threads = e.agent->threads;
    }
  open_fork(t, f);
}

void Machine::place_thread(const Fork& f, Task& child, int64_t value) {
  Place& p = child.place;
  if (f.loop->loop->loop != ForKind::Bound) {
    // What an iteration allocates is its own, and it is an agent of its own.
    p.device = p.cluster = p.block = p.agent = nullptr;
    child.ops_done = 0;
    return;
  }
  const ThreadAxis axis = f.loop->loop->axis;
  const int d = dimension(axis);
  if (axis >= ThreadAxis::ThreadX) {
    p.thread_at[d] = value;
    p.thread_extents[d] = f.count;
    p.lane = linear(p.thread_at, p.thread_extents);
    p.lanes = p.thread_extents[0] * p.thread_extents[1] * p.thread_extents[2];
    p.has_lane = true;
    return;
  }
  child.ops_done = 0;
  p.block = p.agent = nullptr;
  if (axis >= ThreadAxis::ClusterX) {
    p.cluster_at[d] = value - f.min;
    p.cluster_extents[d] = f.count;
    p.rank = linear(p.cluster_at, p.cluster_extents);
  } else {
    p.cluster = nullptr;
    p.rank = 0;
  }
}

/// Threads are numbered agent by agent.
void Machine::place_agent(const Fork& f, Task& child, int64_t number) {
  size_t team = 0;
  for (const AgentsInfo::Entry& e : f.agents->entries) {
    const Agent& a = *e.agent;
    if (number >= a.count * a.threads) {
      number -= a.count * a.threads;
      team += static_cast<size_t>(a.count);
      continue;
    }
    const int64_t index = number / a.threads, thread = number % a.threads;
    Place& p = child.place;
    p.agent = f.agent_teams[team + static_cast<size_t>(index)];
    p.lane = thread;
    p.lanes = a.threads;
    p.has_lane = true;
    child.ops_done = 0;
    if (e.index != kNoReg) child.r[e.index] = static_cast<uint64_t>(index);
    if (e.thread != kNoReg) child.r[e.thread] = static_cast<uint64_t>(thread);
    child.pc = e.body;
    auto name = std::make_shared<TaskName>();
    *name = {f.parent->name, stmt_at(*f.parent), &a, thread, index};
    child.name = std::move(name);
    return;
  }
  throw InternalError("place_agent: more threads than agents have");
}

void Machine::start(Fork& f) {
  const int64_t number = static_cast<int64_t>(
      (static_cast<unsigned __int128>(f.started) * static_cast<uint64_t>(f.step) +
       static_cast<uint64_t>(f.offset)) %
      static_cast<uint64_t>(f.count));
  ++f.started;
  if (--steps_left_ <= 0)
    fail("ir.run.limit", stmt_at(*f.parent),
         str("`", func_.name, "` does not end within ", options_.max_steps, " steps"), {},
         "use smaller sizes, or raise `max_steps`");
  Task& t = new_task(*f.parent);
  t.fork = &f;
  t.clock = f.base;
  if (f.agents) {
    place_agent(f, t, number);
  } else {
    const int64_t value = f.min + number;
    place_thread(f, t, value);
    t.r[f.loop->var] = static_cast<uint64_t>(value);
    t.pc = f.body;
    auto name = std::make_shared<TaskName>();
    *name = {f.parent->name, f.loop->loop, nullptr, value, 0};
    t.name = std::move(name);
  }
  take_id(t, f.ids);
  execute(t);
}

void Machine::join(Task& parent, Fork& f) {
  for (Team* team : f.teams) team->threads -= f.count - 1;
  if (check_) {
    parent.clock = std::move(f.clock);
    parent.free_ids = std::move(f.ids);
    parent.free_ids.insert(parent.free_ids.end(), f.ended_ids.begin(), f.ended_ids.end());
  }
  if (f.one_agent) parent.ops_done = f.ops_done;
  parent.executions = std::move(f.executions);
  --concurrent_;
  parent.pc = f.resume;
  idle_forks_.push_back(&f);
  parent.state = TaskState::Ready;
  if (options_.seed == 0)
    ready_.push_front({&parent, nullptr});
  else
    ready_.push_back({&parent, nullptr});
}

Team& Machine::cluster_of(Task& t) {
  if (!t.place.cluster) t.place.cluster = std::make_shared<Team>();
  return *t.place.cluster;
}

Team& Machine::block_of(Task& t) {
  if (!t.place.block) {
    std::shared_ptr<Team>& block = cluster_of(t).blocks[t.place.rank];
    if (!block) block = std::make_shared<Team>();
    t.place.block = block;
  }
  return *t.place.block;
}

/// Outside of `agents` the threads of a block are one agent.
Team& Machine::agent_of(Task& t) { return t.place.agent ? *t.place.agent : block_of(t); }

Team& Machine::team_for(Task& t, Share share) {
  switch (share) {
    case Share::Warp:
    case Share::Agent: return agent_of(t);
    case Share::Block: return block_of(t);
    case Share::Cluster: return cluster_of(t);
    case Share::Device: return *t.place.device;
    case Share::Task: break;
  }
  throw InternalError("team_for: a task shares with nobody");
}

int64_t Machine::part_for(const Task& t, Share share) const {
  return share == Share::Warp ? t.place.lane / kWarp : 0;
}

int64_t Machine::sharers(const Task& t, const Team& team, Share share) const {
  if (share != Share::Warp || t.place.lanes <= kWarp) return team.threads;
  return std::min(kWarp, t.place.lanes - t.place.lane / kWarp * kWarp);
}

Team& Machine::peer_of(Task& t, int64_t rank, const std::string& what) {
  Team& cluster = cluster_of(t);
  const int64_t size = cluster.extents[0] * cluster.extents[1] * cluster.extents[2];
  if (rank < 0 || rank >= size)
    fail("ir.run.bounds", stmt_at(t), str(what, " names a block outside of the cluster"),
         {str("the cluster has ", size, " blocks"), str("in ", name_of(t))},
         "keep the rank below the number of blocks in the cluster");
  std::shared_ptr<Team>& block = cluster.blocks[rank];
  if (!block) block = std::make_shared<Team>();
  return *block;
}

void Machine::barrier(Task& t, const Barrier& b) {
  Meeting* meeting = nullptr;
  int64_t needed = 1;
  const auto meet = [&](Team& team) {
    meeting = &team.barrier;
    needed = team.threads;
  };
  switch (b.reach) {
    case BarrierReach::Warp:
      meeting = &agent_of(t).warps[t.place.lane / kWarp];
      needed = sharers(t, agent_of(t), Share::Warp);
      break;
    case BarrierReach::Agent: meet(agent_of(t)); break;
    case BarrierReach::Block: meet(block_of(t)); break;
    case BarrierReach::Cluster: meet(cluster_of(t)); break;
    case BarrierReach::Grid:
      if (!t.place.device) t.place.device = std::make_shared<Team>();
      meet(*t.place.device);
      break;
    case BarrierReach::Named:
      meeting = &block_of(t).named[b.name];
      needed = b.participants;
      if (!meeting->waiting.empty() && meeting->participants != needed)
        fail("ir.run.barrier", &b,
             str("barrier \"", b.name, "\" is met with different numbers of participants"),
             {str(name_of(t), " expects ", needed, ", others wait for ", meeting->participants)},
             "state the same number of participants everywhere");
      // Else the threads could meet in other groups, and one execution would decide nothing.
      for (const Epoch& e : meeting->before)
        if (check_ && !happened_before(t, e))
          fail("ir.run.barrier", &b,
               str("more than ", needed, " threads may meet at barrier \"", b.name, "\""),
               {str(name_of(t), " comes to it and is not ordered after ", name_of(e),
                    ", who met others there")},
               "state all threads that come to the barrier at a time as its participants");
      meeting->arrived.push_back(t.now());
      break;
  }
  meeting->participants = needed;
  if (check_) meeting->clock.join(publish(t));
  meeting->waiting.push_back(&t);
  t.state = TaskState::AtBarrier;
  t.meeting = meeting;
  if (static_cast<int64_t>(meeting->waiting.size()) < needed) return;
  const std::vector<Task*> met = std::move(meeting->waiting);
  const Clock clock = std::move(meeting->clock);
  meeting->waiting.clear();
  meeting->clock = {};
  meeting->before = std::move(meeting->arrived);
  meeting->arrived.clear();
  for (Task* other : met) {
    if (check_) other->clock = clock;
    ++other->pc;
    if (other == &t)
      other->state = TaskState::Ready;
    else
      make_ready(*other);
  }
}

}  // namespace tilewright::ir::run
