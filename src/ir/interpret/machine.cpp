// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/machine.h"

#include <algorithm>

#include "ir/interpret/pure.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

constexpr int64_t kLongTurn = 100'000;  // in order: long enough to cost nothing
constexpr uint64_t kShortTurn = 200;    // random order: short enough to mix

}  // namespace

Machine::Machine(const LoopFunc& f, const Program& program, const RunOptions& options)
    : func_(f),
      program_(program),
      options_(options),
      check_(options.check),
      steps_left_(options.max_steps),
      random_(options.seed) {}

Machine::~Machine() = default;

void Machine::run(std::vector<Array>& args, const std::vector<int64_t>& symbols) {
  tasks_.push_back(std::make_unique<Task>());
  Task& root = *tasks_.back();
  const size_t constants = program_.constants.size();
  root.frame.resize(constants + static_cast<size_t>(program_.registers));
  root.r = root.frame.data() + constants;
  for (size_t i = 0; i < constants; ++i) root.frame[constants - 1 - i] = program_.constants[i];
  root.slots.resize(static_cast<size_t>(program_.slots));
  root.executions.resize(static_cast<size_t>(program_.sites));
  bind_arguments(root, args, symbols);
  activations_.push_back(std::make_unique<RunSets>());
  root.r[program_.root_activation] = 0;
  root.pc = program_.body;
  live_tasks_ = 1;
  ready_.push_back({&root, nullptr});
  schedule();
  if (unwritten_) throw Error(unwritten_->diagnostic);
  if (live_tasks_ > 0) report_deadlock();
  for (const auto& ch : channels_)
    if (!ch->checked) check_finished(*ch);
  check_outputs(root);
}

void Machine::schedule() {
  while (!ready_.empty()) {
    if (options_.seed != 0) {
      const auto pick = static_cast<std::ptrdiff_t>(random_.below(ready_.size()));
      std::swap(ready_.front(), ready_[static_cast<size_t>(pick)]);
    }
    const Work work = ready_.front();
    if (!work.fork) {
      ready_.pop_front();
      execute(*work.task);
      continue;
    }
    // The fork stays in front until its last iteration has started.
    if (work.fork->started + 1 == work.fork->count) ready_.pop_front();
    start(*work.fork);
  }
}

void Machine::make_ready(Task& t) {
  t.state = TaskState::Ready;
  ready_.push_back({&t, nullptr});
}

void Machine::begin_turn() {
  const auto wanted =
      options_.seed == 0 ? kLongTurn : static_cast<int64_t>(1 + random_.below(kShortTurn));
  turn_size_ = turn_ = std::min(wanted, steps_left_);
}

void Machine::end_turn() { steps_left_ -= turn_size_ - turn_; }

bool Machine::must_yield(Task& t) {
  end_turn();
  if (steps_left_ <= 0)
    fail("ir.run.limit", stmt_at(t),
         str("`", func_.name, "` does not end within ", options_.max_steps, " steps"),
         {str("it was stopped in ", name_of(t))}, "use smaller sizes, or raise `max_steps`");
  begin_turn();
  if (ready_.empty()) return false;
  turn_size_ = turn_ = 0;
  ready_.push_back({&t, nullptr});
  return true;
}

Task& Machine::new_task(const Task& parent) {
  Task* t;
  if (idle_tasks_.empty()) {
    tasks_.push_back(std::make_unique<Task>());
    t = tasks_.back().get();
  } else {
    t = idle_tasks_.back();
    idle_tasks_.pop_back();
  }
  t->frame = parent.frame;
  t->r = t->frame.data() + program_.constants.size();
  t->slots = parent.slots;
  t->executions = parent.executions;
  t->place = parent.place;
  t->ops_done = parent.ops_done;
  t->state = TaskState::Ready;
  t->fork = nullptr;
  t->async = nullptr;
  t->free_ids.clear();
  t->bits = 0;
  ++live_tasks_;
  return *t;
}

