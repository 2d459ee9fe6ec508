// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_cache.h"

#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/module_bytes.h"
#include "driver/model.h"
#include "driver/run_model.h"
#include "graph/parse.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ops/all.h"
#include "target/host.h"

namespace tilewright::driver {
namespace {

namespace fs = std::filesystem;

// A weight that gets packed, one that is folded through compiled code, and a symbol.
constexpr const char* kModel = R"(
symbol n in 1..64 = dim(%x, 0)
constant %w: f32[48, 64] = splat 0.5
constant %u: f32[128, 64] = splat 2.0
graph main(%x: f32[n, 48]) {
  %p: f32[n, 64] = matmul(%x, %w)
  %a: f32[n, 64] = relu(%p)
  %e: f32[128, 64] = exp(%u)
  %t: f32[64, 128] = transpose(%e) {axes = [1, 0]}
  %y: f32[n, 128] = matmul(%a, %t)
  return %y
})";

class KernelCaches : public testing::Test {
 protected:
  void SetUp() override {
#ifndef TILEWRIGHT_LLVM
    GTEST_SKIP() << "kernels need LLVM";
#endif
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::byte> compiled(const std::string& target, bool cached) const {
    ModelOptions options;
    options.target = target::parse_target(target);
    if (cached) options.cache = std::make_shared<KernelCache>(folder_);
    return module_bytes(compile_model(graph::parse(kModel, ops::find), options));
  }
  int64_t entries() const { return KernelCache(folder_).files().usage().entries; }

  static std::vector<std::byte> run(const std::vector<std::byte>& bytes) {
    PagedMemory memory(bytes.size());
    std::memcpy(memory.data(), bytes.data(), bytes.size());
    LoadedModule module(std::move(memory), 1);
    module.set_random_inputs(7);
    module.run();
    const graph::Constant y = module.outputs().at(0).value;
    return {y->bytes.begin(), y->bytes.end()};
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("tilewright_kernels_" + std::to_string(getpid()));
};

TEST_F(KernelCaches, do_not_change_the_module) {
  const std::vector<std::byte> plain = compiled("host", false);
  EXPECT_FALSE(fs::exists(folder_));
  const std::vector<std::byte> first = compiled("host", true);
  const int64_t made = entries();
  EXPECT_GE(made, 2);
  const std::vector<std::byte> second = compiled("host", true);
  EXPECT_EQ(entries(), made);
  EXPECT_EQ(plain, first);
  EXPECT_EQ(plain, second);
  EXPECT_EQ(run(plain), run(second));
}

TEST_F(KernelCaches, are_asked_by_the_next_compilation) {
  const std::vector<std::byte> good = compiled("host", true);
  for (const auto& f : fs::directory_iterator(folder_)) {
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    utimensat(AT_FDCWD, f.path().c_str(), old, 0);
  }
  EXPECT_EQ(compiled("host", true), good);
  for (const auto& f : fs::directory_iterator(folder_)) {
    struct stat info;
    ASSERT_EQ(stat(f.path().c_str(), &info), 0);
    EXPECT_GT(info.st_mtime, 1000) << "an entry was not used";
  }
}

TEST_F(KernelCaches, are_made_again_where_damaged) {
  const std::vector<std::byte> good = compiled("host", true);
  const int64_t made = entries();
  for (const auto& f : fs::directory_iterator(folder_)) fs::resize_file(f.path(), 100);
  EXPECT_EQ(compiled("host", true), good);
  EXPECT_EQ(entries(), made);
  EXPECT_EQ(compiled("host", true), good);
}

TEST_F(KernelCaches, tell_targets_apart) {
  compiled("x86-64-v3", true);
  const int64_t made = entries();
  const std::vector<std::byte> other = compiled("aarch64", true);
  EXPECT_GT(entries(), made);
  EXPECT_EQ(other, compiled("aarch64", false));
}

TEST_F(KernelCaches, keep_what_a_kernel_needs_to_be_called) {
  const KernelCache cache(folder_);
  ReadyKernel kernel;
  const ir::Var n("n");
  kernel.kernel.func.symbols = {{.var = ir::Var("m")}, {.var = n}};
  kernel.kernel.func.params = {{{}, ir::Access::In}, {{}, ir::Access::InOut}};
  kernel.kernel.code = {.entry = "k1",
                        .code = std::string("\0code\xff", 6),
                        .triple = "t",
                        .needs = ir::Isa::Avx2,
                        .numerics = target::Numerics::Ieee,
                        .workspace = {n * 64 + 128, 0}};
  kernel.kernel.plain = "because";
  kernel.taken = {1, 0};
  kernel.prepared = {2};
  kernel.packed = {{ir::Elem::F16, {2, 3}}};
  EXPECT_FALSE(cache.find("key"));
  cache.put("key", kernel);
  const std::optional<ReadyKernel> found = cache.find("key");
  ASSERT_TRUE(found);
  EXPECT_FALSE(cache.find("another key"));
  const target::Kernel& code = found->kernel.code;
  EXPECT_EQ(code.entry, "k1");
  EXPECT_EQ(code.code, kernel.kernel.code.code);
  EXPECT_EQ(code.needs, ir::IsaSet(ir::Isa::Avx2));
  EXPECT_EQ(code.numerics, target::Numerics::Ieee);
  EXPECT_EQ(found->kernel.plain, "because");
  EXPECT_EQ(found->taken, kernel.taken);
  EXPECT_EQ(found->prepared, kernel.prepared);
  EXPECT_EQ(found->packed, kernel.packed);
  ASSERT_EQ(found->kernel.func.params.size(), 2u);
  EXPECT_EQ(found->kernel.func.params[1].access, ir::Access::InOut);
  ASSERT_EQ(found->kernel.func.symbols.size(), 2u);
  const ir::Expr shared =
      ir::substitute(code.workspace.shared, found->kernel.func.symbols[1].var, 2);
  EXPECT_EQ(ir::const_int(graph::simplified(shared)), 256);
}

TEST_F(KernelCaches, stand_where_the_user_says) {
  setenv("TILEWRIGHT_CACHE", "/a/b", 1);
  EXPECT_EQ(KernelCache::default_folder(), "/a/b");
  unsetenv("TILEWRIGHT_CACHE");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(KernelCache::default_folder(), "/x/tilewright");
  setenv("XDG_CACHE_HOME", "relative is to be ignored", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(KernelCache::default_folder(), "/home/me/.cache/tilewright");
}

}  // namespace
}  // namespace tilewright::driver
