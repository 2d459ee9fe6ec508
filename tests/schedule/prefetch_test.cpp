// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

ir::LoopFunc scale() {
  return ir::parse_function(R"(
loops scale(A: in f32[20], C: out f32[20]) {
  for i in 0..20 {
    block C(v: spatial 20 = i) reads A[v] writes C[v] { C[v] = A[v] * 2.0 } }
})");
}

/// The program with every prefetch of an input as a real load: outside of the buffer it would fail.
ir::LoopFunc with_real_loads(const ir::LoopFunc& f) {
  const ir::Buffer sink = ir::make_buffer("sink", ir::Elem::F32, {});
  const ir::Stmt body = ir::rewrite(f.body, [&](const ir::Prefetch& p, auto&) -> ir::Stmt {
    for (const ir::Param& param : f.params)
      if (param.buffer == p.buffer && param.access == ir::Access::In)
        return ir::make_stmt<ir::Store>({}, sink, std::vector<ir::Expr>{},
                                        ir::load(p.buffer, p.indices));
    return ir::Stmt::of(p);
  });
  return f.with_body(ir::make_stmt<ir::Alloc>({}, sink, body));
}

TEST(Prefetch, AsksForAnElementFurtherOnAndStaysInside) {
  Schedule s(scale());
  const LoopRef i = s.loops("C")[0];
  s.prefetch(i, i, "A", 3, 2);
  s.prefetch(i, i, "C", 1, 1);
  EXPECT_EQ(ir::print(s.func()), R"(loops scale(A: in f32[20], C: out f32[20]) stage scheduled {
  for i in 0..20 {
    prefetch 1 write C[min(i + 1, 19)]
    prefetch 2 A[min(i + 3, 19)]
    block C(v: spatial 20 = i) reads A[v] writes C[v] {
      C[v] = A[v] * 2.0
    }
  }
}
)");
  expect_same(scale(), s);
  expect_same(scale(), with_real_loads(s.func()));
}

TEST(Prefetch, RunsAheadAlongALoopAroundItsPlace) {
  const ir::LoopFunc f = matmul(10, 12, 7);
  Schedule s(f);
  const auto [y, x, k] = s.loops<3>("C");
  s.reorder({k, y, x});
  s.prefetch(y, k, "A", 2, 1);
  EXPECT_NE(ir::print(s.func()).find("prefetch 1 A[y, min(k + 2, 6)]"), std::string::npos)
      << ir::print(s.func());
  expect_same(f, s);
  expect_same(f, with_real_loads(s.func()));
}

TEST(Prefetch, ClampsWhereAPredicateKeptTheAccessInside) {
  const ir::LoopFunc f = scale();
  Schedule s(f);
  const auto [i0, i1] = s.split<2>(s.loops("C")[0], {kOpen, 8});
  s.prefetch(i1, i0, "A", 1, 1);
  EXPECT_NE(ir::print(s.func()).find(", 19)]"), std::string::npos) << ir::print(s.func());
  expect_same(f, s);
  expect_same(f, with_real_loads(s.func()));
}

TEST(Prefetch, Refuses) {
  const auto code = [](const Diagnostic& d, const char* phrase) {
    EXPECT_NE((d.message + d.notes[0]).find(phrase), std::string::npos) << d.notes[0];
    return d.code;
  };
  Schedule s(matmul_relu());
  const auto [y, x, k] = s.loops<3>("C");
  const LoopRef other = s.loops("D")[0];
  EXPECT_EQ(code(diagnostic_of([&] { s.prefetch(k, k, "C", 1, 1); }), "made inside"),
            "schedule.prefetch.buffer");
  EXPECT_EQ(code(diagnostic_of([&] { s.prefetch(k, k, "bias", 1, 1); }), "does not touch"),
            "schedule.prefetch.buffer");
  EXPECT_EQ(code(diagnostic_of([&] { s.prefetch(k, other, "A", 1, 1); }), "does not stand around"),
            "schedule.prefetch.along");
  EXPECT_EQ(code(diagnostic_of([&] { s.prefetch(k, k, "A", 0, 1); }), "distance is 0"),
            "schedule.prefetch.distance");
  EXPECT_EQ(code(diagnostic_of([&] { s.prefetch(k, k, "A", 1, 4); }), "level is 4"),
            "schedule.prefetch.level");
  const LoopRef lanes = s.loops("D")[1];
  s.vectorize(lanes);
  EXPECT_EQ(code(diagnostic_of([&] { s.prefetch(lanes, lanes, "bias", 1, 1); }), "lanes"),
            "schedule.prefetch.lanes");

  Schedule t(ir::parse_function(R"(
loops maybe(A: in f32[n], C: out f32[8]) where n in 0..100 {
  for i in 0..8 {
    block C(v: spatial 8 = i) reads A[v] writes C[v] { C[v] = guard(v < n, A[v], 0.0) } }
})"));
  const LoopRef i = t.loops("C")[0];
  EXPECT_EQ(code(diagnostic_of([&] { t.prefetch(i, i, "A", 1, 1); }), "may have no element"),
            "schedule.prefetch.empty");

  Schedule u(ir::parse_function(R"(
loops lets(A: in f32[16], J: in i64[8], C: out f32[8]) {
  for i in 0..8 { let j = J[i]  C[i] = A[j]
    block D() {} }
})"));
  const LoopRef l = u.loops("D")[0];
  EXPECT_EQ(code(diagnostic_of([&] { u.prefetch(l, l, "A", 1, 1); }), "`j`"),
            "schedule.prefetch.let");
}

}  // namespace
}  // namespace tilewright::schedule
