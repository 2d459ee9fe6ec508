// SPDX-License-Identifier: Apache-2.0
// What a context promises around a run: memory, threads, floating-point state, cancelling,
// donation, kernels' workspaces.
#include <atomic>
#include <cfenv>
#include <chrono>
#include <pthread.h>
#include <thread>

#include "runtime/fixtures.h"

namespace tilewright {
namespace {

using enum KernelParam::Access;

/// Counts calls, and refuses the n-th.
struct Counting {
  tw_allocator get() {
    return {this,
            [](void* self, size_t bytes, size_t alignment) -> void* {
              auto* c = static_cast<Counting*>(self);
              ++c->calls;
              if (++c->asked == c->refused) return nullptr;
              ++c->live;
              void* p = nullptr;
              return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
            },
            [](void* self, void* memory, size_t) {
              auto* c = static_cast<Counting*>(self);
              ++c->calls;
              --c->live;
              std::free(memory);
            }};
  }
  int calls = 0, asked = 0, live = 0, refused = -1;
};

TEST(Context, AsksForNoMemoryWhileRunning) {
  Counting counting;
  const tw_allocator allocator = counting.get();
  {
    const Loaded loaded(sample_module(), {.allocator = &allocator});
    tw::Context context(loaded.module);
    std::vector<float> x(64), y(64);
    const auto run = [&](int64_t n) {
      context.set_input("x", x.data(), {n});
      context.run();
      tw_tensor view;
      EXPECT_EQ(tw_output(context.get(), 0, &view), TW_OK);
    };
    context.bind_output(0, y.data(), 256);
    const int created = counting.calls;
    run(5);
    run(64);
    run(1);
    EXPECT_EQ(counting.calls, created) << "sizes are bounded: everything was there before";
    context.bind_output(0, nullptr, 0);
    run(64);
    const int first = counting.calls;
    for (int i = 1; i < 50; ++i) run(i);
    EXPECT_EQ(counting.calls, first) << "the memory of the first result does for the others";
  }
  EXPECT_EQ(counting.live, 0);
}

TEST(Context, GivesEveryRefusalOfMemoryAsAnError) {
  int refusals = 0;
  for (int n = 1;; ++n) {
    Counting counting;
    counting.refused = n;
    const tw_allocator allocator = counting.get();
    const std::string error = error_of([&] {
      const Loaded loaded(sample_module(), {.allocator = &allocator});
      tw::Context context(loaded.module);
      std::vector<float> x(64);
      context.set_input("x", x.data(), {64});
      context.run();
      context.output_value(0);
    });
    EXPECT_EQ(counting.live, 0) << "leak after refusal " << n;
    if (error == "no error") break;
    // The verifier's own memory is part of reading a module.
    EXPECT_TRUE(contains(error, "no memory")) << n << ": " << error;
    ++refusals;
  }
  EXPECT_GT(refusals, 15);
}

std::vector<float> thirds(const tw_context_options& options) {
  const Loaded loaded(sample_module());
  tw::Context context(loaded.module, options);
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i);
  context.set_input("x", x.data(), {64});
  for (int i = 0; i < 20; ++i) context.run();
  return list(context.output(0).data<float>());
}

TEST(Context, GivesTheSameBitsForAnyThreads) {
  const std::vector<float> alone = thirds({});
  EXPECT_EQ(thirds({.threads = 2}), alone);
  EXPECT_EQ(thirds({.threads = -1}), alone);
  tw_pool* pool = nullptr;
  ASSERT_EQ(tw_pool_create(3, &pool), TW_OK);
  EXPECT_EQ(tw_pool_threads(pool), 3);
  EXPECT_EQ(thirds({.pool = pool}), alone);
  tw_pool_release(pool);
  int loops = 0;
  const tw_context_options own{.parallel_for =
                                   [](void* user, int64_t count, tw_task task, void* closure) {
                                     ++*static_cast<int*>(user);
                                     for (int64_t i = count; i-- > 0;)
                                       task(closure, i, i + 1, static_cast<int32_t>(i % 2));
                                   },
                               .parallel_user = &loops,
                               .workers = 2};
  EXPECT_EQ(thirds(own), alone);
  EXPECT_EQ(loops, 20);
}

TEST(Context, RefusesNumbersOfThreadsThatCannotBe) {
  for (const int threads : {-3, -1, 257}) {
    tw_pool* pool = nullptr;
    EXPECT_EQ(tw_pool_create(threads, &pool), TW_INVALID_ARGUMENT);
    EXPECT_EQ(pool, nullptr);
    EXPECT_TRUE(contains(tw_error_text(nullptr), "a pool with " + std::to_string(threads)));
  }
  const Loaded loaded(sample_module());
  for (const int threads : {-7, -2, 257, 100000})
    EXPECT_TRUE(contains(
        error_of([&] { tw::Context(loaded.module, {.threads = threads}); }),
        "invalid argument: a context with " + std::to_string(threads) + " threads: give 0 to 256"));
}

TEST(Context, ManyThreadsShareAModule) {
  const Loaded loaded(sample_module());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      tw::Context context(loaded.module);
      for (int round = 0; round < 50; ++round) {
        std::vector<float> x(static_cast<size_t>(t + 1), static_cast<float>(round));
        context.set_input("x", x.data(), {t + 1});
        context.run();
        const auto y = context.output(0).data<float>();
        for (size_t i = 0; i < y.size(); ++i)
          if (y[i] != (static_cast<float>(round) + static_cast<float>(i)) / 3.0f) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Context, RoundsToNearestWhateverTheCallerDoes) {
  const std::vector<float> nearest = thirds({});
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const std::vector<float> result = thirds({});
  const std::vector<float> foreign =
      thirds({.parallel_for = [](void*, int64_t count, tw_task task,
                                 void* closure) { task(closure, 0, count, 0); },
              .workers = 1});
  EXPECT_EQ(std::fegetround(), FE_UPWARD) << "the caller's state was not restored";
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(result, nearest);
  EXPECT_EQ(foreign, nearest);
}

TEST(Context, FlushesSubnormalsWhenTheModuleSaysSo) {
  for (const bool flush : {false, true})
    for (const int threads : {1, 2}) {
      Module module = sample_module();
      module.flush_subnormals = flush;
      const Loaded loaded(module);
      tw::Context context(loaded.module, {.threads = threads});
      std::vector<float> x{2e-38f};  // a third of it is subnormal
      context.set_input("x", x.data(), {1});
      context.run();
      EXPECT_EQ(context.output(0).data<float>()[0] == 0.0f, flush) << threads;
    }
}

/// Runs until it is cancelled.
Module endless_module() {
  Sample s;
  s.output("y", ElemType::F32, {});
  PlanBuilder& p = s.plan;
  p.end_prologue(p.constant(0));
  p.output(0, std::vector<Reg>{});
  const PlanBuilder::Label head = p.label();
  p.place(head);
  p.jump(head);
  return s.finish();
}

TEST(Context, CanBeCancelled) {
  const Loaded loaded(endless_module());
  tw::Context context(loaded.module);
  struct Result {
    std::atomic<int> status{-1};
  } result;
  context.run_async([](void* user, tw_status s) { static_cast<Result*>(user)->status = s; },
                    &result);
  EXPECT_EQ(error_of([&] { context.run(); }), "busy: the context is running");
  tw_tensor view;
  EXPECT_EQ(tw_output(context.get(), 0, &view), TW_BUSY);
  context.cancel();
  EXPECT_EQ(tw_wait(context.get()), TW_CANCELLED);
  while (result.status == -1) std::this_thread::yield();
  EXPECT_EQ(result.status, TW_CANCELLED);
}

TEST(Context, RunsAsynchronously) {
  const Loaded loaded(sample_module());
  tw::Context context(loaded.module);
  std::vector<float> x{3};
  std::atomic<int> done{0};
  for (int i = 0; i < 30; ++i) {
    x[0] = static_cast<float>(i);
    context.set_input("x", x.data(), {1});
    context.run_async(
        [](void* user, tw_status s) { *static_cast<std::atomic<int>*>(user) += s == TW_OK; },
        &done);
    context.wait();
    EXPECT_EQ(context.output(0).data<float>()[0], static_cast<float>(i) / 3.0f);
  }
  while (done < 30) std::this_thread::yield();
}

/// y = x + 1, in place of x when x is donated.
Module donating_module() {
  Sample s;
  const uint32_t x = s.input("x", ElemType::I64, {{.symbol = "n"}});
  s.output("y", ElemType::I64, {{.symbol = "n"}});
  s.module.outputs[0].donor = x;
  const uint32_t increment = s.kernel("increment", {Update}, 1);
  PlanBuilder& p = s.plan;
  const Reg n = p.bind(x, 0, {});
  p.end_prologue(p.constant(0));
  p.call(increment, std::vector{p.output(0, std::vector{n})}, std::vector{n});
  return s.finish();
}

TEST(Context, ReusesDonatedInputs) {
  const Loaded loaded(donating_module());
  EXPECT_EQ(loaded.module.output(0).donor, 0);
  tw::Context context(loaded.module);
  std::vector<int64_t> x{1, 2, 3}, y(3);
  context.set_input("x", x.data(), {3});
  context.run();
  EXPECT_EQ(list(context.output(0).data<int64_t>()), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(x, (std::vector<int64_t>{1, 2, 3}));
  context.set_input("x", x.data(), {3}, true);
  context.run();
  EXPECT_EQ(context.output(0).data<int64_t>().data(), x.data());
  EXPECT_EQ(x, (std::vector<int64_t>{2, 3, 4}));
  context.bind_output(0, x.data(), 24);
  context.run();
  EXPECT_EQ(x, (std::vector<int64_t>{3, 4, 5}));
  context.bind_output(0, y.data(), 24);
  context.run();
  EXPECT_EQ(y, (std::vector<int64_t>{4, 5, 6}));
  EXPECT_EQ(x, (std::vector<int64_t>{3, 4, 5}));
}

TEST(Context, TakesDefaultsOfInputs) {
  static const int64_t content[] = {10, 20};
  Module made = donating_module();
  made.constants.push_back({reinterpret_cast<const std::byte*>(content), sizeof content, nullptr});
  made.inputs[0].preset = static_cast<uint32_t>(made.constants.size() - 1);
  made.inputs[0].dims[0].preset = 2;
  const Loaded loaded(made);
  EXPECT_EQ(loaded.module.input(0).has_default, 1);
  EXPECT_EQ(loaded.module.input(0).donor, -1);
  EXPECT_EQ(loaded.module.output(0).has_default, 0);
  tw_dim dim;
  ASSERT_EQ(tw_input_dim(loaded.module.get(), 0, 0, &dim), TW_OK);
  EXPECT_EQ(dim.preset, 2);
  tw::Context context(loaded.module);
  const auto result = [&] {
    context.run();
    return list(context.output(0).data<int64_t>());
  };
  EXPECT_EQ(result(), (std::vector<int64_t>{11, 21}));
  std::vector<int64_t> x{1, 2, 3};
  context.set_input("x", x.data(), {3}, true);
  EXPECT_EQ(result(), (std::vector<int64_t>{2, 3, 4}));
  ASSERT_EQ(tw_set_input(context.get(), 0, nullptr, TW_DONATE), TW_OK);
  EXPECT_EQ(result(), (std::vector<int64_t>{11, 21}));  // a constant is never written
  EXPECT_EQ(result(), (std::vector<int64_t>{11, 21}));

  made.inputs[0].dims[0].preset = 3;
  EXPECT_TRUE(contains(error_of([&] { const Loaded damaged(made); }), "not there"));
  const Loaded without(donating_module());
  tw::Context needs(without.module);
  EXPECT_EQ(tw_set_input(needs.get(), 0, nullptr, 0), TW_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(tw_error_text(needs.get()), "`x` has no default"));
}

TEST(Context, GivesKernelsTheirWorkspaces) {
  Sample s;
  const uint32_t x = s.input("x", ElemType::I64, {{.symbol = "n"}});
  s.output("y", ElemType::I64, {{.symbol = "n"}});
  s.output("table", ElemType::I64, {fixed(1)});
  const uint32_t copy = s.kernel("through_workspace", {Read, Write}, 1);
  const uint32_t from_table = s.kernel("from_table", {Write}, 1);
  PlanBuilder& p = s.plan;
  const Reg n = p.bind(x, 0, {}), one = p.constant(1);
  const Reg bytes = p.op(PlanOp::Mul, n, p.constant(8));
  p.end_prologue(p.constant(0));
  p.call(copy, std::vector{p.input(x), p.output(0, std::vector{n})}, std::vector{bytes},
         {bytes, p.constant(100)});
  p.call(from_table, std::vector{p.output(1, std::vector{one})}, std::vector{one});
  const Loaded loaded(s.finish());
  tw::Context context(loaded.module, {.threads = 2});
  for (const int64_t count : {3, 1000}) {
    std::vector<int64_t> data(static_cast<size_t>(count));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int64_t>(i * i);
    context.set_input(0, data.data(), {count});
    context.run();
    EXPECT_EQ(list(context.output(0).data<int64_t>()), data);
    EXPECT_EQ(context.output(1).data<int64_t>()[0], 2) << "a relocated table";
  }
}

TEST(Context, NamesTheKernelThatFails) {
  Sample s;
  s.output("y", ElemType::I64, {});
  const uint32_t fails = s.kernel("fails", {Write}, 0);
  PlanBuilder& p = s.plan;
  p.end_prologue(p.constant(0));
  p.call(fails, std::vector{p.output(0, std::vector<Reg>{})}, std::vector<Reg>{});
  const Loaded loaded(s.finish());
  tw::Context context(loaded.module);
  EXPECT_EQ(error_of([&] { context.run(); }), "run failed: kernel `fails` returned 7");
}

TEST(Context, TellsAnObserverOfEveryKernel) {
  const Loaded loaded(sample_module());
  tw::Context context(loaded.module);
  std::string seen;
  ASSERT_EQ(tw_observe(
                context.get(),
                [](void* user, const tw_event* e) {
                  EXPECT_GE(e->end_ns, e->begin_ns);
                  *static_cast<std::string*>(user) += std::string(e->name) + ";";
                },
                &seen),
            TW_OK);
  std::vector<float> x{3};
  context.set_input("x", x.data(), {1});
  context.run();
  EXPECT_EQ(seen, "add;third;");
}

}  // namespace
}  // namespace tilewright
