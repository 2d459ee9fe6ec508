// SPDX-License-Identifier: Apache-2.0
// Modules for tests, made by hand around the kernels of kernels.c.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "module/module.h"
#include "module/plan_builder.h"
#include "module/writer.h"

namespace tilewright {

#if defined(__x86_64__)
constexpr const char* kHostTriple = "x86_64-unknown-linux-gnu";
#elif defined(__aarch64__)
constexpr const char* kHostTriple = "aarch64-unknown-linux-gnu";
#else
constexpr const char* kHostTriple = "riscv64-unknown-linux-gnu";
#endif

inline std::vector<std::byte> bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto* p = reinterpret_cast<const std::byte*>(text.data());
  return {p, p + text.size()};
}

/// The test kernels as the compiler would link them.
inline const CodeImage& test_image() {
  static const CodeImage image = [] {
    CodeImage made;
    std::string problem;
    if (!image_from_elf(bytes_of_file(TW_TEST_KERNELS), made, problem)) ADD_FAILURE() << problem;
    return made;
  }();
  return image;
}

inline PortDim fixed(int64_t n) { return {.value = n, .min = n, .max = n}; }

/// A module of one variant under construction.
struct Sample {
  using Access = KernelParam::Access;

  Sample() {
    variant.triple = kHostTriple;
    variant.needs.arch = arch_of(kHostTriple);
    variant.code = test_image();
  }

  /// The number of a kernel of kernels.c.
  uint32_t kernel(const std::string& name, std::vector<Access> access, uint32_t scalars) {
    KernelEntry entry{.name = name, .scalars = scalars};
    for (const auto& [symbol, offset] : variant.code.entries)
      if (symbol == name) entry.offset = offset;
    EXPECT_NE(entry.offset, 0u) << name;
    for (const Access a : access) entry.params.push_back({a, 2});
    variant.kernels.push_back(entry);
    return static_cast<uint32_t>(variant.kernels.size() - 1);
  }

  static uint32_t alignment(ElemType elem) {
    return static_cast<uint32_t>(std::max(1, bits_of(elem) / 8));
  }
  uint32_t input(const std::string& name, ElemType elem, std::vector<PortDim> dims) {
    module.inputs.push_back(
        {.name = name, .type = {elem}, .dims = std::move(dims), .alignment = alignment(elem)});
    return static_cast<uint32_t>(module.inputs.size() - 1);
  }
  uint32_t output(const std::string& name, ElemType elem, std::vector<PortDim> dims) {
    module.outputs.push_back(
        {.name = name, .type = {elem}, .dims = std::move(dims), .alignment = alignment(elem)});
    return static_cast<uint32_t>(module.outputs.size() - 1);
  }
  template <class T>
  uint32_t constant(const std::vector<T>& data) {
    auto owned = std::make_shared<const std::vector<T>>(data);
    module.constants.push_back(
        {reinterpret_cast<const std::byte*>(owned->data()), owned->size() * sizeof(T), owned});
    return static_cast<uint32_t>(module.constants.size() - 1);
  }

  const Module& finish() {
    variant.plan = plan.finish();
    module.variants.push_back(std::move(variant));
    return module;
  }

  Module module;
  ModuleVariant variant;
  PlanBuilder plan{module};
};

/// The bytes of a module at an address that the runtime can use in place.
struct AlignedBytes {
  explicit AlignedBytes(const std::vector<std::byte>& bytes) : storage(bytes.size() + 64) {
    data = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64;
    std::copy(bytes.begin(), bytes.end(), data);
    size = bytes.size();
  }
  std::span<const std::byte> span() const { return {data, size}; }
  std::vector<std::byte> storage;
  std::byte* data;
  size_t size;
};

/// y[n] = (x[n] + w[n]) / 3 for n in 1 … 64: a symbol, a constant, the arena, two kernels.
inline Module sample_module() {
  Sample s;
  using enum KernelParam::Access;
  const uint32_t x = s.input("x", ElemType::F32, {{.symbol = "n", .min = 1, .max = 64}});
  const uint32_t y = s.output("y", ElemType::F32, {{.symbol = "n", .min = 1, .max = 64}});
  const uint32_t add = s.kernel("add", {Read, Read, Write}, 1);
  const uint32_t third = s.kernel("third", {Read, Write}, 1);
  std::vector<float> w(64);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i);
  const uint32_t weights = s.constant(w);
  s.module.metadata = {{"producer", "by hand"}};

  PlanBuilder& p = s.plan;
  const Reg n = p.bind(x, 0, {.min = 1, .max = 64, .symbol = "n"});
  const Reg bytes = p.op(PlanOp::Mul, n, p.constant(4));
  p.end_prologue(bytes, 256);
  const Reg all = p.constant(64);
  const ValueId in = p.input(x), out = p.output(y, std::vector{n});
  const ValueId c = p.constant_value(weights, ElemType::F32, std::vector{all});
  const ValueId t = p.arena(p.constant(0), ElemType::F32, std::vector{n});
  p.call(add, std::vector{in, c, t}, std::vector{n});
  p.call(third, std::vector{t, out}, std::vector{n});
  return s.finish();
}

}  // namespace tilewright
