// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "schedule/fixtures.h"
#include "support/str.h"

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

/// A product whose second factor lies in three panels.
ir::LoopFunc panels(int64_t rows, int64_t width) {
  const int64_t columns = 3 * width;
  const std::string b = str("B[vx / ", width, ", vk, vx % ", width, "]");
  return ir::parse_function(str(
      "loops panels(A: in f32[", rows, ", 6], B: in f32[3, 6, ", width, "], C: out f32[", rows,
      ", ", columns, "]) {\n  for p in 0..3 { for r in 0..", rows,
      " { for k in 0..6 { for x in 0..", width, " {\n    block C(vr: spatial ", rows,
      " = r, vx: spatial ", columns, " = p * ", width, " + x, vk: reduce 6 = k) reads A[vr, vk], ",
      b, " writes C[vr, vx] {\n      init { C[vr, vx] = 0.0 }\n      C[vr, vx] sum= A[vr, vk] * ",
      b, " } } } } }\n}"));
}

/// How many of the panels' elements a prefetch has asked for, when all has run.
int64_t asked(const ir::LoopFunc& f) {
  const ir::Buffer marks = ir::make_buffer("marks", ir::Elem::F32, f.params[1].buffer->shape);
  ir::LoopFunc marking =
      f.with_body(ir::rewrite(f.body, [&](const ir::Prefetch& p, auto&) -> ir::Stmt {
        return ir::make_stmt<ir::Store>({}, marks, p.indices, ir::float_imm(ir::Elem::F32, 1));
      }));
  marking.params.push_back({marks, ir::Access::InOut});
  std::vector<ir::Array> args = random_args(marking, 17, ir::Arithmetic::Ieee);
  args.back() = ir::make_array(ir::Elem::F32, args.back().shape);
  ir::interpret(marking, args, {}, {});
  int64_t n = 0;
  for (int64_t i = 0; i < args.back().size(); ++i) n += args.back().as_double(i) == 1;
  return n;
}

TEST(PrefetchNext, RowsOfAPanelAskForTheNextLineByLine) {
  const auto scheduled = [](const ir::LoopFunc& f) {
    Schedule s(f);
    const auto [p, r, k, x] = s.loops<4>("C");
    s.prefetch_next(k, p, "B", 2);
    expect_same(f, s);
    expect_same(f, with_real_loads(s.func()));
    return s.func();
  };
  const ir::LoopFunc many = scheduled(panels(8, 32)), few = scheduled(panels(2, 80));
  EXPECT_NE(ir::print(many).find("prefetch 2 B[(p + 1) % 3, k, r / 4 * 16]"), std::string::npos)
      << ir::print(many);
  EXPECT_EQ(asked(many), 3 * 6 * 2) << "each line once for four rows";
  EXPECT_EQ(asked(few), 3 * 6 * 5) << "three lines for a row, one of them for both";
}

TEST(PrefetchNext, GoesWithItsBuffer) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops twice(A: in f32[4, 8], C: out f32[4, 8]) {
  alloc B: f32[4, 8]
  for y in 0..4 { for x in 0..8 {
    block B(vy: spatial 4 = y, vx: spatial 8 = x) reads A[vy, vx] writes B[vy, vx] {
      B[vy, vx] = A[vy, vx] * 2.0 } } }
  for y in 0..4 { for x in 0..8 {
    block C(vy: spatial 4 = y, vx: spatial 8 = x) reads B[vy, vx] writes C[vy, vx] {
      C[vy, vx] = B[vy, vx] * 2.0 } } }
})");
  Schedule s(f);
  const auto [y, x] = s.loops<2>("C");
  s.prefetch_next(x, y, "B", 2);
  EXPECT_NE(ir::print(s.func()).find("prefetch"), std::string::npos);
  s.compute_inline(s.block("B"));
  EXPECT_EQ(ir::print(s.func()).find("prefetch"), std::string::npos) << ir::print(s.func());
  expect_same(f, s);
}

TEST(PrefetchNext, Refuses) {
  Schedule s(panels(4, 32));
  const auto [p, r, k, x] = s.loops<4>("C");
  expect_refused([&] { s.prefetch_next(k, k, "B", 2); }, "schedule.prefetch.along", "itself");
  expect_refused([&] { s.prefetch_next(r, k, "B", 2); }, "schedule.prefetch.along", "around");
  expect_refused([&] { s.prefetch_next(k, p, "D", 2); }, "schedule.prefetch.buffer", "`D`");
  expect_refused([&] { s.prefetch_next(k, p, "B", 0); }, "schedule.prefetch.level", "level is 0");
  s.vectorize(x);
  expect_refused([&] { s.prefetch_next(x, p, "B", 2); }, "schedule.prefetch.lanes", "lanes");

  Schedule t(matmul(10, 12, 7));
  const auto [y, column, term] = t.loops<3>("C");
  expect_refused([&] { t.prefetch_next(column, y, "B", 2); }, "schedule.prefetch.run", "in a row");

  Schedule u(matmul_relu());
  const BlockRef c = u.block("C");
  u.compute_at(c, u.loops("D")[0]);
  u.set_scope(c, "C", ir::ScopeKind::Register);
  const auto own = u.loops("C");
  expect_refused([&] { u.prefetch_next(own[1], own[0], "C", 2); }, "schedule.prefetch.buffer",
                 "not in memory");

  Schedule v(panels(1, 2000));
  expect_refused([&] { v.prefetch_next(v.loops("C")[2], v.loops("C")[0], "B", 2); },
                 "schedule.prefetch.many", "125 lines");
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
