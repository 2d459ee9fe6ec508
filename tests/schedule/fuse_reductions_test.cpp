// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ir/build.h"
#include "lower/pipeline.h"
#include "schedule/overlap_fixtures.h"

namespace tilewright::schedule {
namespace {

constexpr const char* kSum =
    "reducer scaled_sum(a: f64 | b: f64) = (a + b) identity (0.0:f64)\n"
    "  rescale (p: f64 | from: f64, to: f64) = (p * exp(from - to))\n";

ir::LoopFunc parsed(const std::string& body, const std::string& reducer = kSum) {
  return ir::parse(reducer + body).functions[0];
}

/// m[i] = max_k x[i, k], s[i] = sum_k exp(x[i, k] - m[i]), o[i, d] = sum_k v[k, d] exp(x - m).
ir::LoopFunc attention(int rows, int n, int d) {
  const std::string i = std::to_string(rows), k = std::to_string(n), e = std::to_string(d);
  return parsed("loops attention(x: in f64[" + i + ", " + k + "], v: in f64[" + k + ", " + e +
                "], m: out f64[" + i + "], s: out f64[" + i + "], o: out f64[" + i + ", " + e +
                "]) {\n  for i in 0.." + i + R"( {
    for k in 0..)" +
                k + R"( { block m(vi: spatial )" + i + R"( = i, vk: reduce )" + k + R"( = k)
      reads x[vi, vk] writes m[vi] { init { m[vi] = -inf:f64 } m[vi] max= x[vi, vk] } }
    for k in 0..)" +
                k + R"( { block s(vi: spatial )" + i + R"( = i, vk: reduce )" + k + R"( = k)
      reads x[vi, vk], m[vi] writes s[vi] {
      init { s[vi] = 0.0:f64 } s[vi] scaled_sum= exp(x[vi, vk] - m[vi]) } }
    for k in 0..)" +
                k + R"( { for d in 0..)" + e + R"( {
      block o(vi: spatial )" +
                i + R"( = i, vd: spatial )" + e + R"( = d, vk: reduce )" + k + R"( = k)
      reads x[vi, vk], m[vi], v[vk, vd] writes o[vi, vd] {
      init { o[vi, vd] = 0.0:f64 } o[vi, vd] scaled_sum= v[vk, vd] * exp(x[vi, vk] - m[vi]) } } }
  }
})");
}

/// Results of both programs on the same doubles: equal to rounding, with a bound that grows with
/// the number of terms.
void expect_near(const ir::LoopFunc& before, const ir::LoopFunc& after,
                 const std::vector<ir::Array>& args, int terms) {
  ir::verify(after);
  std::vector<ir::Array> one = args, two = args;
  ir::interpret(before, one, {}, {});
  ir::interpret(after, two, {}, {});
  const double bound = 8.0 * (terms + 4) * std::numeric_limits<double>::epsilon();
  for (size_t p = 0; p < one.size(); ++p)
    for (int64_t i = 0; i < one[p].size(); ++i) {
      const double a = std::bit_cast<double>(one[p].cells[static_cast<size_t>(i)]);
      const double b = std::bit_cast<double>(two[p].cells[static_cast<size_t>(i)]);
      if (a == b) continue;
      if (std::isnan(a)) {
        EXPECT_TRUE(std::isnan(b)) << p << " at " << i << " is " << b;
        continue;
      }
      // Terms of any sign: the bound is on their magnitudes, at most `terms` of up to 4.
      EXPECT_LE(std::abs(a - b), bound * std::max(1.0, 4.0 * terms))
          << before.params[p].buffer->name << " at " << i << "\n"
          << ir::print(after);
    }
}

std::vector<ir::Array> values(const ir::LoopFunc& f) {
  std::vector<ir::Array> args;
  for (const ir::Param& p : f.params) {
    std::vector<int64_t> shape;
    for (const ir::Expr& e : p.buffer->shape) shape.push_back(*ir::const_int(e));
    args.push_back(ir::random_array(p.buffer->elem, shape, 5 + args.size()));
  }
  return args;
}

