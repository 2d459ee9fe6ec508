// SPDX-License-Identifier: Apache-2.0
// A module from file or memory to its results, and what the border refuses.
#include <fcntl.h>
#include <unistd.h>

#include "common/module_bytes.h"
#include "runtime/fixtures.h"

namespace tilewright {
namespace {

/// (x[i] + i) / 3
std::vector<float> expected(const std::vector<float>& x) {
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); ++i) y.push_back((x[i] + static_cast<float>(i)) / 3.0f);
  return y;
}

std::vector<float> run(tw::Context& context, std::vector<float>& x) {
  context.set_input("x", x.data(), {static_cast<int64_t>(x.size())});
  context.run();
  return list(context.output("y").data<float>());
}

TEST(Run, GivesTheRightNumbersForEverySize) {
  const Loaded loaded(sample_module());
  tw::Context context(loaded.module);
  for (const size_t n : {1, 7, 64, 3, 64}) {
    std::vector<float> x(n, 0.5f);
    EXPECT_EQ(run(context, x), expected(x)) << n;
  }
}

TEST(Run, LoadsFromFileAndDescriptor) {
  const std::string path = testing::TempDir() + "run_test_" + std::to_string(getpid()) + ".twm";
  ASSERT_EQ(write_module(sample_module(), path), "");
  std::vector<float> x{1, 2, 3};
  {
    const tw::Module module = tw::Module::load(path);
    tw::Context context(module);
    EXPECT_EQ(run(context, x), expected(x));
  }
  tw_load_options full{.verify_full = 1};
  const int fd = open(path.c_str(), O_RDONLY);
  tw_module* module = nullptr;
  EXPECT_EQ(tw_load_descriptor(fd, &full, &module), TW_OK) << tw_error_text(nullptr);
  close(fd);
  tw_module_release(module);
  unlink(path.c_str());
  EXPECT_TRUE(contains(error_of([&] { tw::Module::load(path); }), path));
}

TEST(Run, TellsWhatTheModuleIs) {
  const Loaded loaded(sample_module());
  const tw_module* m = loaded.module.get();
  ASSERT_EQ(tw_input_count(m), 1);
  const tw_port x = loaded.module.input(0);
  EXPECT_STREQ(x.name, "x");
  EXPECT_STREQ(x.type, "f32");
  EXPECT_EQ(x.kind, TW_TENSOR);
  EXPECT_EQ(x.rank, 1);
  tw_dim dim;
  ASSERT_EQ(tw_input_dim(m, 0, 0, &dim), TW_OK);
  EXPECT_EQ(dim.value, -1);
  EXPECT_STREQ(dim.symbol, "n");
  EXPECT_EQ(dim.min, 1);
  EXPECT_EQ(dim.max, 64);
  EXPECT_EQ(tw_input_dim(m, 0, 1, &dim), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_find_output(m, "y"), 0);
  EXPECT_EQ(tw_find_output(m, "z"), -1);
  const char *key = nullptr, *value = nullptr;
  ASSERT_EQ(tw_metadata(m, 0, &key, &value), TW_OK);
  EXPECT_STREQ(value, "by hand");
  EXPECT_EQ(tw_module_kernels(m), 2);
  EXPECT_EQ(tw_module_arena_bytes(m), 256);
  EXPECT_TRUE(contains(tw_machine_features(), name_of(arch_of(kHostTriple))));
}

TEST(Run, NamesTheInputThatDoesNotFit) {
  const Loaded loaded(sample_module());
  tw::Context context(loaded.module);
  std::vector<float> x(65);
  std::vector<double> d(3);
  EXPECT_TRUE(contains(error_of([&] { context.run(); }), "input `x` is not set"));
  const auto with = [&](auto* data, std::initializer_list<int64_t> dims) {
    return error_of([&] {
      context.set_input("x", data, dims);
      context.run();
    });
  };
  EXPECT_EQ(with(x.data(), {65}),
            "bad input: dimension 0, n of input `x` is 65; the module was compiled for 1 to 64");
  EXPECT_TRUE(contains(with(x.data(), {0}), "compiled for 1 to 64"));
  EXPECT_TRUE(contains(with(x.data(), {2, 2}), "has 2 dimensions, the model needs 1"));
  EXPECT_TRUE(contains(with(x.data(), {-1}), "dimension 0 of input `x` is -1"));
  EXPECT_TRUE(contains(with(d.data(), {3}), "elements of type f64, the model needs f32"));
  EXPECT_TRUE(contains(with(reinterpret_cast<float*>(reinterpret_cast<char*>(x.data()) + 2), {3}),
                       "must lie at a multiple of 4"));
  EXPECT_TRUE(contains(with(static_cast<float*>(nullptr), {3}), "has no data"));
  int64_t dims[] = {3}, strides[] = {2};
  tw_tensor t = tw_make_tensor(x.data(), TW_F32, 1, dims);
  t.strides = strides;
  EXPECT_TRUE(contains(error_of([&] { context.set_input(0, t); }), "not compact"));
  t.strides = nullptr;
  t.device_type = 2;
  EXPECT_TRUE(contains(error_of([&] { context.set_input(0, t); }), "another device"));
  EXPECT_TRUE(contains(error_of([&] { context.output("y"); }), "run first"));
  EXPECT_TRUE(contains(error_of([&] { context.set_input("z", x.data(), {3}); }), "`z`"));
  EXPECT_TRUE(contains(error_of([&] { context.set_input(-1, x.data(), {3}); }), "no input -1"));
  EXPECT_TRUE(contains(error_of([&] { context.bind_output(1, x.data(), 8); }), "no output 1"));
}

