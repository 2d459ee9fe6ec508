// SPDX-License-Identifier: Apache-2.0
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

ir::LoopFunc sums() {
  return ir::parse_function(R"(
loops sums(A: in f32[n, 7], B: in f32[7, 5], D: out f32[n, 5]) where n in 0..64 {
  alloc C: f32[n, 5]
  for y in 0..n { for x in 0..5 { for k in 0..7 {
    block C(vy: spatial n = y, vx: spatial 5 = x, vk: reduce 7 = k)
      reads A[vy, vk], B[vk, vx] writes C[vy, vx] {
      init { C[vy, vx] = 0.0 }
      C[vy, vx] sum= A[vy, vk] * B[vk, vx] } } } }
  for y in 0..n { for x in 0..5 {
    block D(vy: spatial n = y, vx: spatial 5 = x) reads C[vy, vx] writes D[vy, vx] {
      D[vy, vx] = C[vy, vx] + 1.0 } } }
})");
}

TEST(RoundUp, ComputesWholeTilesAndGuardsLoads) {
  const ir::LoopFunc f = sums();
  Schedule s(f);
  s.round_up(s.block("C"), {4, 1, 1});
  expect_text(s.func(), R"(
loops sums(A: in f32[n, 7], B: in f32[7, 5], D: out f32[n, 5]) where n in 0..64 stage scheduled {
  alloc C: f32[(n + 3) / 4 * 4, 5]
  for y in 0..(n + 3) / 4 * 4 { for x in 0..5 { for k in 0..7 {
    block C(vy: spatial (n + 3) / 4 * 4 = y, vx: spatial 5 = x, vk: reduce 7 = k)
      reads A[vy, vk], B[vk, vx] writes C[vy, vx] {
      init { C[vy, vx] = 0.0 }
      C[vy, vx] sum= guard(vy < n, A[vy, vk], 0.0) * B[vk, vx] } } } }
  for y in 0..n { for x in 0..5 {
    block D(vy: spatial n = y, vx: spatial 5 = x) reads C[vy, vx] writes D[vy, vx] {
      D[vy, vx] = C[vy, vx] + 1.0 } } }
})");
  const auto [y0, y1] = s.split<2>(s.loops("C")[0], {kOpen, 4});
  s.unroll(y1);
  s.reverse_compute_at(s.block("D"), y0);
  EXPECT_EQ(ir::print(s.func()).find("block C(vy: spatial (n + 3) / 4 * 4 = y_0 * 4 + y_1 where"),
            std::string::npos);
  for (const int64_t n : {0, 1, 3, 4, 5, 12, 64})
    expect_same_at(f, s.func(), n, {{n, 7}, {7, 5}, {n, 5}});
}

TEST(RoundUp, ReadsTheLastElementAgain) {
  const ir::LoopFunc f = sums();
  Schedule s(f);
  s.round_up(s.block("C"), {4, 8, 1}, std::vector<Number>{1, 0, 0});
  expect_text(s.func(), R"(
loops sums(A: in f32[n, 7], B: in f32[7, 5], D: out f32[n, 5]) where n in 0..64 stage scheduled {
  alloc C: f32[(n + 3) / 4 * 4, 8]
  for y in 0..(n + 3) / 4 * 4 { for x in 0..8 { for k in 0..7 {
    block C(vy: spatial (n + 3) / 4 * 4 = y, vx: spatial 8 = x, vk: reduce 7 = k)
      reads A[min(vy, n - 1), vk], B[vk, vx] writes C[vy, vx] {
      init { C[vy, vx] = 0.0 }
      C[vy, vx] sum= A[min(vy, n - 1), vk] * guard(vx < 5, B[vk, vx], 0.0) } } } }
  for y in 0..n { for x in 0..5 {
    block D(vy: spatial n = y, vx: spatial 5 = x) reads C[vy, vx] writes D[vy, vx] {
      D[vy, vx] = C[vy, vx] + 1.0 } } }
})");
  const auto [y0, y1] = s.split<2>(s.loops("C")[0], {kOpen, 4});
  s.unroll(y1);
  s.reverse_compute_at(s.block("D"), y0);
  for (const int64_t n : {0, 1, 3, 4, 5, 12, 64})
    expect_same_at(f, s.func(), n, {{n, 7}, {7, 5}, {n, 5}});
  EXPECT_NE(print(s.trace()).find("[4, 8, 1] [1, 0, 0]\n"), std::string::npos);
}

