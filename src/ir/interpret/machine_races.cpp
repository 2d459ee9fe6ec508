// SPDX-License-Identifier: Apache-2.0
// Races by vector clocks: each element remembers its last write and the reads since then; an access
// must see all that it conflicts with.
#include <algorithm>

#include "ir/interpret/machine.h"
#include "ir/interpret/pure.h"
#include "support/str.h"

namespace tilewright::ir::run {

Shadow& Machine::shadow(Instance& m) {
  if (!m.shadow) m.shadow = std::make_unique<Shadow>(m.size);
  return *m.shadow;
}

void Machine::note_read(Task& t, Instance& m, int64_t element) {
  Shadow& s = shadow(m);
  ShadowCell& cell = s.cells[static_cast<size_t>(element)];
  if (!happened_before(t, cell.write.epoch)) race(t, m, element, "reads", cell.write, "writes");
  if (!s.atomics.empty())
    if (const auto at = s.atomics.find(element); at != s.atomics.end())
      for (const Seen& a : at->second.seen)
        if (!happened_before(t, a.epoch)) race(t, m, element, "reads", a, "changes atomically");
  const Seen now{t.now(), t.pc};
  if (cell.readers < 0) {
    if (happened_before(t, cell.read.epoch)) {
      cell.read = now;
      return;
    }
    if (s.free_readers.empty()) {
      s.free_readers.push_back(static_cast<int32_t>(s.readers.size()));
      s.readers.emplace_back();
    }
    cell.readers = s.free_readers.back();
    s.free_readers.pop_back();
    s.readers[static_cast<size_t>(cell.readers)] = {cell.read, now};
    return;
  }
  std::vector<Seen>& readers = s.readers[static_cast<size_t>(cell.readers)];
  for (Seen& r : readers)
    if (r.epoch.task == t.id) {
      r = now;
      return;
    }
  readers.push_back(now);
}

void Machine::note_write(Task& t, Instance& m, int64_t element) {
  Shadow& s = shadow(m);
  ShadowCell& cell = s.cells[static_cast<size_t>(element)];
  if (!happened_before(t, cell.write.epoch)) race(t, m, element, "writes", cell.write, "writes");
  if (cell.readers >= 0) {
    std::vector<Seen>& readers = s.readers[static_cast<size_t>(cell.readers)];
    for (const Seen& r : readers)
      if (!happened_before(t, r.epoch)) race(t, m, element, "writes", r, "reads");
    readers.clear();
    s.free_readers.push_back(cell.readers);
    cell.readers = -1;
  } else if (!happened_before(t, cell.read.epoch)) {
    race(t, m, element, "writes", cell.read, "reads");
  }
  if (!s.atomics.empty())
    if (const auto at = s.atomics.find(element); at != s.atomics.end()) {
      for (const Seen& a : at->second.seen)
        if (!happened_before(t, a.epoch)) race(t, m, element, "writes", a, "changes atomically");
      s.atomics.erase(at);
    }
  cell.write = {t.now(), t.pc};
  cell.read = {};
}

/// Writing one element of a byte rewrites its neighbours, so two writers of a byte race.
void Machine::note_packed_write(Task& t, Instance& m, int64_t element) {
  Shadow& s = shadow(m);
  const int64_t per_byte = 8 / bits(m.buffer->elem);
  const int64_t replicas = m.layout ? m.layout->replicas : 1;
  for (int64_t r = 0; r < replicas; ++r) {
    const int64_t address =
        m.layout ? m.layout->address[static_cast<size_t>(element * replicas + r)] : element;
    auto& [last, neighbour] = s.bytes[address / per_byte];
    if (!happened_before(t, last.epoch)) {
      if (neighbour == element)
        race(t, m, element, "writes", last, "writes");
      else
        fail("ir.run.race", stmt_at(t),
             str("race on `", element_name(m, element), "` and `", element_name(m, neighbour),
                 "`, which share a byte"),
             {str(name_of(t), " writes `", element_name(m, element), "`", where(stmt_at(t))),
              str(name_of(last.epoch), " writes `", element_name(m, neighbour), "`",
                  where(program_.origin[static_cast<size_t>(last.pc)])),
              str(name(m.buffer->elem), " elements are packed, and writing one rewrites its byte")},
             "let one iteration write all elements of a byte, or order the writes");
    }
    last = {t.now(), t.pc};
    neighbour = element;
  }
}

void Machine::note_atomic(Task& t, Instance& m, int64_t element, MemoryOrder order) {
  Shadow& s = shadow(m);
  ShadowCell& cell = s.cells[static_cast<size_t>(element)];
  const char* const changes = "changes atomically";
  if (!happened_before(t, cell.write.epoch)) race(t, m, element, changes, cell.write, "writes");
  if (cell.readers >= 0)
    for (const Seen& r : s.readers[static_cast<size_t>(cell.readers)])
      if (!happened_before(t, r.epoch)) race(t, m, element, changes, r, "reads");
  if (!happened_before(t, cell.read.epoch)) race(t, m, element, changes, cell.read, "reads");
  AtomicCell& a = s.atomics[element];
  if (order == MemoryOrder::Acquire || order == MemoryOrder::AcquireRelease)
    t.clock.join(a.released);
  const Seen now{t.now(), t.pc};
  const auto own = std::find_if(a.seen.begin(), a.seen.end(),
                                [&](const Seen& x) { return x.epoch.task == t.id; });
  if (own == a.seen.end())
    a.seen.push_back(now);
  else
    *own = now;
  // A later read-modify-write reads this value, so what was released before stays published.
  if (order == MemoryOrder::Release || order == MemoryOrder::AcquireRelease)
    a.released.join(publish(t));
}

void Machine::check_lane(const Task& t, const Instance& m, int64_t element, bool write) {
  if (!m.layout || m.layout->lane.empty()) return;
  const int64_t replicas = m.layout->replicas;
  const int64_t* const lanes = &m.layout->lane[static_cast<size_t>(element * replicas)];
  const auto mine = std::count(lanes, lanes + replicas, t.place.lane);
  if (t.place.has_lane && (write ? mine == replicas : mine > 0)) return;
  std::string holders;
  for (int64_t r = 0; r < std::min<int64_t>(replicas, 4); ++r)
    holders += str(r ? ", " : "", lanes[r]);
  fail("ir.run.lane", stmt_at(t),
       str("`", element_name(m, element), "` lies in another thread's registers"),
       {str(replicas > 1 ? "its replicas lie in lanes " : "it lies in lane ", holders,
            replicas > 4 ? ", …" : ""),
        t.place.has_lane ? str("the access is made by lane ", t.place.lane, ", ", name_of(t))
                         : std::string("the access is made outside of all threads")},
       write && mine > 0
           ? "a store writes all replicas: make it by an instruction that reaches all lanes"
           : "access only elements of the thread's own lane, or use a declared instruction");
}

/// Notes a use by an asynchronous operation, or of another block's buffer.
void Machine::note_user(Instance& m, Seen user, int64_t element) {
  for (Instance::User& u : m.users)
    if (u.seen.epoch.task == user.epoch.task) {
      u = {user, element};
      return;
    }
  m.users.push_back({user, element});
}

void Machine::check_lifetime(const Instance& m, const Task& t) {
  for (const Instance::User& u : m.users) {
    if (m.leavers.at(u.seen.epoch.task) >= u.seen.epoch.time) continue;
    fail("ir.run.race", stmt_at(t),
         str("race on `", u.element < 0 ? m.buffer->name : element_name(m, u.element),
             "` with the end of the buffer"),
         {str(name_of(u.seen.epoch), " uses it",
              where(program_.origin[static_cast<size_t>(u.seen.pc)])),
          str(name_of(t), " leaves the braces of `alloc ", m.buffer->name,
              "`, and nothing orders the use before")},
         "wait for the asynchronous operation, or meet the other block at a barrier, before the "
         "buffer ends");
  }
}

/// Another block's buffer must have been made before it is used.
void Machine::check_begun(const Task& t, const Instance& m, int64_t element, int64_t rank) {
  if (m.begun && happened_before(t, m.beginning)) return;
  fail("ir.run.race", stmt_at(t),
       str("race on `", element_name(m, element), "` with the beginning of the buffer"),
       {str(name_of(t), " uses the buffer of block ", rank, where(stmt_at(t))),
        str("nothing orders `alloc ", m.buffer->name, "` in that block before")},
       "meet the other block at a barrier before using its memory");
}

void Machine::race(const Task& t, const Instance& m, int64_t element, const char* now,
                   const Seen& before, const char* then) {
  const StmtNode* const here = stmt_at(t);
  if (unwritten_) {
    // Another race may follow from the value that was not there; the run goes on to find out
    // whether there is a writer of it, who is only not ordered before the reader.
    if (!unwritten_->elements.count({&m, element})) return;
    unwritten_.reset();
  }
  fail("ir.run.race", here, str("race on `", element_name(m, element), "`"),
       {str(name_of(t), " ", now, " it", where(here)),
        str(name_of(before.epoch), " ", then, " it",
            where(program_.origin[static_cast<size_t>(before.pc)])),
        "nothing orders the one before the other"},
       "separate the two by a barrier, by `release` → `acquire` or `commit` → `wait` of a channel, "
       "or let each access its own elements");
}

}  // namespace tilewright::ir::run
