// SPDX-License-Identifier: Apache-2.0
// Programs that the tests of steps share, and the oracle: a step never changes results.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "common/errors.h"
#include "ir/equal.h"
#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/schedule.h"

namespace tilewright::schedule {

inline ir::LoopFunc matmul(int m, int n, int k) {
  const std::string text =
      "loops matmul(A: in f32[" + std::to_string(m) + ", " + std::to_string(k) + "], B: in f32[" +
      std::to_string(k) + ", " + std::to_string(n) + "], C: out f32[" + std::to_string(m) + ", " +
      std::to_string(n) + "]) {\n  for y in 0.." + std::to_string(m) + " {\n    for x in 0.." +
      std::to_string(n) + " {\n      for k in 0.." + std::to_string(k) +
      " {\n        block C(vy: spatial " + std::to_string(m) + " = y, vx: spatial " +
      std::to_string(n) + " = x, vk: reduce " + std::to_string(k) +
      " = k) reads A[vy, vk], B[vk, vx] writes C[vy, vx] {\n"
      "          init { C[vy, vx] = 0.0 }\n"
      "          C[vy, vx] sum= A[vy, vk] * B[vk, vx]\n        }\n      }\n    }\n  }\n}\n";
  return ir::parse_function(text);
}

/// D = relu(A * B + bias)
inline ir::LoopFunc matmul_relu() {
  return ir::parse_function(R"(
loops matmul_relu(A: in f32[10, 7], B: in f32[7, 12], bias: in f32[12], D: out f32[10, 12]) {
  alloc C: f32[10, 12]
  for y in 0..10 { for x in 0..12 { for k in 0..7 {
    block C(vy: spatial 10 = y, vx: spatial 12 = x, vk: reduce 7 = k)
      reads A[vy, vk], B[vk, vx] writes C[vy, vx] {
      init { C[vy, vx] = 0.0 }
      C[vy, vx] sum= A[vy, vk] * B[vk, vx]
    } } } }
  for y in 0..10 { for x in 0..12 {
    block D(vy: spatial 10 = y, vx: spatial 12 = x) reads C[vy, vx], bias[vx] writes D[vy, vx] {
      D[vy, vx] = max(C[vy, vx] + bias[vx], 0.0)
    } } }
})");
}

/// A 3-tap blur of a pointwise stage: a producer with a halo.
inline ir::LoopFunc blur() {
  return ir::parse_function(R"(
loops blur(A: in f32[20], C: out f32[18]) {
  alloc B: f32[20]
  for i in 0..20 {
    block B(v: spatial 20 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
  for i in 0..18 {
    block C(v: spatial 18 = i) reads B[v +: 3] writes C[v] {
      C[v] = B[v] + B[v + 1] + B[v + 2] } }
})");
}

inline std::vector<ir::Array> random_args(const ir::LoopFunc& f, uint64_t seed,
                                          ir::Arithmetic arithmetic) {
  std::vector<ir::Array> args;
  for (const ir::Param& p : f.params) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : p.buffer->shape) shape.push_back(*ir::const_int(e));
    args.push_back(ir::random_array(p.buffer->elem, shape, seed + args.size(), arithmetic));
  }
  return args;
}

/// Verifies both programs and demands equal results in exact arithmetic.
inline void expect_same(const ir::LoopFunc& before, const ir::LoopFunc& after) {
  ir::verify(after);
  const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact};
  std::vector<ir::Array> one = random_args(before, 17, ir::Arithmetic::Exact);
  std::vector<ir::Array> two = one;
  ir::interpret(before, one, {}, options);
  ir::interpret(after, two, {}, options);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(ir::same_bits(one[i], two[i]))
        << before.params[i].buffer->name << " differs after\n"
        << ir::print(after);
}

/// Equal results in exact arithmetic for these values of the symbols; the shapes are the
/// parameters'.
inline void expect_same_at(const ir::LoopFunc& before, const ir::LoopFunc& after,
                           const std::vector<int64_t>& symbols,
                           const std::vector<std::vector<int64_t>>& shapes) {
  ir::verify(after);
  const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact};
  std::vector<ir::Array> one;
  for (size_t i = 0; i < shapes.size(); ++i)
    one.push_back(
        ir::random_array(before.params[i].buffer->elem, shapes[i], 17 + i, ir::Arithmetic::Exact));
  std::vector<ir::Array> two = one;
  ir::interpret(before, one, symbols, options);
  ir::interpret(after, two, symbols, options);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(ir::same_bits(one[i], two[i])) << testing::PrintToString(symbols) << "\n"
                                               << ir::print(after);
}
inline void expect_same_at(const ir::LoopFunc& before, const ir::LoopFunc& after, int64_t n,
                           const std::vector<std::vector<int64_t>>& shapes) {
  expect_same_at(before, after, std::vector<int64_t>{n}, shapes);
}

/// The program is, but for names of variables, the one that the text gives.
inline void expect_text(const ir::LoopFunc& func, const std::string& text) {
  EXPECT_TRUE(ir::equal(func, ir::parse_function(text))) << ir::print(func);
}

/// The step is refused with that code, and says why.
template <class F>
void expect_refused(F&& step, std::string_view code, std::string_view phrase) {
  const Diagnostic d = diagnostic_of(step);
  EXPECT_EQ(d.code, code) << render(d);
  EXPECT_NE(render(d).find(phrase), std::string::npos) << render(d);
}

/// The same for what a schedule made; the printed trace replays to the same program.
inline void expect_same(const ir::LoopFunc& before, const Schedule& s) {
  expect_same(before, s.func());
  const Trace trace = parse_trace(print(s.trace()));
  EXPECT_EQ(ir::print(apply(trace, before)), ir::print(s.func()));
}

}  // namespace tilewright::schedule