TEST(FuseReductions, MovesTheSumAlongWithTheMaximum) {
  const ir::LoopFunc f = parsed(R"(
loops softmax(x: in f64[3, 10], m: out f64[3], s: out f64[3]) {
  for i in 0..3 {
    for k in 0..10 { block m(vi: spatial 3 = i, vk: reduce 10 = k) reads x[vi, vk] writes m[vi] {
      init { m[vi] = -inf:f64 } m[vi] max= x[vi, vk] } }
    for k in 0..10 { block s(vi: spatial 3 = i, vk: reduce 10 = k)
      reads x[vi, vk], m[vi] writes s[vi] {
      init { s[vi] = 0.0:f64 } s[vi] scaled_sum= exp(x[vi, vk] - m[vi]) } }
  }
})");
  Schedule s(f);
  s.fuse_reductions(s.loops("m")[1], {s.block("m"), s.block("s")});
  const std::string text = ir::print(s.func());
  EXPECT_EQ(text, R"(loops softmax(x: in f64[3, 10], m: out f64[3], s: out f64[3]) stage scheduled {
  for i in 0..3 {
    block m_init(vi: spatial 3 = i) writes m[vi] {
      m[vi] = -inf:f64
    }
    block s_init(vi: spatial 3 = i) writes s[vi] {
      s[vi] = 0.0:f64
    }
    for k in 0..10 {
      alloc m_was: f64[3]
      for vi in 0..1 {
        block m_was(vi_1: spatial 3 = i, vk: ordered 10 = k) reads m[vi_1] writes m_was[vi_1] {
          m_was[vi_1] = m[vi_1]
        }
      }
      block m(vi: spatial 3 = i, vk: reduce 10 = k, vk_1: ordered 10 = k)
          reads x[vi, vk]
          writes m[vi] {
        m[vi] max= x[vi, vk]
      }
      for vi in 0..1 {
        block s_rescale(vi_1: spatial 3 = i, vk: ordered 10 = k)
            reads s[vi_1], m[vi_1], m_was[vi_1]
            writes s[vi_1] {
          s[vi_1] = select(m_was[vi_1] == m[vi_1], s[vi_1], s[vi_1] * exp(m_was[vi_1] - m[vi_1]))
        }
      }
      block s(vi: spatial 3 = i, vk: reduce 10 = k, vk_1: ordered 10 = k)
          reads x[vi, vk], m[vi]
          writes s[vi] {
        s[vi] scaled_sum= select(m[vi] == -inf:f64, 0.0:f64, exp(x[vi, vk] - m[vi]))
      }
    }
  }
}
)");
  expect_near(f, s.func(), values(f), 10);
  EXPECT_EQ(ir::print(apply(parse_trace(print(s.trace())), f)), text);
}

TEST(FuseReductions, FusesTheThreeReductionsOfAttention) {
  for (const int n : {1, 2, 17, 40}) {
    const ir::LoopFunc f = attention(2, n, 3);
    Schedule s(f);
    s.fuse_reductions(s.loops("m")[1], {s.block("m"), s.block("s"), s.block("o")});
    expect_near(f, s.func(), values(f), n);
    lower::PassContext context;
    const ir::LoopFunc final = lower::run(lower::cpu_pipeline(), s.func(), context);
    std::vector<ir::Array> one = values(f), two = one;
    for (ir::Array& a : two) a.shape = {a.size()};
    ir::interpret(s.func(), one, {}, {});
    ir::interpret(final, two, {}, {});
    for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].cells, two[i].cells);
  }
}

/// Tiles of the axis: one rescaling for four terms, with a cut-off last tile.
TEST(FuseReductions, RescalesOncePerTile) {
  for (const int n : {3, 4, 18}) {
    const ir::LoopFunc f = attention(2, n, 3);
    Schedule s(f);
    LoopRef first;
    for (const char* block : {"m", "s", "o"}) {
      const auto loops = s.loops(block);
      const auto parts = s.split<2>(loops[1], {kOpen, 4});
      if (std::string(block) == "m") first = parts[0];
    }
    s.fuse_reductions(first, {s.block("m"), s.block("s"), s.block("o")});
    expect_near(f, s.func(), values(f), n);
  }
}

TEST(FuseReductions, KeepsRowsWhoseFirstTermsAreMaskedOff) {
  const ir::LoopFunc f = attention(3, 9, 2);
  std::vector<ir::Array> args = values(f);
  const double inf = std::numeric_limits<double>::infinity();
  const auto set = [&](size_t i, double value) {
    args[0].cells[i] = std::bit_cast<uint64_t>(value);
  };
  for (size_t k = 0; k < 6; ++k) set(k, -inf);            // row 0: a masked head
  for (size_t k = 4; k < 9; ++k) set(9 + k, -inf);        // row 1: a masked tail
  set(18 + 3, std::numeric_limits<double>::quiet_NaN());  // row 2: not a number
  Schedule s(f);
  s.fuse_reductions(s.loops("m")[1], {s.block("m"), s.block("s"), s.block("o")});
  expect_near(f, s.func(), args, 9);
}

