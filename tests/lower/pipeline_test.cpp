// SPDX-License-Identifier: Apache-2.0
#include "lower/pipeline.h"

#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

ir::LoopFunc lowered(std::string_view text) {
  PassContext context;
  return run(cpu_pipeline(), ir::parse_function(text), context);
}

/// The whole pipeline against the program as written.
void expect_lowers(std::string_view text, const std::vector<std::vector<int64_t>>& symbols = {{}},
                   Order order = Order::Kept) {
  const ir::LoopFunc f = lowered(text);
  EXPECT_EQ(f.stage, ir::Stage::Final);
  for (const auto& values : symbols) expect_same(ir::parse_function(text), f, values, order);
}

TEST(Pipeline, ListsEveryPassOnceByName) {
  for (const Pass& pass : all_passes()) EXPECT_EQ(find_pass(pass.name)->run, pass.run);
  for (const Pass& pass : cpu_pipeline()) EXPECT_NE(find_pass(pass.name), nullptr) << pass.name;
  EXPECT_EQ(find_pass("no_such_pass"), nullptr);
}

constexpr const char* kCopy = R"(
loops f(A: in f32[8], C: out f32[8]) {
  for i in 0..8 { block c(v: spatial 8 = i) reads A[v] writes C[v] { C[v] = A[v] } }
})";

TEST(Pipeline, PrintsTimesAndSkips) {
  std::vector<std::string> seen;
  PassContext context{
      .skip = {"simplify", "partition"},
      .after = [&](const Pass& pass, const ir::LoopFunc&) { seen.emplace_back(pass.name); }};
  run(cpu_pipeline(), ir::parse_function(kCopy), context);
  ASSERT_EQ(seen.size(), context.times.size());
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], context.times[i].pass);
    EXPECT_NE(seen[i], "simplify");
    EXPECT_GE(context.times[i].seconds, 0);
  }
  EXPECT_EQ(seen.front(), "lower_instructions");
}

TEST(Pipeline, ASkippedPassThatOthersNeedIsNamed) {
  PassContext context{.skip = {"lower_blocks"}};
  const Diagnostic d =
      diagnostic_of([&] { run(cpu_pipeline(), ir::parse_function(kCopy), context); });
  EXPECT_EQ(d.code, "lower.pipeline.order");
  EXPECT_NE(d.help.find("`lower_blocks`"), std::string::npos);
}

TEST(Pipeline, AnInvalidProgramIsTheUsersMistake) {
  PassContext context;
  const ir::LoopFunc f = ir::parse_function(R"(loops f(A: in f32[8]) {
  for i in 0..8 { A[i] = 1.0 }
})");
  EXPECT_EQ(diagnostic_of([&] { run(cpu_pipeline(), f, context); }).code.substr(0, 10),
            "ir.verify.");
}

// A 14x32 register tile as a schedule leaves it: B packed, the accumulators in registers.
constexpr const char* kMatmul = R"(
loops matmul(A: in f32[28, 16], B: in f32[2, 16, 32], C: out f32[28, 64]) stage scheduled {
  alloc acc: f32[28, 64] register
  for jo in 0..2 { for io in 0..2 {
    unrolled for ii in 0..14 { vectorized for ji in 0..32 {
      block init(i: spatial 28 = io*14 + ii, j: spatial 64 = jo*32 + ji) writes acc[i, j] {
        acc[i, j] = 0.0
      } } }
    for ko in 0..16 { unrolled for ii in 0..14 { vectorized for ji in 0..32 {
      block update(i: spatial 28 = io*14 + ii, j: spatial 64 = jo*32 + ji, k: reduce 16 = ko)
        reads A[i, k], B[j / 32, k, j % 32] writes acc[i, j] {
        acc[i, j] sum= A[i, k] * B[j / 32, k, j % 32]
      } } } }
    unrolled for ii in 0..14 { vectorized for ji in 0..32 {
      block write(i: spatial 28 = io*14 + ii, j: spatial 64 = jo*32 + ji)
        reads acc[i, j] writes C[i, j] {
        C[i, j] = acc[i, j]
      } } }
  } }
})";

