// SPDX-License-Identifier: Apache-2.0
// The machine that runs a compiled function: tasks that wait for each other, memory that knows who
// wrote what when.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "ir/interpret/code.h"
#include "ir/interpret/interpret.h"
#include "ir/interpret/random.h"
#include "ir/interpret/team.h"

namespace tilewright::ir::run {

/// Who a task is, for people; outlives the task.
struct TaskName {
  std::shared_ptr<const TaskName> parent;
  const StmtNode* stmt = nullptr;  // the loop, `agents` or `async` that started it
  const Agent* agent = nullptr;
  int64_t index = 0;  // iteration, or the agent's thread
  int64_t agent_index = 0;
};

/// Iterations or agents that run at the same time, and the task that waits for all of them.
struct Fork {
  Task* parent = nullptr;
  const ForkInfo* loop = nullptr;
  const AgentsInfo* agents = nullptr;
  int32_t resume = 0, body = 0;
  int64_t min = 0, count = 0, started = 0, ended = 0;
  int64_t step = 1, offset = 0;  // the order of starts: (i * step + offset) mod count
  Clock base, clock;             // before it began; of those that ended
  std::vector<uint32_t> ids, ended_ids;
  std::vector<std::shared_ptr<Team>> agent_teams;
  std::vector<Team*> teams;          // in which the children stand for their parent
  bool one_agent = false;            // the children are threads of their parent's agent
  int64_t ops_done = -1;             // channel operations of those that ended, as one agent
  std::vector<uint32_t> executions;  // of shared allocations, by those that ended
};

enum class TaskState : uint8_t { Ready, Forked, AtBarrier, AtChannel, Ended };

struct Task {
  int32_t pc = 0;
  TaskState state = TaskState::Ready;
  std::vector<uint64_t> frame;  // constants, then registers
  uint64_t* r = nullptr;
  std::vector<Instance*> slots;
  std::vector<uint32_t> executions;  // of each shared allocation
  Place place;
  Fork* fork = nullptr;  // that it belongs to
  Clock clock;
  uint32_t id = 0, time = 1;
  std::vector<uint32_t> free_ids;  // of tasks that ended before everything this one does
  std::shared_ptr<const TaskName> name;
  int64_t ops_done = 0;              // channel operations of its agent that it has come to
  const Meeting* meeting = nullptr;  // where it waits
  // An asynchronous operation.
  const AsyncInfo* async = nullptr;
  ChannelInstance* channel = nullptr;
  int64_t item = 0, bits = 0;
  Epoch issued;

  Epoch now() const { return {id, time}; }
};

class Machine {
 public:
  Machine(const LoopFunc& f, const Program& program, const RunOptions& options);
  ~Machine();
  Machine(const Machine&) = delete;

  void run(std::vector<Array>& args, const std::vector<int64_t>& symbols);
  /// How many items the run used of each channel that it opened (of one instance, at most).
  const std::map<const ChannelNode*, int64_t>& items() const { return items_; }

 private:
  // machine.cpp: the instruction loop and the order of tasks
  void execute(Task& t);
  void perform(Task& t, const Inst& i);
  void schedule();
  void make_ready(Task& t);
  void begin_turn();
  /// Called when the turn's steps are used up: lets others run, and ends programs that run too
  /// long.
  bool must_yield(Task& t);
  void end_turn();
  Task& new_task(const Task& parent);
  void end_task(Task& t);

  // machine_memory.cpp
  void bind_arguments(Task& t, std::vector<Array>& args, const std::vector<int64_t>& symbols);
  void check_outputs(const Task& t) const;
  void alloc(Task& t, const AllocInfo& info);
  void free(Task& t, const AllocInfo& info);
  Instance& new_instance(const AllocInfo& info, std::vector<int64_t> shape,
                         const LayoutTable* layout);
  void drop(Instance& m);
  const LayoutTable* layout_of(const BufferNode& buffer, const std::vector<int64_t>& shape,
                               const Values& vars);
  int64_t element(Task& t, const AccessInfo& a, int lane, const Instance& m);
  Instance& instance(Task& t, const AccessInfo& a);
  struct Location {
    Instance& instance;
    int64_t element;
  };
  Location locate(Task& t, const AccessInfo& a, int lane);
  uint64_t load(Task& t, const AccessInfo& a, int lane);
  void store(Task& t, const AccessInfo& a, int lane, uint64_t value);
  void check_distinct(Task& t, const AccessInfo& a);
  void enter_block(Task& t, const BlockInfo& info, int32_t number);
  uint32_t start_of_reduction(Task& t, const BlockInfo& info, bool init);
  void check_operand(Task& t, const Inst& i);
  void check_region(Task& t, const RegionInfo& info);
  void atomic(Task& t, const AtomicInfo& info);
  uint64_t combine(const AtomicInfo& info, uint64_t old, uint64_t value, uint64_t expected) const;

  // machine_races.cpp
  bool concurrent() const { return check_ && concurrent_ > 0; }
  bool happened_before(const Task& t, Epoch e) const {
    return e.none() || e.task == t.id || t.clock.at(e.task) >= e.time;
  }
  Shadow& shadow(Instance& m);
  void note_read(Task& t, Instance& m, int64_t element);
  void note_write(Task& t, Instance& m, int64_t element);
  void note_packed_write(Task& t, Instance& m, int64_t element);
  void note_atomic(Task& t, Instance& m, int64_t element, MemoryOrder order);
  void check_lane(const Task& t, const Instance& m, int64_t element, bool write);
  /// Reports uses by others that are not ordered before the end of the buffer.
  void check_lifetime(const Instance& m, const Task& t);
  void check_begun(const Task& t, const Instance& m, int64_t element, int64_t rank);
  void note_user(Instance& m, Seen user, int64_t element = -1);
  void note_unwritten(const Task& t, const Instance& m, int64_t element, bool race_checked);
  void race(const Task& t, const Instance& m, int64_t element, const char* now, const Seen& before,
            const char* then);

