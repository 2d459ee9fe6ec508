// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_pool.h"

#include <algorithm>
#include <cfenv>
#include <climits>
#include <cstdio>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace tilewright::runtime {
namespace {

// epoch | next | end, in 40, 12 and 12 bits.
constexpr int kChunkBits = 12;
constexpr uint64_t kChunkMask = (uint64_t{1} << kChunkBits) - 1;
constexpr uint64_t kEpochMask = ~uint64_t{0} >> (2 * kChunkBits);
// Enough that a worker whose core is taken away costs little, few enough that a chunk's own cost
// does not show.
constexpr int kChunksPerWorker = 8;
constexpr uint32_t kCallerSleeps = uint32_t{1} << 31;
constexpr int64_t kSpinNanoseconds = 30'000;

constexpr uint64_t pack(uint64_t epoch, uint64_t next, uint64_t end) {
  return epoch << (2 * kChunkBits) | next << kChunkBits | end;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

int64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

uint64_t pauses_in(int64_t time) {
  // The best of several: a first run may be interrupted.
  constexpr int kProbe = 200;
  int64_t best = INT64_MAX;
  for (int round = 0; round < 5; ++round) {
    const int64_t start = nanoseconds();
    for (int i = 0; i < kProbe; ++i) pause();
    best = std::min(best, nanoseconds() - start);
  }
  return static_cast<uint64_t>(time * kProbe / std::max<int64_t>(best, 1)) + 1;
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Whole CPUs of the control group's quota; INT_MAX when there is none.
int cgroup_cpus() {
  long long quota = -1, period = 0;
  if (FILE* file = fopen("/sys/fs/cgroup/cpu.max", "re")) {
    if (fscanf(file, "%lld %lld", &quota, &period) != 2) quota = -1;  // "max 100000"
    fclose(file);
  } else {
    if (FILE* q = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re")) {
      if (fscanf(q, "%lld", &quota) != 1) quota = -1;
      fclose(q);
    }
    if (FILE* p = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re")) {
      if (fscanf(p, "%lld", &period) != 1) period = 0;
      fclose(p);
    }
  }
  if (quota <= 0 || period <= 0) return INT_MAX;
  return static_cast<int>(std::max<long long>(1, quota / period));
}

/// None when the system does not tell.
cpu_set_t allowed_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

// The pool whose task this thread is running, and as which worker.
thread_local const ThreadPool* current_pool = nullptr;
thread_local int32_t current_worker = 0;

}  // namespace

int available_cpus() {
  const cpu_set_t set = allowed_cpus();
  const int allowed =
      CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, std::min(allowed, cgroup_cpus()));
}

ThreadPool::ThreadPool(int workers)
    : cpus_(allowed_cpus()),
      workers_(std::clamp(workers > 0 ? workers : available_cpus(), 1, kMaxWorkers)),
      // With more workers than CPUs a spinning one only keeps another from its work.
      spins_(workers_ <= available_cpus() ? pauses_in(kSpinNanoseconds) : 1) {
  for (int w = 1; w < workers_; ++w) {
    Slot& slot = slots_[static_cast<size_t>(w)];
    slot.pool = this;
    slot.worker = w;
    const auto run = [](void* start) -> void* {
      const auto* s = static_cast<const Slot*>(start);
      s->pool->work(s->worker);
      return nullptr;
    };
    if (pthread_create(&slot.thread, nullptr, run, &slot) != 0) {
      workers_ = w;  // read by the threads only when a loop runs, which comes later
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  bell_.fetch_add(1);
  futex_wake_all(bell_);
  for (int w = 1; w < workers_; ++w) pthread_join(slots_[w].thread, nullptr);
}

void ThreadPool::parallel_for(int64_t count, tw_task task, void* closure) {
  if (count <= 0) return;
  if (current_pool == this) return task(closure, 0, count, current_worker);
  if (workers_ == 1 || count == 1 || busy_.exchange(true, std::memory_order_acquire))
    return task(closure, 0, count, 0);

  const int64_t chunks = std::min<int64_t>(count, int64_t{workers_} * kChunksPerWorker);
  job_ = {task, closure, count, chunks};
  epoch_ = (epoch_ + 1) & kEpochMask;
  unfinished_.store(static_cast<uint32_t>(chunks), std::memory_order_relaxed);
  caller_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  for (int64_t w = 0; w < workers_; ++w) {
    const auto begin = static_cast<uint64_t>(chunks * w / workers_);
    const auto end = static_cast<uint64_t>(chunks * (w + 1) / workers_);
    slots_[static_cast<size_t>(w)].chunks.store(pack(epoch_, begin, end),
                                                std::memory_order_release);
  }
  // Both sides of the race with a worker that goes to sleep are seq_cst: either it sees the new
  // bell, or we see it among the sleepers.
  bell_.fetch_add(1);
  if (sleepers_.load() != 0) futex_wake_all(bell_);

  finish(run_chunks(0, epoch_));
  wait_for_all();
  busy_.store(false, std::memory_order_release);
}

tw_host ThreadPool::host() {
  return {.context = this,
          .parallel_for =
              [](void* context, int64_t count, tw_task task, void* closure) {
                static_cast<ThreadPool*>(context)->parallel_for(count, task, closure);
              },
          .workspace = nullptr,
          .scratch = nullptr,
          .scratch_bytes = 0,
          .workers = workers_};
}

bool ThreadPool::take(int owner, uint64_t epoch, int64_t& chunk) {
  std::atomic<uint64_t>& slot = slots_[static_cast<size_t>(owner)].chunks;
  uint64_t seen = slot.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t next = seen >> kChunkBits & kChunkMask, end = seen & kChunkMask;
    if (seen >> (2 * kChunkBits) != epoch || next == end) return false;
    if (slot.compare_exchange_weak(seen, pack(epoch, next + 1, end), std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      chunk = static_cast<int64_t>(next);
      return true;
    }
  }
}

/// Its own chunks, then those of the others; the number done.
int64_t ThreadPool::run_chunks(int worker, uint64_t epoch) {
  int64_t done = 0, chunk = 0;
  current_pool = this;
  current_worker = worker;
  for (int i = 0; i < workers_; ++i) {
    const int owner = (worker + i) % workers_;
    while (take(owner, epoch, chunk)) {
      // A chunk in hand keeps the loop from ending, so the job is this epoch's.
      const Job& job = job_;
      // count * chunk would overflow for the greatest counts.
      const int64_t size = job.count / job.chunks, rest = job.count % job.chunks;
      const int64_t begin = size * chunk + std::min(chunk, rest);
      job.task(job.closure, begin, begin + size + (chunk < rest ? 1 : 0), worker);
      ++done;
    }
  }
  current_pool = nullptr;
  return done;
}

void ThreadPool::finish(int64_t done) {
  if (done == 0) return;
  const auto n = static_cast<uint32_t>(done);
  if (unfinished_.fetch_sub(n, std::memory_order_acq_rel) == (kCallerSleeps | n))
    futex_wake_all(unfinished_);
}

void ThreadPool::wait_for_all() {
  for (uint64_t i = 0; i < spins_; ++i) {
    if (unfinished_.load(std::memory_order_acquire) == 0) return;
    pause();
  }
  uint32_t left = unfinished_.load(std::memory_order_acquire);
  while ((left & ~kCallerSleeps) != 0) {
    if ((left & kCallerSleeps) != 0 ||
        unfinished_.compare_exchange_weak(left, left | kCallerSleeps, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
      futex_wait(unfinished_, left | kCallerSleeps);
      left = unfinished_.load(std::memory_order_acquire);
    }
  }
}

void ThreadPool::sleep_until_changed(uint32_t seen) {
  sleepers_.fetch_add(1);
  while (bell_.load() == seen) futex_wait(bell_, seen);
  sleepers_.fetch_sub(1);
}

/// Two threads on one CPU take turns of milliseconds while another CPU idles: a thread that is
/// woken is often put where the waker runs, and spinning keeps it there.
void ThreadPool::leave_callers_cpu() const {
  const int cpu = caller_cpu_.load(std::memory_order_relaxed);
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu) return;
  cpu_set_t others = cpus_;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) >= workers_ - 1) sched_setaffinity(0, sizeof others, &others);
}

void ThreadPool::work(int worker) {
  // A new thread inherits its creator's state; kernels expect the default one.
  std::fesetenv(FE_DFL_ENV);
  const std::atomic<uint64_t>& slot = slots_[static_cast<size_t>(worker)].chunks;
  uint64_t last_epoch = 0;
  for (;;) {
    const uint32_t seen_bell = bell_.load();
    if (stop_.load()) return;
    uint64_t epoch = last_epoch;
    for (uint64_t i = 0; i < spins_ && epoch == last_epoch; ++i) {
      epoch = slot.load(std::memory_order_acquire) >> (2 * kChunkBits);
      if (epoch == last_epoch) pause();
    }
    if (epoch == last_epoch) {
      sleep_until_changed(seen_bell);
      continue;
    }
    last_epoch = epoch;
    leave_callers_cpu();
    finish(run_chunks(worker, epoch));
  }
}

}  // namespace tilewright::runtime