/// What an index may be in the hot loop: a sum of variables, with constant factors, and a constant.
bool is_base_plus_constant(const ir::Expr& e) {
  if (e.as<ir::VarNode>() || e.as<ir::IntImm>()) return true;
  const ir::Binary* b = e.as<ir::Binary>();
  if (!b) return false;
  if (b->op == ir::BinaryOp::Mul) return is_base_plus_constant(b->a) && b->b.as<ir::IntImm>();
  return b->op == ir::BinaryOp::Add && is_base_plus_constant(b->a) && is_base_plus_constant(b->b);
}

void expect_clean_hot_loop(const ir::Stmt& body, const std::string& whole) {
  int updates = 0;
  ir::walk(
      body, [&](const ir::If&) { ADD_FAILURE() << "an if\n"
                                               << whole; },
      [&](const ir::Guard&) { ADD_FAILURE() << "a guard\n"
                                            << whole; },
      [&](const ir::Select&) { ADD_FAILURE() << "a select\n"
                                             << whole; },
      [&](const ir::Binary& b) {
        EXPECT_TRUE(b.op == ir::BinaryOp::Add || b.op == ir::BinaryOp::Mul) << whole;
      },
      [&](const ir::Load& l) {
        EXPECT_FALSE(l.mask) << whole;
        const ir::Ramp* r = l.indices[0].as<ir::Ramp>();
        if (r) {
          EXPECT_TRUE(ir::is_const(r->stride, 1)) << whole;
        }
        EXPECT_TRUE(is_base_plus_constant(r ? r->base : l.indices[0])) << whole;
      },
      [&](const ir::Store& s) {
        ++updates;
        EXPECT_EQ(s.buffer->scope.kind, ir::ScopeKind::Register) << whole;
        const ir::Ramp* r = s.indices[0].as<ir::Ramp>();
        ASSERT_NE(r, nullptr) << whole;
        EXPECT_TRUE(r->base.as<ir::IntImm>()) << whole;
        EXPECT_FALSE(s.mask) << whole;
      });
  EXPECT_EQ(updates, 14) << whole;
}

TEST(Pipeline, TheHotLoopOfAMatmulIsClean) {
  const ir::LoopFunc f = lowered(kMatmul);
  const std::string whole = ir::print(f);
  int hot = 0;
  ir::walk(f.body, [&](const ir::For& loop) {
    if (loop.var.name() != "ko") return;
    ++hot;
    expect_clean_hot_loop(loop.body, whole);
  });
  EXPECT_EQ(hot, 1) << whole;
  ir::walk(f.body, [&](const ir::Alloc& a) {
    EXPECT_TRUE(ir::is_const(a.buffer->shape[0], 14 * 32)) << whole;
  });
  expect_same(ir::parse_function(kMatmul), f);
}

TEST(Pipeline, TheHotLoopOfAMatmulOfUnknownSizeIsClean) {
  const char* text = R"(
loops matmul(A: in f32[m, k], B: in f32[n / 32, k, 32], C: out f32[m, n])
    where m in 1..1000, n in 0..1000 div 32, k in 1..1000 stage scheduled {
  alloc acc: f32[m, n] register
  for jo in 0..n / 32 { for io in 0..(m + 13) / 14 {
    unrolled for ii in 0..14 { vectorized for ji in 0..32 {
      block init(vi: spatial m = io*14 + ii, vj: spatial n = jo*32 + ji) where io*14 + ii < m
        writes acc[vi, vj] { acc[vi, vj] = 0.0 } } }
    for ko in 0..k { unrolled for ii in 0..14 { vectorized for ji in 0..32 {
      block update(vi: spatial m = io*14 + ii, vj: spatial n = jo*32 + ji, vk: reduce k = ko)
        where io*14 + ii < m reads A[vi, vk], B[vj / 32, vk, vj % 32] writes acc[vi, vj] {
        acc[vi, vj] sum= A[vi, vk] * B[vj / 32, vk, vj % 32] } } } }
    unrolled for ii in 0..14 { vectorized for ji in 0..32 {
      block write(vi: spatial m = io*14 + ii, vj: spatial n = jo*32 + ji) where io*14 + ii < m
        reads acc[vi, vj] writes C[vi, vj] { C[vi, vj] = acc[vi, vj] } } }
  } }
})";
  const ir::LoopFunc f = lowered(text);
  const std::string whole = ir::print(f);
  int clean = 0, all = 0;
  ir::walk(f.body, [&](const ir::For& loop) {
    if (loop.var.name() != "ko") return;
    ++all;
    int tests = 0;
    ir::walk(loop.body, [&](const ir::If&) { ++tests; });
    if (tests == 0) {
      ++clean;
      expect_clean_hot_loop(loop.body, whole);
    }
  });
  EXPECT_EQ(clean, 1) << whole;
  EXPECT_EQ(all, 4) << "tails of up to 4, 7 and 13 rows\n" << whole;
  for (int64_t m : {1, 14, 17}) expect_same(ir::parse_function(text), f, {m, 32, 3});
  expect_same(ir::parse_function(text), f, {15, 0, 3});
}