  // machine_tasks.cpp: concurrent loops, agents, barriers
  void fork(Task& t, const Inst& i);
  void fork_agents(Task& t, const Inst& i);
  Fork& new_fork(Task& t, int64_t count, int32_t resume);
  void open_fork(Task& t, Fork& f);
  void start(Fork& f);
  void join(Task& parent, Fork& f);
  void place_thread(const Fork& f, Task& child, int64_t value);
  void place_agent(const Fork& f, Task& child, int64_t number);
  void take_id(Task& t, std::vector<uint32_t>& from);
  void barrier(Task& t, const Barrier& b);
  Team& block_of(Task& t);
  Team& cluster_of(Task& t);
  Team& agent_of(Task& t);
  Team& team_for(Task& t, Share share);
  Team& peer_of(Task& t, int64_t rank, const std::string& what);
  /// The threads that share an allocation of the team, of which the task is one.
  int64_t sharers(const Task& t, const Team& team, Share share) const;
  int64_t part_for(const Task& t, Share share) const;
  /// Everything the task has done, for others to see; what it does from now on is not included.
  const Clock& publish(Task& t);

  // machine_channels.cpp
  void open_channel(Task& t, const ChannelInfo& info);
  void close_channel(Task& t, const ChannelInfo& info);
  ChannelInstance& new_channel(const ChannelInfo& info, Team* team, uint32_t execution);
  ChannelInstance& shared_channel(const ChannelInfo& info, Team& team, uint32_t execution,
                                  int64_t part);
  ChannelInstance& channel_of(Task& t, Reg channel, Reg peer);
  void channel_op(Task& t, const ChannelOpInfo& info);
  bool try_pass(Task& t, ChannelInstance& ch, int64_t item, bool acquire);
  void issue_async(Task& t, const Inst& i);
  void start_async(Task& t, const AsyncInfo& info, ChannelInstance& ch, int64_t item, Clock clock,
                   int32_t body);
  void end_async(Task& t);
  AgentOp& arrive(Task& t, const StmtNode& stmt, ChannelInstance& ch, int64_t item, int64_t bytes);
  void pop_complete(Team& agent);
  void settle(ChannelInstance& ch, int64_t number, Item& item, const StmtNode& stmt);
  void check_finished(const ChannelInstance& ch) const;
  [[noreturn]] void report_bytes(const StmtNode* at, const ChannelInstance& ch, int64_t number,
                                 const Item& item) const;

  // machine_report.cpp
  [[noreturn]] void fail(std::string_view code, const StmtNode* at, std::string message,
                         std::vector<std::string> notes, std::string help) const;
  const StmtNode* stmt_at(const Task& t) const {
    return program_.origin[static_cast<size_t>(t.pc)];
  }
  std::string name_of(const TaskName* name) const;
  std::string name_of(const Task& t) const { return name_of(t.name.get()); }
  std::string name_of(Epoch e) const;
  std::string where(const StmtNode* stmt) const;
  [[noreturn]] void report_deadlock() const;
  std::string waits_for(const Task& t) const;

  const LoopFunc& func_;
  const Program& program_;
  const RunOptions& options_;
  const bool check_;
  int64_t steps_left_;
  int64_t turn_ = 0, turn_size_ = 0;  // steps until another task may run
  Random random_;

  // Ready work: tasks, and forks that have iterations left to start.
  struct Work {
    Task* task = nullptr;
    Fork* fork = nullptr;
  };
  std::deque<Work> ready_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<Task*> idle_tasks_;
  std::vector<std::unique_ptr<Fork>> forks_;
  std::vector<Fork*> idle_forks_;
  int64_t live_tasks_ = 0;

  // Tasks that may run at the same time as another: open forks, asynchronous operations not waited
  // for. Accesses made while there are none are ordered before and after everything else.
  int64_t concurrent_ = 0;
  uint32_t next_id_ = 1;
  struct NameOfId {
    std::shared_ptr<const TaskName> name;
    uint32_t from = 0;
  };
  std::vector<std::vector<NameOfId>> names_;  // by id, latest last

  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<Instance*> idle_instances_;
  int64_t cells_ = 0;
  std::vector<std::unique_ptr<RunSets>> activations_;
  std::vector<size_t> idle_activations_;
  struct KnownLayout {
    const LayoutNode* layout;
    std::vector<int64_t> key;
    std::unique_ptr<LayoutTable> table;
  };
  std::vector<KnownLayout> layouts_;
  std::vector<std::unique_ptr<ChannelInstance>> channels_;
  struct Unwritten {
    Diagnostic diagnostic;
    std::set<std::pair<const Instance*, int64_t>> elements;
  };
  std::optional<Unwritten> unwritten_;               // reads of elements without a value
  std::vector<int64_t> point_, extents_, box_, at_;  // scratch
  std::map<const ChannelNode*, int64_t> items_;      // used of each channel, at most
};

}  // namespace tilewright::ir::run