TEST(FuseReductions, TakesReductionsFromTensorExpressions) {
  const int64_t n = 13;
  const te::Tensor x = te::placeholder("x", ir::Elem::F64, {4, n});
  const te::Axis k = te::reduce_axis(n, "k"), q = te::reduce_axis(n, "q");
  const ir::Reducer sum = te::with_rescale(
      ir::builtin_reducer(ir::BinaryOp::Add, ir::Elem::F64), {ir::Elem::F64},
      [](const te::Tuple& p, const te::Tuple& from, const te::Tuple& to) -> te::Tuple {
        return {p[0] * te::exp(from[0] - to[0])};
      });
  const te::Tensor m = te::compute("m", {4}, [&](te::Var i) { return te::max_over(x(i, k), k); });
  const te::Tensor t = te::compute(
      "t", {4}, [&](te::Var i) { return te::reduce(sum, {te::exp(x(i, q) - m(i))}, q)[0]; });
  const ir::LoopFunc f = lower::to_blocks(te::program("softmax", {x}, {m, t}));
  Schedule s(f);
  s.merge(s.loops("m")[0], s.loops("t")[0]);
  s.fuse_reductions(s.loops("m")[1], {s.block("m"), s.block("t")});
  expect_near(f, s.func(), values(f), n);
}

TEST(FuseReductions, Refuses) {
  const auto with =
      [](const std::string& first, const std::string& second, const std::string& range = "0..10",
         const std::string& reducer = kSum, const std::string& name = "scaled_sum",
         const std::string& more = "", const std::string& used = "m[vi]") {
        return parsed(R"(
loops softmax(x: in f64[3, 10], y: in f64[3, 10], m: out f64[3], s: out f64[3]) {
  for i in 0..3 {
    for k in 0..10 { block m(vi: spatial 3 = i, vk: reduce 10 = k)
      reads x[vi, vk], y[vi, vk] writes m[vi] {
      init { m[vi] = -inf:f64 } m[vi] max= )" +
                          first + R"( } }
)" + more + R"(
    for k in )" + range + R"( { block s(vi: spatial 3 = i, vk: reduce 10 = k)
      reads x[vi, vk], y[vi, vk], )" +
                          used + R"( writes s[vi] {
      init { s[vi] = 0.0:f64 } s[vi] )" +
                          name + "= " + second + R"( } }
  }
})",
                      reducer);
      };
  const auto refusal = [](const ir::LoopFunc& f, const char* phrase) {
    Schedule s(f);
    const LoopRef k = s.loops("m")[1];
    const BlockRef m = s.block("m"), t = s.block("s");
    const Diagnostic d = diagnostic_of([&] { s.fuse_reductions(k, {m, t}); });
    EXPECT_NE(d.notes[0].find(phrase), std::string::npos) << d.notes[0];
    EXPECT_FALSE(d.help.empty());
    return std::string(d.code);
  };
  const std::string x = "x[vi, vk]", good = "exp(x[vi, vk] - m[vi])";
  Schedule fine(with(x, good));
  fine.fuse_reductions(fine.loops("m")[1], {fine.block("m"), fine.block("s")});

  const char* term = "schedule.fuse_reductions.term";
  EXPECT_EQ(refusal(with(x, "exp(y[vi, vk] - m[vi])"), "from the terms of block `m`"), term);
  EXPECT_EQ(refusal(with(x, "exp(m[vi] - x[vi, vk])"), "from the terms of block `m`"), term);
  EXPECT_EQ(refusal(with(x, good + " * m[vi]"), "from the terms"), term);
  EXPECT_EQ(refusal(with(x, good + " + 1.0:f64"), "from the terms"), term);
  EXPECT_EQ(refusal(with(x, "x[vi, vk]"), "does not read one element of `m`"), term);
  EXPECT_EQ(refusal(with(x, good + " * exp(x[vi, vk] - m[0])"), "does not read one element"), term);
  EXPECT_EQ(refusal(with(x, "exp(x[vi, vk] - m[vk / 4])"), "changes as it reduces"), term);

  EXPECT_EQ(refusal(with(x, good, "0..10", kSum, "scaled_sum", "", "m[0..3]"),
                    "reads more of `m` than block `m` reduces"),
            "schedule.fuse_reductions.part");

  const char* law = "schedule.fuse_reductions.law";
  EXPECT_EQ(refusal(with(x, good, "0..10", "", "sum"), "`sum` has no rescale law"), law);
  EXPECT_EQ(refusal(with(x, good, "0..10",
                         "reducer r(a: f64 | b: f64) = (a + b) identity (0.0:f64)\n"
                         "  rescale (p: f64 | from: f64, to: f64) = (p + (from - to))\n",
                         "r"),
                    "times a factor"),
            law);
  EXPECT_EQ(refusal(with(x, good, "0..10",
                         "reducer r(a: f64 | b: f64) = (a + b) identity (0.0:f64)\n"
                         "  rescale (p: f64 | from: f32, to: f32) = (p * f64(exp(from - to)))\n",
                         "r"),
                    "other types"),
            law);

  const char* loop = "schedule.fuse_reductions.loop";
  EXPECT_EQ(refusal(with(x, good, "0..9"), "9 iterations"), loop);
  EXPECT_EQ(refusal(with(x, good, "0..10", kSum, "scaled_sum", "{ alloc q: f64[] q[] = 0.0:f64 }"),
                    "does not directly follow"),
            loop);

  // The whole loop must be the first block's own, and its parts must be the same ones.
  Schedule s(with(x, good));
  const LoopRef outer = s.loops("m")[0];
  const BlockRef m = s.block("m"), t = s.block("s");
  EXPECT_EQ(diagnostic_of([&] { s.fuse_reductions(outer, {m, t}); }).code,
            "schedule.fuse_reductions.blocks");
  EXPECT_EQ(diagnostic_of([&] { s.fuse_reductions(s.loops(m)[1], {m}); }).code,
            "schedule.fuse_reductions.blocks");
  s.decompose_reduction(t, s.loops(t)[1]);
  EXPECT_EQ(diagnostic_of([&] { s.fuse_reductions(s.loops(m)[1], {m, t}); }).code,
            "schedule.fuse_reductions.block");

  Schedule parts(with(x, good));
  const auto [k0, k1] = parts.split<2>(parts.loops("m")[1], {kOpen, 5});
  const auto [j0, j1] = parts.split<2>(parts.loops("s")[1], {2, kOpen});
  parts.reorder({j1, j0});
  Diagnostic d =
      diagnostic_of([&] { parts.fuse_reductions(k0, {parts.block("m"), parts.block("s")}); });
  EXPECT_EQ(d.code, loop);
  EXPECT_NE(d.notes[0].find("5 iterations"), std::string::npos);

  Schedule strided(with(x, good));
  const auto [a0, a1] = strided.split<2>(strided.loops("m")[1], {2, 5});
  const auto [b0, b1] = strided.split<2>(strided.loops("s")[1], {5, 2});
  strided.reorder({b1, b0});  // iteration b1 takes every second term
  d = diagnostic_of([&] { strided.fuse_reductions(a0, {strided.block("m"), strided.block("s")}); });
  EXPECT_EQ(d.code, term);
}