TEST(Pipeline, TailsInBothDirections) {
  expect_lowers(R"(
loops f(A: in f32[n, m], B: in f32[m], C: out f32[n, m]) where n in 0..100, m in 0..100
    stage scheduled {
  for io in 0..(n + 3) / 4 { for jo in 0..(m + 7) / 8 {
    for ii in 0..4 { vectorized for ji in 0..8 {
      block c(i: spatial n = io*4 + ii, j: spatial m = jo*8 + ji)
        where io*4 + ii < n && jo*8 + ji < m reads A[i, j], B[j] writes C[i, j] {
        C[i, j] = A[i, j] * B[j] + 1.0
      } } } } }
})",
                {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {4, 8}, {5, 9}, {7, 23}});
}

TEST(Pipeline, ASplitReductionWithAVectorOfPartialSums) {
  expect_lowers(R"(
loops f(A: in f32[n], S: out f32[]) where n in 0..1000 stage scheduled {
  alloc part: f32[8] register
  vectorized for l in 0..8 {
    block zero(v: spatial 8 = l) writes part[v] { part[v] = 0.0 } }
  for ko in 0..(n + 7) / 8 { vectorized for l in 0..8 {
    block add(v: spatial 8 = l, k: reduce (n + 7) / 8 = ko) where ko*8 + l < n
      reads A[k*8 + v] writes part[v] { part[v] sum= A[k*8 + v] } } }
  block start() writes S[] { S[] = 0.0 }
  vectorized for l in 0..8 {
    block total(v: reduce 8 = l) reads part[v] writes S[] { S[] sum= part[v] } }
})",
                {{0}, {1}, {8}, {37}}, Order::Free);
}

TEST(Pipeline, ArgmaxOfRows) {
  expect_lowers(R"(
reducer argmax(i: i64, x: f32 | j: i64, y: f32)
  = (select(y > x || y == x && j < i, j, i), max(x, y)) identity (9223372036854775807, -inf:f32)
loops f(A: in f32[n, 9], I: out i64[n]) where n in 0..50 {
  alloc best: f32[n]
  for i in 0..n { for k in 0..9 {
    block arg(v: spatial n = i, r: reduce 9 = k) reads A[v, r] writes I[v], best[v] {
      init { I[v] = 9223372036854775807  best[v] = -inf:f32 }
      I[v], best[v] argmax= r, A[v, r]
    } } }
})",
                {{0}, {1}, {6}});
}

TEST(Pipeline, ConvolutionWithPaddingVectorisedOverChannels) {
  expect_lowers(R"(
loops conv(X: in f32[9, 10, 3], W: in f32[3, 3, 3, 8], Y: out f32[9, 10, 8]) stage scheduled {
  alloc acc: f32[9, 10, 8] register
  parallel for y in 0..9 { for x in 0..10 {
    for ky in 0..3 { unrolled for kx in 0..3 { for c in 0..3 { vectorized for o in 0..8 {
      block conv(vy: spatial 9 = y, vx: spatial 10 = x, vo: spatial 8 = o,
                 ry: reduce 3 = ky, rx: reduce 3 = kx, rc: reduce 3 = c)
        reads X[0..9, 0..10, rc], W[ry, rx, rc, vo] writes acc[vy, vx, vo] {
        init { acc[vy, vx, vo] = 0.0 }
        acc[vy, vx, vo] sum= W[ry, rx, rc, vo] *
          guard(0 <= vy + ry - 1 && vy + ry - 1 < 9 && 0 <= vx + rx - 1 && vx + rx - 1 < 10,
                X[vy + ry - 1, vx + rx - 1, rc], 0.0)
      } } } } }
    vectorized for o in 0..8 {
      block out(vy: spatial 9 = y, vx: spatial 10 = x, vo: spatial 8 = o)
        reads acc[vy, vx, vo] writes Y[vy, vx, vo] { Y[vy, vx, vo] = max(acc[vy, vx, vo], 0.0) } }
  } }
})");
}

