// SPDX-License-Identifier: Apache-2.0
#include "schedule/overlap_fixtures.h"

namespace tilewright::schedule {
namespace {

TEST(Stagger, RunsStatementsOfDifferentIterationsTogether) {
  Schedule s(rows(6));
  s.stagger(s.loops("C")[0], {0, 1}, {1, 0});
  EXPECT_EQ(ir::print(s.func()), R"(loops rows(A: in f32[6, 4], C: out f32[6]) stage scheduled {
  alloc B: f32[2, 4] shared
  for i in 0..7 {
    for j in 0..4 {
      block C(vi: spatial 6 = i - 1, vj: reduce 4 = j, vi_1: ordered 6 = i - 1)
          where i >= 1
          reads B[vi_1 % 2, vj]
          writes C[vi] {
        init {
          C[vi] = 0.0
        }
        C[vi] sum= B[vi_1 % 2, vj]
      }
    }
    for j in 0..4 {
      block B(vi: spatial 6 = i, vj: spatial 4 = j, vi_1: ordered 6 = i)
          where i < 6
          reads A[vi, vj]
          writes B[vi_1 % 2, vj] {
        B[vi_1 % 2, vj] = A[vi, vj] * 2.0
      }
    }
  }
}
)");
  expect_same(rows(6), s);
  s.merge(s.loops("C")[1], s.loops("B")[1]);  // what it is for
  expect_same(rows(6), s);
}

TEST(Stagger, IsRightForLoopsShorterThanItsDelays) {
  for (const int n : {0, 1, 2, 3, 5, 9})
    for (const auto& [b, c] : {std::pair{0, 1}, {0, 3}, {2, 4}, {1, 1}})
      for (const bool swap : {false, true}) {
        if (swap && b == c) continue;
        SCOPED_TRACE(testing::Message() << n << " iterations, delays " << b << ", " << c);
        Schedule s(rows(n));
        const std::vector<Number> order =
            swap ? std::vector<Number>{1, 0} : std::vector<Number>{0, 1};
        s.stagger(s.loops("C")[0], {b, c}, order);
        expect_same_in_all_orders(rows(n), s);
      }
  Schedule s(rows(-1));
  s.stagger(s.loops("C")[0], {0, 2}, {1, 0});
  expect_same_rows(s);
}

/// Three stages, of which the last reads both results before it.
constexpr const char* kChain = R"(
loops chain(A: in f32[7, 4], E: inout f32[4], D: inout f32[7, 4]) {
  for i in 2..7 {
    alloc B: f32[4]
    alloc C: f32[4]
    for j in 0..4 { block B(vi: spatial 7 = i, vj: spatial 4 = j) reads A[vi, vj] writes B[vj] {
      B[vj] = A[vi, vj] * 2.0 } }
    for j in 0..4 { block C(vj: spatial 4 = j) reads B[3 - vj] writes C[vj] { C[vj] = B[3 - vj] + 1.0 } }
    for j in 0..4 { block D(vi: spatial 7 = i, vj: spatial 4 = j) reads B[vj], C[vj] writes D[vi, vj] {
      D[vi, vj] = B[vj] - C[vj] } }
    for j in 0..4 { block E(vi: ordered 7 = i, vj: spatial 4 = j) reads C[vj], E[vj] writes E[vj] {
      E[vj] = E[vj] * 2.0 + C[vj] } }
  }
})";

TEST(Stagger, KeepsOneSlotForEachIterationInFlight) {
  const ir::LoopFunc f = ir::parse_function(kChain);
  for (const std::vector<Number>& order :
       {std::vector<Number>{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}}) {
    Schedule s(f);
    s.stagger(s.loops("D")[0], {0, 1, 3, 2}, order);
    expect_same(f, s);
    const std::string text = ir::print(s.func());
    EXPECT_NE(text.find("alloc B: f32[4, 4]"), std::string::npos) << text;
    EXPECT_NE(text.find("alloc C: f32[3, 4]"), std::string::npos) << text;
  }
  Schedule s(f);
  s.stagger(s.loops("D")[0], {0, 2, 2, 2}, {1, 3, 0, 2});
  expect_same(f, s);
  const std::string text = ir::print(s.func());
  EXPECT_NE(text.find("alloc B: f32[3, 4]"), std::string::npos) << text;
  EXPECT_NE(text.find("alloc C: f32[4]"), std::string::npos) << text;  // of one iteration still
}