TEST(Run, AnswersForShapesWithoutRunning) {
  const Loaded loaded(sample_module());
  tw::Context context(loaded.module);
  const int64_t five[] = {5};
  context.set_input_shape(0, five);
  EXPECT_EQ(context.output_shape(0), std::vector<int64_t>{5});
  EXPECT_TRUE(contains(error_of([&] { context.run(); }), "has a shape but no data"));
}

TEST(Run, WritesWhereTheCallerSays) {
  const Loaded loaded(sample_module());
  tw::Context context(loaded.module);
  std::vector<float> x{1, 2, 3, 4}, y(4);
  context.set_input("x", x.data(), {4});
  context.bind_output(0, y.data(), 16);
  context.run();
  EXPECT_EQ(y, expected(x));
  EXPECT_EQ(context.output(0).data<float>().data(), y.data());
  context.bind_output(0, y.data(), 15);
  EXPECT_TRUE(contains(error_of([&] { context.run(); }),
                       "output `y` has 16 bytes, the memory bound to it 15"));
  context.bind_output(0, x.data(), 16);
  EXPECT_TRUE(contains(error_of([&] { context.run(); }), "overlaps input `x`"));
  context.bind_output(0, nullptr, 0);
  context.run();
  EXPECT_EQ(list(context.output(0).data<float>()), expected(x));
}

TEST(Run, KeepsAResultThatSomebodyHolds) {
  std::unique_ptr<tw::Value> kept;
  std::vector<float> x{1, 2}, z{5, 6};
  {
    const Loaded loaded(sample_module());
    tw::Context context(loaded.module);
    run(context, x);
    kept = std::make_unique<tw::Value>(context.output_value(0));
    run(context, z);
  }
  EXPECT_EQ(list(kept->view().data<float>()), expected(x));
}

TEST(Run, RefusesAModuleForAnotherMachine) {
  Module module = sample_module();
  module.variants[0].needs.bits = uint64_t{1} << 63;
  EXPECT_TRUE(
      contains(error_of([&] { Loaded l(module); }), "does not have: compile the model for"));
  module.variants[0].needs = {.arch = arch_of(kHostTriple) == Arch::AArch64 ? Arch::X86_64
                                                                            : Arch::AArch64};
  const std::string text = error_of([&] { Loaded l(module); });
  EXPECT_TRUE(contains(text, "unsupported: the module needs")) << text;
}

TEST(Run, TakesTheBestVariantThatTheMachineCanRun) {
  Module module = sample_module();
  module.variants.push_back(module.variants[0]);
  module.variants[0].needs.bits = uint64_t{1} << 63;
  module.variants.push_back(module.variants[1]);
#if defined(__x86_64__)
  add_features(module.variants[2].needs, "+sse3,-avx2");
  const char* chosen = "variant: 3 of 3, for x86_64 sse3";
#else
  const char* chosen = "variant: 2 of 3";
#endif
  std::string log;
  tw_load_options options{
      .log = [](void* user, const char* line) { *static_cast<std::string*>(user) += line; },
      .log_user = &log};
  const Loaded loaded(module, options);
  EXPECT_TRUE(contains(log, chosen)) << log;
  tw::Context context(loaded.module);
  std::vector<float> x{1, 2};
  EXPECT_EQ(run(context, x), expected(x));
}

TEST(Run, NamesTheHostOperatorThatIsMissing) {
  Module module = sample_module();
  module.host_ops = {"brew_coffee"};
  EXPECT_TRUE(contains(error_of([&] { Loaded l(module); }), "host operator `brew_coffee`"));
}

TEST(Run, SurvivesEveryChangedByteOfTheFile) {
  AlignedBytes bytes(module_bytes(sample_module()));
  for (size_t i = 0; i < bytes.size; i += i < 600 ? 1 : 89) {
    bytes.data[i] ^= std::byte{0x10};
    tw_module* module = nullptr;
    if (tw_load_memory(bytes.data, bytes.size, nullptr, &module) == TW_OK) {
      tw_context* context = nullptr;
      ASSERT_EQ(tw_context_create(module, nullptr, &context), TW_OK);
      float x[4] = {};
      int64_t dims[] = {4};
      const tw_tensor t = tw_make_tensor(x, TW_F32, 1, dims);
      EXPECT_EQ(tw_set_input(context, 0, &t, 0), TW_OK);
      EXPECT_EQ(tw_run(context), TW_OK) << tw_error_text(context);
      tw_context_release(context);
    }
    tw_module_release(module);
    bytes.data[i] ^= std::byte{0x10};
  }
}

}  // namespace
}  // namespace tilewright