TEST(Pipeline, ConvolutionVectorisedOverItsBorder) {
  expect_lowers(R"(
loops conv(X: in f32[20], W: in f32[3], Y: out f32[20]) stage scheduled {
  for xo in 0..3 { vectorized for xi in 0..8 { for k in 0..3 {
    block conv(v: spatial 20 = xo*8 + xi, r: reduce 3 = k) where xo*8 + xi < 20
      reads X[0..20], W[r] writes Y[v] {
      init { Y[v] = 0.0 }
      Y[v] sum= W[r] * guard(0 <= v + r - 1 && v + r - 1 < 20, X[v + r - 1], 0.0)
    } } } }
})");
}

TEST(Pipeline, AProducerAtItsConsumer) {
  expect_lowers(R"(
loops blur(A: in f32[n + 2], C: out f32[n]) where n in 0..200 stage scheduled {
  parallel for io in 0..(n + 7) / 8 {
    alloc B: f32[n + 2]
    for ii in 0..10 {
      block B(v: spatial n + 2 = io*8 + ii) where io*8 + ii < n + 2 reads A[v] writes B[v] {
        B[v] = A[v] * 2.0 } }
    vectorized for ii in 0..8 {
      block C(v: spatial n = io*8 + ii) where io*8 + ii < n reads B[v +: 3] writes C[v] {
        C[v] = B[v] + B[v + 1] + B[v + 2] } }
  }
})",
                {{0}, {1}, {8}, {13}, {40}});
}

TEST(Pipeline, SoftmaxRows) {
  expect_lowers(R"(
loops softmax(X: in f32[n, m], Y: out f32[n, m]) where n in 0..50, m in 1..50 {
  alloc top: f32[n]
  alloc e: f32[n, m]
  alloc total: f32[n]
  for i in 0..n { for j in 0..m {
    block top(v: spatial n = i, r: reduce m = j) reads X[v, r] writes top[v] {
      init { top[v] = -inf:f32 }
      top[v] max= X[v, r] } } }
  for i in 0..n { for j in 0..m {
    block e(v: spatial n = i, w: spatial m = j) reads X[v, w], top[v] writes e[v, w] {
      e[v, w] = exp(X[v, w] - top[v]) } } }
  for i in 0..n { for j in 0..m {
    block total(v: spatial n = i, r: reduce m = j) reads e[v, r] writes total[v] {
      init { total[v] = 0.0 }
      total[v] sum= e[v, r] } } }
  for i in 0..n { for j in 0..m {
    block y(v: spatial n = i, w: spatial m = j) reads e[v, w], total[v] writes Y[v, w] {
      Y[v, w] = e[v, w] / total[v] } } }
})",
                {{0, 1}, {3, 5}});
}

TEST(Pipeline, PackedLayoutsAndVirtualThreads) {
  expect_lowers(R"(
loops f(A: in i8[6, 5], C: out i32[6, 5]) stage scheduled {
  alloc t: i8[6, 5] layout (c, x) -> [address: c / 4, address: x, address: c % 4] extents [2, 5, 4]
  for c in 0..6 { for x in 0..5 { t[c, x] = A[c, x] } }
  vthread for v in 0..2 {
    alloc s: i32[5]
    for c in 0..3 {
      for x in 0..5 { s[x] = i32(t[v*3 + c, x]) * 3:i32 }
      vectorized for x in 0..5 { C[v*3 + c, x] = s[x] }
    }
  }
})");
}

}  // namespace
}  // namespace tilewright::lower