void Machine::end_task(Task& t) {
  t.state = TaskState::Ended;
  --live_tasks_;
  if (t.async) {
    end_async(t);
  } else if (Fork* f = t.fork) {
    if (check_) {
      f->clock.join(publish(t));
      f->ended_ids.push_back(t.id);
      f->ended_ids.insert(f->ended_ids.end(), t.free_ids.begin(), t.free_ids.end());
    }
    if (f->one_agent) {
      if (f->ops_done >= 0 && f->ops_done != t.ops_done)
        fail("ir.run.channel", stmt_at(t),
             "the threads of one agent do different channel operations",
             {str(name_of(t), " ends after ", t.ops_done, " of them, another after ", f->ops_done)},
             "move the channel operation out of control flow that differs between threads");
      f->ops_done = t.ops_done;
    }
    f->executions.resize(t.executions.size());
    for (size_t i = 0; i < t.executions.size(); ++i)
      f->executions[i] = std::max(f->executions[i], t.executions[i]);
    if (++f->ended == f->count) join(*f->parent, *f);
  } else {
    return;  // the function itself
  }
  t.place = {};
  t.name.reset();
  t.clock = {};
  idle_tasks_.push_back(&t);
}

void Machine::execute(Task& t) {
  const Inst* const code = program_.code.data();
  const Operand* const operands = program_.operands.data();
  uint64_t* const r = t.r;
  Instance* const* const slots = t.slots.data();
  int32_t pc = t.pc;
  begin_turn();
  // `pc` is saved before anything that can fail, wait or look at the place.
  for (;;) {
    const Inst& i = code[pc];
    switch (i.op) {
      case Op::Lanes: {
        Inst one = code[pc + 1];
        const int step[3] = {i.x & 1, (i.x >> 1) & 1, (i.x >> 2) & 1};
        for (int32_t l = 0; l < i.dst; ++l) {
          pure(one, r);
          ++one.dst;
          one.a += step[0];
          one.b += step[1];
          one.c += step[2];
        }
        pc += 2;
        break;
      }
      case Op::Ramp:
        for (int32_t l = 0; l < i.c; ++l)
          r[i.dst + l] = static_cast<uint64_t>(
              wrap_int(static_cast<Elem>(i.y), as_int(r[i.a] + static_cast<uint64_t>(l) * r[i.b])));
        ++pc;
        break;
      case Op::Jump: pc = i.dst; break;
      case Op::JumpIf: pc = r[i.a] ? i.dst : pc + 1; break;
      case Op::JumpIfNot: pc = r[i.a] ? pc + 1 : i.dst; break;
      case Op::ForBegin: {
        const int64_t extent = as_int(r[i.c]);
        int64_t end;
        if (__builtin_add_overflow(as_int(r[i.b]), extent, &end)) end = INT64_MAX;
        r[i.a] = r[i.b];
        r[i.a + 1] = static_cast<uint64_t>(end);
        pc = extent > 0 ? pc + 1 : i.dst;
        break;
      }
      case Op::ForNext:
        ++r[i.a];
        if (as_int(r[i.a]) >= as_int(r[i.a + 1])) {
          ++pc;
          break;
        }
        [[fallthrough]];
      case Op::Back:
        turn_ -= i.c;
        if (turn_ < 0) {
          t.pc = pc;
          const bool yield = must_yield(t);
          t.pc = i.dst;
          if (yield) return;
        }
        pc = i.dst;
        break;
      case Op::Load: {
        Instance& m = *slots[i.a];
        t.pc = pc;
        if (i.y & kSlowAccess) {
          r[i.dst] = load(t, program_.accesses[static_cast<size_t>(i.c)], 0);
          ++pc;
          break;
        }
        int64_t at = 0;
        for (int d = 0; d < i.x; ++d) {
          const uint64_t v = r[operands[i.b + d].reg];
          if (v >= static_cast<uint64_t>(m.shape[static_cast<size_t>(d)]))
            element(t, program_.accesses[static_cast<size_t>(i.c)], 0, m);  // reports it
          at += as_int(v) * m.strides[static_cast<size_t>(d)];
        }
        if ((i.y & kRaceChecked) && concurrent_ > 0) note_read(t, m, at);
        if (m.written && !m.written[at]) note_unwritten(t, m, at, (i.y & kRaceChecked) != 0);
        r[i.dst] = m.cells[at];
        ++pc;
        break;
      }
      case Op::Store: {
        Instance& m = *slots[i.a];
        t.pc = pc;
        if (i.y & kSlowAccess) {
          store(t, program_.accesses[static_cast<size_t>(i.c)], 0, r[i.dst]);
          ++pc;
          break;
        }
        int64_t at = 0;
        for (int d = 0; d < i.x; ++d) {
          const uint64_t v = r[operands[i.b + d].reg];
          if (v >= static_cast<uint64_t>(m.shape[static_cast<size_t>(d)]))
            element(t, program_.accesses[static_cast<size_t>(i.c)], 0, m);
          at += as_int(v) * m.strides[static_cast<size_t>(d)];
        }
        if ((i.y & kRaceChecked) && concurrent_ > 0) note_write(t, m, at);
        if (m.written) m.written[at] = 1;
        m.cells[at] = r[i.dst];
        ++pc;
        break;
      }
      default:
        if (i.op <= Op::LastPure) {
          pure(i, r);
          ++pc;
          break;
        }
        t.pc = pc;
        perform(t, i);
        if (t.state != TaskState::Ready) {
          end_turn();
          return;
        }
        pc = t.pc;
    }
  }
}