TEST(FuseReductions, RefusesAThirdReductionThatUsesTheSecond) {
  const ir::LoopFunc f = parsed(R"(
loops chain(x: in f64[3, 10], m: out f64[3], s: out f64[3], o: out f64[3]) {
  for i in 0..3 {
    for k in 0..10 { block m(vi: spatial 3 = i, vk: reduce 10 = k) reads x[vi, vk] writes m[vi] {
      init { m[vi] = -inf:f64 } m[vi] max= x[vi, vk] } }
    for k in 0..10 { block s(vi: spatial 3 = i, vk: reduce 10 = k)
      reads x[vi, vk], m[vi] writes s[vi] {
      init { s[vi] = 0.0:f64 } s[vi] scaled_sum= exp(x[vi, vk] - m[vi]) } }
    for k in 0..10 { block o(vi: spatial 3 = i, vk: reduce 10 = k)
      reads x[vi, vk], m[vi], s[vi] writes o[vi] {
      init { o[vi] = 0.0:f64 } o[vi] scaled_sum= s[vi] * exp(x[vi, vk] - m[vi]) } }
  }
})");
  Schedule s(f);
  const Diagnostic d = diagnostic_of(
      [&] { s.fuse_reductions(s.loops("m")[1], {s.block("m"), s.block("s"), s.block("o")}); });
  EXPECT_EQ(d.code, "schedule.fuse_reductions.dependence");
  EXPECT_NE(d.notes[0].find("`s`, the result of block `s`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::schedule
