// SPDX-License-Identifier: Apache-2.0
// Who runs together: the threads of a device, cluster, block or agent, what they share and where
// they meet.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/interpret/memory.h"

namespace tilewright::ir::run {

struct Task;
struct Team;

/// An item of a channel.
struct Item {
  int64_t commits = 0, releases = 0;
  int64_t promised = 0, delivered = 0;  // bytes
  int64_t pending = 0;                  // asynchronous operations issued and not yet run
  bool acquired = false, full = false;
  const StmtNode* first_op = nullptr;
  Clock committed, filled, freed;   // what commits, asynchronous operations and releases have seen
  std::vector<Epoch> empty_asyncs;  // issues of operations that deliver no bytes
  std::vector<uint32_t> ended;      // task numbers of operations that have run, free after a wait
};

struct ChannelInstance {
  const ChannelNode* channel = nullptr;
  const ChannelInfo* info = nullptr;
  std::unordered_map<int64_t, Item> items;
  struct Waiter {
    Task* task;
    int64_t item;
    bool acquire;
  };
  std::vector<Waiter> waiters;
  Team* team = nullptr;
  uint32_t execution = 0;
  int64_t part = 0;
  int64_t left = 0;     // threads that have left its scope
  int64_t pending = 0;  // asynchronous operations that have not run yet
  bool checked = false;
};

/// One channel operation or asynchronous operation of an agent, as its threads come to it.
struct AgentOp {
  const StmtNode* stmt = nullptr;
  ChannelInstance* channel = nullptr;
  int64_t item = 0, bytes = 0;
  int64_t arrived = 0;
  Clock clock;
};

struct Meeting {
  std::vector<Task*> waiting;
  Clock clock;
  int64_t participants = 0;
  std::vector<Epoch> arrived, before;  // of named barriers: this time and the last time
};

/// Threads that act together. `threads` counts those that run now: a thread that starts others
/// stands back until they have ended.
struct Team {
  int64_t threads = 1;
  Meeting barrier;
  std::map<std::string, Meeting> named;
  std::map<int64_t, Meeting> warps;

  using Key = std::tuple<int32_t, uint32_t, int64_t>;  // site, execution, part
  std::map<Key, Instance*> instances;
  std::map<Key, ChannelInstance*> channels;

  // As an agent.
  std::deque<AgentOp> ops;
  int64_t ops_done = 0;  // those before the front of `ops`
  std::map<std::pair<const ChannelInstance*, ChannelOpKind>, int64_t> last_item;

  // As a cluster.
  int64_t extents[3] = {1, 1, 1};
  std::map<int64_t, std::shared_ptr<Team>> blocks;  // by rank
};

/// Where a task stands among the threads. Teams that do not exist yet are made when needed.
struct Place {
  std::shared_ptr<Team> device, cluster, block, agent;
  int64_t rank = 0;  // of the block in its cluster
  int64_t lane = 0;  // number of the thread in its agent or block
  int64_t lanes = 1;
  int64_t cluster_at[3] = {0, 0, 0}, cluster_extents[3] = {1, 1, 1};
  int64_t thread_at[3] = {0, 0, 0}, thread_extents[3] = {1, 1, 1};
  bool has_lane = false;
};

}  // namespace tilewright::ir::run