/// The instructions that do more than compute. Leaves `t.pc` at the next one, or the task waiting.
void Machine::perform(Task& t, const Inst& i) {
  const auto at = [&](const auto& table, Reg index) -> const auto& {
    return table[static_cast<size_t>(index)];
  };
  switch (i.op) {
    case Op::LoadLanes: {
      const AccessInfo& a = at(program_.accesses, i.c);
      for (int l = 0; l < a.lanes; ++l) t.r[i.dst + l] = load(t, a, l);
      break;
    }
    case Op::StoreLanes: {
      const AccessInfo& a = at(program_.accesses, i.c);
      for (int l = 0; l < a.lanes; ++l) store(t, a, l, t.r[i.dst + l * i.x]);
      break;
    }
    case Op::Distinct: check_distinct(t, at(program_.accesses, i.c)); break;
    case Op::Alloc: alloc(t, at(program_.allocs, i.a)); break;
    case Op::Free: free(t, at(program_.allocs, i.a)); break;
    case Op::BlockEnter: enter_block(t, at(program_.blocks, i.a), i.a); break;
    case Op::Activate:
      if (idle_activations_.empty()) {
        idle_activations_.push_back(activations_.size());
        activations_.push_back(std::make_unique<RunSets>());
      }
      t.r[i.dst] = idle_activations_.back();
      idle_activations_.pop_back();
      break;
    case Op::Deactivate:
      activations_[t.r[i.a]]->clear();
      idle_activations_.push_back(t.r[i.a]);
      break;
    case Op::Region: check_region(t, at(program_.regions, i.a)); break;
    case Op::CheckIndex:
    case Op::CheckExtent: check_operand(t, i); break;
    case Op::Fork: fork(t, i); return;
    case Op::Agents: fork_agents(t, i); return;
    case Op::TaskEnd: end_task(t); return;
    case Op::ChannelOpen: open_channel(t, at(program_.channels, i.a)); break;
    case Op::ChannelClose: close_channel(t, at(program_.channels, i.a)); break;
    case Op::ChannelOp: channel_op(t, at(program_.channel_ops, i.a)); return;
    case Op::Async: issue_async(t, i); return;
    case Op::Barrier: barrier(t, *at(program_.barriers, i.a)); return;
    case Op::Atomic: atomic(t, at(program_.atomics, i.a)); break;
    default: throw InternalError("perform: an operation without a meaning");
  }
  ++t.pc;
}

}  // namespace tilewright::ir::run
