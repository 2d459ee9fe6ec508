// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/local_runner.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "support/process.h"
#include "support/str.h"
#include "tune/measure/tasks.h"

namespace tilewright::tune {
namespace {

Measurement measured(LocalRunner& runner, const std::shared_ptr<const Task>& task,
                     schedule::Trace trace) {
  const Candidate one{task, std::move(trace)};
  return runner.measure(std::span(&one, 1)).at(0);
}

TEST(LocalRunner, MeasuresTheDefaultAsATieWithItself) {
  // Constants that stay in the second cache, come from the third, and from memory.
  for (const int64_t between : {0, 100 << 10, 1 << 20}) {
    Task small = *product_task();
    small.target.l2_bytes = 16 << 10;
    small.target.l3_bytes = 128 << 10;
    small.between = between;
    const auto task = std::make_shared<const Task>(std::move(small));
    LocalRunner runner;
    Measurement m = measured(runner, task, default_trace(*task));
    // One in forty is interrupted in each of its first three pairs, and ends there.
    for (int again = 0; again < 3 && m.seconds.size() < 6; ++again)
      m = measured(runner, task, default_trace(*task));
    ASSERT_EQ(m.verdict, Verdict::Ok) << m.error;
    EXPECT_GE(m.seconds.size(), 6u);
    EXPECT_GT(m.time.median, 0);
    EXPECT_LE(m.ratio.low, m.ratio.median);
    EXPECT_LE(m.ratio.median, m.ratio.high);
    EXPECT_LT(m.ratio.low, 1.2);
    EXPECT_GT(m.ratio.high, 0.8);
  }
}

TEST(LocalRunner, PlainLoopsAreRightButDoNotWin) {
  LocalRunner runner;
  const Measurement m = measured(runner, product_task(), {});
  ASSERT_EQ(m.verdict, Verdict::Ok) << m.error;
  EXPECT_GT(m.ratio.median, 1);
  EXPECT_FALSE(m.beats_default());
}

TEST(LocalRunner, RefusesATraceThatDoesNotApply) {
  LocalRunner runner;
  const Measurement m = measured(runner, product_task(),
                                 schedule::parse_trace("trace t {\n  %b = block \"nowhere\"\n}"));
  EXPECT_EQ(m.verdict, Verdict::Refused);
  EXPECT_NE(m.error.find("nowhere"), std::string::npos) << m.error;
}

TEST(LocalRunner, MeasuresKernelsWithSymbolsThreadsAndScans) {
  LocalRunner runner({.threads = 2});
  for (const char* text : {"te e(A: f32[n, 7], b: f32[7]) where n in 1..4096 {\n"
                           "  B[i in n, j in 7] = max(A[i, j] + b[j], 0.0)\n  return B\n}",
                           "te g(A: f32[11, 6], at: i64[9]) {\n"
                           "  B[i in 9, j in 6] = A[max(min(at[i], 10), 0), j]\n  return B\n}"}) {
    const auto task = task_of(text);
    const Measurement m = measured(runner, task, default_trace(*task));
    EXPECT_EQ(m.verdict, Verdict::Ok) << m.error << "\n" << text;
  }
}

TEST(LocalRunner, StopsWhenToldTo) {
  const std::atomic<bool> stop = true;
  LocalRunner runner;
  runner.stop = &stop;
  const auto task = product_task();
  const Measurement m = measured(runner, task, default_trace(*task));
  EXPECT_EQ(m.verdict, Verdict::Failed);
}

/// Kernels that do what no kernel may. The trace's name says which.
const char* const kHostile = R"(
#include <stdint.h>
#include <sys/syscall.h>
static long call(long n, long a, long b, long c) {
#if defined(__x86_64__)
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return r;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}
#define KERNEL(name) int32_t name(void* const* buffers, const int64_t* scalars, const void* host)
KERNEL(wrong) { ((float*)buffers[2])[7] += 1; return 0; }
KERNEL(crash) { *(volatile int*)8 = 1; return 0; }
KERNEL(illegal) { __builtin_trap(); }
KERNEL(loop) { for (;;) __asm__ volatile(""); }
KERNEL(quit) { call(SYS_exit_group, 0, 0, 0); return 0; }
KERNEL(file) {
  char name[] = PATH;
  call(SYS_openat, -100, (long)name, 0102);
  return 0;
}
KERNEL(network) { call(SYS_socket, 2, 1, 0); return 0; }
KERNEL(children) { for (;;) call(SYS_clone, 17, 0, 0); }
KERNEL(lie) {
  char words[] = "\x08\0\0\0\0\0\0\0nonsense";
  for (int fd = 0; fd < 256; ++fd) call(SYS_write, fd, (long)words, 16);
  return 0;
}
KERNEL(scribble) {
  char* p = buffers[2];
  for (long i = -(1l << 40); i < 1l << 40; i += 64) p[i] = 1;
  return 0;
}
)";

/// What one of them tries to write.
const std::string& written_file() {
  static const std::string path =
      (std::filesystem::temp_directory_path() / str("tilewright-hostile-", getpid())).string();
  return path;
}

/// The object file of the kernels above, made once.
const std::string& hostile_object() {
  static const std::string object = [] {
    const TempFolder folder;
    const std::string source = (folder.path() / "hostile.c").string();
    const std::string result = (folder.path() / "hostile.o").string();
    std::ofstream(source) << kHostile;
    const auto run = run_program({"cc", "-O1", "-c", "-fPIC", "-fno-stack-protector",
                                  str("-DPATH=\"", written_file(), "\""), source, "-o", result});
    EXPECT_TRUE(run && run->status == 0) << (run ? run->output : "no C compiler");
    std::ifstream in(result, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return object;
}

/// The trace's name says which kernel it becomes.
NativeCode build_hostile(const Task& task, const schedule::Trace& trace) {
  if (trace.name == "good") return build_native(task, default_trace(task));
  if (trace.name == "building_crashes") std::abort();
  if (trace.name == "building_hangs") std::this_thread::sleep_for(std::chrono::hours(1));
  if (trace.name == "building_allocates")
    for (;;) *static_cast<volatile char*>(operator new(1 << 20)) = 1;  // all of it takes time
  NativeCode out = build_native(task, {});
  if (trace.name == "much_memory") {
    out.shared_bytes = int64_t{1} << 42;
    return out;
  }
  out.run.code = hostile_object();
  out.run.entry = trace.name;
  return out;
}

TEST(LocalRunner, WhateverACandidateDoesCostsOneTrial) {
  hostile_object();
  LocalRunner runner({.build_seconds = 10, .run_seconds = 2, .memory_bytes = 256 << 20},
                     build_hostile);
  const std::pair<const char*, Verdict> cases[] = {
      {"good", Verdict::Ok},
      {"wrong", Verdict::Wrong},
      {"crash", Verdict::Crashed},
      {"illegal", Verdict::Crashed},
      {"loop", Verdict::TimedOut},
      {"quit", Verdict::Crashed},
      {"file", Verdict::Forbidden},
      {"network", Verdict::Forbidden},
      {"children", Verdict::Forbidden},
      {"lie", Verdict::Crashed},
      {"scribble", Verdict::Crashed},
      {"much_memory", Verdict::NoMemory},
      {"building_crashes", Verdict::Crashed},
      {"building_hangs", Verdict::TimedOut},
      {"building_allocates", Verdict::NoMemory},
      {"good", Verdict::Ok},
  };
  const auto task =
      task_of("te a(A: f32[64], B: f32[64]) {\n  C[i in 64] = A[i] + B[i]\n  return C\n}");
  std::vector<Candidate> candidates;
  for (const auto& [name, verdict] : cases) {
    schedule::Trace trace;
    trace.name = name;
    candidates.push_back({task, trace});
  }
  const std::vector<Measurement> all = runner.measure(candidates);
  ASSERT_EQ(all.size(), std::size(cases));
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(name(all[i].verdict), name(cases[i].second))
        << cases[i].first << ": " << all[i].error;
  EXPECT_FALSE(std::filesystem::exists(written_file()));
}

}  // namespace
}  // namespace tilewright::tune
