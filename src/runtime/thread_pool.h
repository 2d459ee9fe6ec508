// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <type_traits>

#include "tilewright/kernel.h"

namespace tilewright::runtime {

/// CPUs this process may use: its affinity mask, cut down to the quota of its control group.
int available_cpus();

/// Runs parallel loops on a fixed set of threads; the calling thread is worker 0 and does its
/// share.
///
/// A loop is cut into chunks and every worker owns a run of them, the same one each time, so that
/// data stays in its cache; a worker that has finished takes chunks of the others. A worker that
/// wakes late finds nothing left and delays nobody. Between loops workers spin for a short time,
/// then sleep. One that wakes up on the caller's CPU, where the system likes to put it, goes to
/// another. A parallel_for inside a task runs in that task's worker; one that finds the pool
/// busy with another thread's loop runs in the calling thread alone.
class ThreadPool {
 public:
  static constexpr int kMaxWorkers = 256;

  /// `workers` counts the caller; 0 means available_cpus(). When the system refuses threads there
  /// are fewer.
  explicit ThreadPool(int workers = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return workers_; }

  void parallel_for(int64_t count, tw_task task, void* closure);

  /// The same with a callable f(begin, end, worker).
  template <class F>
  void parallel_for(int64_t count, F&& f) {
    using Body = std::remove_reference_t<F>;
    parallel_for(
        count,
        [](void* closure, int64_t begin, int64_t end, int32_t worker) {
          (*static_cast<Body*>(closure))(begin, end, worker);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

  /// What a kernel is given; the caller adds workspace and scratch where it needs them.
  tw_host host();

 private:
  // Two lines: neighbouring lines are fetched in pairs.
  static constexpr size_t kLine = 128;

  /// The chunks a worker still has to do, next … end − 1, of the loop with this number: one word,
  /// so that taking a chunk and noticing that the loop is over are one step.
  struct alignas(kLine) Slot {
    std::atomic<uint64_t> chunks{0};
    ThreadPool* pool = nullptr;
    int worker = 0;
    pthread_t thread{};
  };

  void work(int worker);
  int64_t run_chunks(int worker, uint64_t epoch);
  bool take(int owner, uint64_t epoch, int64_t& chunk);
  void finish(int64_t done);
  void wait_for_all();
  void sleep_until_changed(uint32_t seen);
  void leave_callers_cpu() const;

  cpu_set_t cpus_;  // those that the pool was made with
  int workers_;
  uint64_t spins_;  // pauses before a worker sleeps
  uint64_t epoch_ = 0;
  Slot slots_[kMaxWorkers];  // in place: a pool needs no memory that could be refused

  // The loop; written by the caller before it publishes the slots, read after a chunk was taken.
  struct alignas(kLine) Job {
    tw_task task = nullptr;
    void* closure = nullptr;
    int64_t count = 0;
    int64_t chunks = 0;
  } job_;

  alignas(kLine) std::atomic<uint32_t> unfinished_{0};  // chunks; top bit: the caller sleeps
  alignas(kLine) std::atomic<uint32_t> bell_{0};  // changes with every loop; sleepers wait on it
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<int> caller_cpu_{-1};
  std::atomic<bool> stop_{false};
  alignas(kLine) std::atomic<bool> busy_{false};
};

}  // namespace tilewright::runtime