TEST(RoundUp, GuardsMoveWithTheLoadsThatRepeat) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops w(A: in f32[n], D: out f32[n]) where n in 0..64 {
  alloc C: f32[n]
  for y in 0..n { for k in 0..3 {
    block C(vy: spatial n = y, vk: reduce 3 = k) reads A[vy + vk - 1] writes C[vy] {
      init { C[vy] = 0.0 }
      C[vy] sum= guard(vy + vk >= 1 && vy + vk < n + 1, A[vy + vk - 1], 0.0) } } }
  for y in 0..n { block D(vy: spatial n = y) reads C[vy] writes D[vy] { D[vy] = C[vy] } }
})");
  Schedule s(f);
  s.round_up(s.block("C"), {4, 1}, std::vector<Number>{1, 0});
  const std::string text = ir::print(s.func());
  EXPECT_NE(text.find("guard(min(vy, n - 1) + vk >= 1"), std::string::npos) << text;
  EXPECT_NE(text.find("C[vy] sum="), std::string::npos) << text;
  for (const int64_t n : {0, 1, 2, 3, 4, 5, 9}) expect_same_at(f, s.func(), n, {{n}, {n}});
}

TEST(RoundUp, LeavesMultiplesAlone) {
  const ir::LoopFunc f = sums();
  Schedule s(f);
  s.round_up(s.block("C"), {1, 5, 7}, std::vector<Number>{1, 1, 1});
  EXPECT_EQ(ir::print(s.func()).find("guard"), std::string::npos);
}

TEST(RoundUp, RefusesWhatOthersWouldSee) {
  Schedule s(sums());
  const auto refused = [&](const char* block, std::vector<Number> multiples, const char* code,
                           const char* phrase) {
    expect_refused([&] { s.round_up(s.block(block), multiples); }, code, phrase);
  };
  refused("C", {4}, "schedule.round_up.multiples", "3 iterators");
  refused("C", {0, 1, 1}, "schedule.round_up.multiples", "`vy` is 0");
  refused("C", {1, 1, 4}, "schedule.round_up.multiples", "no spatial iterator");
  expect_refused([&] { s.round_up(s.block("C"), {4, 1, 1}, std::vector<Number>{1}); },
                 "schedule.round_up.multiples", "`repeated` has 1 numbers");
  refused("D", {4, 1}, "schedule.round_up.result", "`D` has a size of its own");
  s.split(s.loops("C")[0], {kOpen, 4});
  refused("C", {4, 1, 1}, "schedule.round_up.domain", "no whole loop");
  Schedule taken(sums());
  taken.decompose_reduction(taken.block("C"), taken.loops("C")[2]);
  expect_refused([&] { taken.round_up(taken.block("C"), {4, 1, 1}); }, "schedule.round_up.body",
                 "with its start");
}

TEST(RoundUp, RefusesToDivideByWhatIsNotThere) {
  Schedule s(ir::parse_function(R"(
loops q(A: in i32[n], B: in i32[n], D: out i32[n]) where n in 1..64 {
  alloc C: i32[n]
  for y in 0..n {
    block C(v: spatial n = y) reads A[v], B[v] writes C[v] { C[v] = A[v] / B[v] } }
  for y in 0..n { block D(v: spatial n = y) reads C[v] writes D[v] { D[v] = C[v] } }
})"));
  expect_refused([&] { s.round_up(s.block("C"), {4}); }, "schedule.round_up.body", "divides");
}

}  // namespace
}  // namespace tilewright::schedule
