// SPDX-License-Identifier: Apache-2.0
// What the runtime itself costs, as JSON: one run of a plan of 1,000 empty kernels, per kernel;
// loading modules with small and large weights; full verification.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "module/format.h"
#include "module/plan_builder.h"
#include "module/writer.h"
#include "tilewright/runtime.hpp"

namespace {

using namespace tilewright;
using Clock = std::chrono::steady_clock;

template <class F>
double best_us(int rounds, F&& f) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return best;
}

/// `return 0`.
#if defined(__x86_64__)
constexpr unsigned char kNothing[] = {0x31, 0xc0, 0xc3};
constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
#elif defined(__aarch64__)
constexpr unsigned char kNothing[] = {0x00, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};
constexpr const char* kTriple = "aarch64-unknown-linux-gnu";
#else
constexpr unsigned char kNothing[] = {0x01, 0x45, 0x82, 0x80};
constexpr const char* kTriple = "riscv64-unknown-linux-gnu";
#endif

/// `calls` empty kernels with three buffers and two scalars each, in a chain through the arena.
Module chain(int calls, bool symbolic, const std::vector<std::byte>& weights) {
  Module module;
  module.inputs = {
      {.name = "x", .type = {ElemType::F32}, .dims = {{.symbol = "n"}}, .alignment = 4}};
  module.outputs = {
      {.name = "y", .type = {ElemType::F32}, .dims = {{.symbol = "n"}}, .alignment = 4}};
  module.constants = {{weights.data(), weights.size(), nullptr}};
  ModuleVariant v{.triple = kTriple};
  v.needs.arch = arch_of(kTriple);
  v.code.bytes.resize(format::code_page(v.needs.arch));
  std::memcpy(v.code.bytes.data(), kNothing, sizeof kNothing);
  v.code.segments = {{.offset = 0, .bytes = v.code.bytes.size(), .executable = 1}};
  using enum KernelParam::Access;
  v.kernels = {{.name = "nothing", .params = {{Read, 2}, {Read, 2}, {Write, 2}}, .scalars = 2}};

  PlanBuilder p(module);
  const Reg n = symbolic ? p.bind(0, 0, {}) : p.constant(16);
  if (!symbolic) p.bind_to(0, 0, n);
  p.end_prologue(p.constant(256));
  const ValueId x = p.input(0), y = p.output(0, std::vector{n});
  const ValueId w = p.constant_value(0, ElemType::F32, std::vector{p.constant(16)});
  const ValueId a = p.arena(p.constant(0), ElemType::F32, std::vector{n});
  const ValueId b = p.arena(p.constant(128), ElemType::F32, std::vector{n});
  for (int i = 0; i < calls; ++i) {
    const ValueId from = i == 0 ? x : i % 2 != 0 ? a : b;
    const ValueId to = i == calls - 1 ? y : i % 2 != 0 ? b : a;
    p.call(0, std::vector{from, w, to}, std::vector{n, n});
  }
  v.plan = p.finish();
  module.variants.push_back(std::move(v));
  return module;
}

double per_kernel_us(bool symbolic) {
  constexpr int kCalls = 1000;
  const std::string path = "/tmp/tilewright-bench-" + std::to_string(getpid()) + ".twm";
  write_module(chain(kCalls, symbolic, std::vector<std::byte>(64)), path);
  const tw::Module module = tw::Module::load(path);
  unlink(path.c_str());
  tw::Context context(module);
  std::vector<float> x(16);
  context.set_input("x", x.data(), {16});
  return best_us(3000, [&] { context.run(); }) / kCalls;
}

nlohmann::json load_ms(size_t weight_bytes) {
  const std::string path = "/tmp/tilewright-bench-" + std::to_string(getpid()) + ".twm";
  const std::vector<std::byte> weights(weight_bytes, std::byte{1});
  write_module(chain(1000, false, weights), path);
  const double plain = best_us(20, [&] { tw::Module::load(path); });
  const double full = best_us(5, [&] { tw::Module::load(path, {.verify_full = 1}); });
  unlink(path.c_str());
  return {{"weights_mb", weight_bytes >> 20}, {"load_ms", plain / 1e3}, {"full_ms", full / 1e3}};
}

}  // namespace

int main() {
  nlohmann::json out;
  out["per_kernel_us"] = per_kernel_us(false);
  out["per_checked_kernel_us"] = per_kernel_us(true);
  out["load"] = {load_ms(1 << 20), load_ms(100 << 20), load_ms(size_t{1} << 30)};
  std::puts(out.dump(2).c_str());
}