TEST(Stagger, Refuses) {
  const auto refusal = [](const char* text, const char* block, std::vector<Number> delays,
                          std::vector<Number> order, const char* phrase) {
    Schedule s(ir::parse_function(text));
    const LoopRef loop = s.loops(block)[0];
    const Diagnostic d = diagnostic_of([&] { s.stagger(loop, delays, order); });
    EXPECT_NE(d.notes[0].find(phrase), std::string::npos) << d.notes[0];
    EXPECT_FALSE(d.help.empty());
    return std::string(d.code);
  };
  const std::string turns = "schedule.stagger.turns", dependence = "schedule.stagger.dependence";
  EXPECT_EQ(refusal(kChain, "D", {0, 1}, {0, 1, 2, 3}, "4 statements, 2 delays"), turns);
  EXPECT_EQ(refusal(kChain, "D", {0, 1, 2, 64}, {0, 1, 2, 3}, "delay is 64"), turns);
  EXPECT_EQ(refusal(kChain, "D", {0, 1, 2, -1}, {0, 1, 2, 3}, "delay is -1"), turns);
  EXPECT_EQ(refusal(kChain, "D", {0, 1, 2, 2}, {0, 1, 2, 2}, "statement 2 occurs twice"), turns);
  EXPECT_EQ(refusal(kChain, "D", {0, 1, 2, 2}, {0, 1, 2, 4}, "statement 4 does not exist"), turns);
  EXPECT_EQ(refusal(kChain, "D", {1, 0, 2, 2}, {0, 1, 2, 3},
                    "`B` is written by block `B` and read by block `C` in the same"),
            dependence);
  EXPECT_EQ(refusal(kChain, "D", {0, 0, 2, 2}, {1, 0, 2, 3},
                    "`B` is written by block `B` and read by block `C` in the same"),
            dependence);
  EXPECT_EQ(refusal(kChain, "D", {0, 2, 1, 2}, {0, 1, 2, 3},
                    "`C` is written by block `C` and read by block `D` in the same"),
            dependence);

  const char* loaded = R"(
loops loaded(N: inout i64[1], A: in f32[6], C: out f32[6]) {
  for i in 0..N[0] {
    block C(v: spatial 6 = i) reads A[v] writes C[v] { C[v] = A[v] * 2.0 }
    block N(v: ordered 6 = i) writes N[0] { N[0] = 3 }
  }
})";
  EXPECT_EQ(refusal(loaded, "C", {0, 1}, {0, 1}, "read from memory"), "schedule.overlap.body");
}

/// `P` writes C[i + 1]; `Q` reads what it wrote before, now, or is to overwrite later.
ir::LoopFunc meeting(const std::string& index) {
  return ir::parse_function(R"(
loops meeting(A: in f32[6], C: inout f32[8], D: out f32[6]) {
  for i in 0..6 {
    block P(v: spatial 6 = i) reads A[v] writes C[v + 1] { C[v + 1] = A[v] * 2.0 }
    block Q(v: spatial 6 = i) reads C[)" +
                            index + R"(] writes D[v] { D[v] = C[)" + index + R"(] + 1.0 }
  }
})");
}

TEST(Stagger, KeepsTheOrderOfAccessesInDifferentIterations) {
  // By how many iterations Q may come after P, standing behind it and before it.
  struct Case {
    const char* index;
    std::vector<int64_t> behind, ahead;
  };
  for (const Case& c : {Case{"v", {0, 1, 2, 3}, {1, 2, 3}}, Case{"v + 1", {0, 1, 2, 3}, {1, 2, 3}},
                        Case{"v + 2", {0}, {1}}, Case{"6 - v", {0}, {1}}}) {
    const ir::LoopFunc f = meeting(c.index);
    for (const bool swap : {false, true}) {
      std::vector<int64_t> accepted;
      for (int64_t by = -3; by <= 3; ++by) {
        Schedule s(f);
        const std::vector<Number> delays = {std::max<int64_t>(0, -by), std::max<int64_t>(0, by)};
        try {
          s.stagger(s.loops("P")[0], delays,
                    swap ? std::vector<Number>{1, 0} : std::vector<Number>{0, 1});
        } catch (const Error& e) {
          EXPECT_EQ(e.diagnostic.code, "schedule.stagger.dependence");
          EXPECT_NE(e.diagnostic.notes[0].find("`C` is"), std::string::npos);
          continue;
        }
        accepted.push_back(by);
        expect_same(f, s);
      }
      EXPECT_EQ(accepted, swap ? c.ahead : c.behind) << "C[" << c.index << "], swap " << swap;
    }
  }
}

}  // namespace
}  // namespace tilewright::schedule
