// SPDX-License-Identifier: Apache-2.0
// What tensor programs compute, through the interpreter, against plain loops.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "common/errors.h"
#include "ir/interpret/interpret.h"
#include "ir/scalar.h"
#include "ir/verify.h"
#include "lower/to_blocks.h"
#include "te/te.h"

namespace tilewright::lower {
namespace {

using namespace te;
using enum ir::Elem;
using ir::Array;
using Dims = std::vector<int64_t>;
using Numbers = std::vector<double>;

/// The outputs of the program, whose shapes are given.
std::vector<Array> run(const Program& p, const std::vector<Array>& inputs,
                       const std::vector<Dims>& shapes, const std::vector<int64_t>& symbols = {}) {
  const ir::LoopFunc f = to_blocks(p);
  ir::verify(f);
  std::vector<Array> args = inputs;
  for (size_t i = 0; i < shapes.size(); ++i)
    args.push_back(ir::make_array(p.outputs[i].elem(), shapes[i]));
  ir::interpret(f, args, symbols);
  return {args.end() - static_cast<std::ptrdiff_t>(shapes.size()), args.end()};
}

void expect_near(const Array& array, const Numbers& expected, double tolerance) {
  ASSERT_EQ(array.size(), static_cast<int64_t>(expected.size()));
  for (int64_t i = 0; i < array.size(); ++i) {
    const double want = expected[static_cast<size_t>(i)];
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(array.as_double(i))) << "element " << i;
    else if (std::isinf(want) || tolerance == 0)
      EXPECT_EQ(array.as_double(i), want) << "element " << i;
    else
      EXPECT_NEAR(array.as_double(i), want, tolerance * (1 + std::abs(want))) << "element " << i;
  }
}

/// Fills an array of these dimensions by a function of the indices.
template <class F>
Numbers table(const Dims& dims, F&& f) {
  Numbers out;
  std::vector<int64_t> at(dims.size(), 0);
  int64_t size = 1;
  for (const int64_t d : dims) size *= d;
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {
      at[d] = rest % dims[d];
      rest /= dims[d];
    }
    out.push_back(f(at));
  }
  return out;
}

constexpr double kF32 = 1e-5;

Program matmul(ir::Elem in, ir::Elem out, const Symbol& m, const Symbol& n, const Symbol& K) {
  const Tensor A = placeholder("A", in, {K, m}), B = placeholder("B", in, {K, n});
  const Axis k = reduce_axis(K, "k");
  const Tensor C = compute(
      "C", {m, n}, [&](Var y, Var x) { return sum(cast(out, A(k, y)) * cast(out, B(k, x)), k); });
  return program("matmul", {A, B}, {C}, {m, n, K});
}

Numbers matmul_of(const Array& a, const Array& b, int64_t m, int64_t n, int64_t K) {
  return table({m, n}, [&](const Dims& at) {
    double sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += a.as_double(k * m + at[0]) * b.as_double(k * n + at[1]);
    return sum;
  });
}

TEST(ToBlocksValues, MatmulForAllSizesOfItsSymbols) {
  const Symbol m = symbol("m", 0), n = symbol("n", 0), K = symbol("K", 0);
  const Program p = matmul(F32, F32, m, n, K);
  for (const Dims& s : {Dims{1, 1, 1}, Dims{3, 5, 7}, Dims{8, 4, 0}, Dims{0, 4, 3}}) {
    SCOPED_TRACE(testing::PrintToString(s));
    const Array a = ir::random_array(F32, {s[2], s[0]}, 1),
                b = ir::random_array(F32, {s[2], s[1]}, 2);
    expect_near(run(p, {a, b}, {{s[0], s[1]}}, s)[0], matmul_of(a, b, s[0], s[1], s[2]), kF32);
  }
}

TEST(ToBlocksValues, MatmulInEveryKindOfType) {
  const Symbol m = symbol("m"), n = symbol("n"), K = symbol("K");
  struct Types {
    ir::Elem in, out;
    double tolerance;
  };
  for (const auto& [in, out, tolerance] :
       {Types{F16, F32, kF32}, Types{BF16, F32, kF32}, Types{I8, I32, 0}, Types{U8, I32, 0},
        Types{I4, I16, 0}, Types{F64, F64, 1e-14}, Types{F16, F16, 2e-2}, Types{BF16, BF16, 2e-1},
        Types{F8E4M3, F32, kF32}}) {
    SCOPED_TRACE(ir::name(in));
    const Array a = ir::random_array(in, {9, 4}, 3), b = ir::random_array(in, {9, 5}, 4);
    expect_near(run(matmul(in, out, m, n, K), {a, b}, {{4, 5}}, {4, 5, 9})[0],
                matmul_of(a, b, 4, 5, 9), tolerance);
  }
}

TEST(ToBlocksValues, IntegerSumsWrap) {
  const Tensor a = placeholder("a", I8, {3});
  const Axis k = reduce_axis(3, "k");
  const Tensor s = compute("s", {}, [&] { return sum(a(k) * 2, k); });
  const Array in = ir::array_of(I8, {3}, {100, 27, 1});
  expect_near(run(program("f", {a}, {s}), {in}, {{}})[0], {0}, 0);
}

struct Conv {
  int64_t batch, in, out, size, kernel, stride, pad, dilation, groups;
  int64_t result() const { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
};

Program conv2d(const Conv& c) {
  const Tensor X = placeholder("X", F32, {c.batch, c.in, c.size, c.size});
  const Tensor W = placeholder("W", F32, {c.out, c.in / c.groups, c.kernel, c.kernel});
  const Axis r = reduce_axis(c.in / c.groups, "c"), u = reduce_axis(c.kernel, "u"),
             v = reduce_axis(c.kernel, "v");
  const Tensor Y =
      compute("Y", {c.batch, c.out, c.result(), c.result()}, [&](Var b, Var o, Var y, Var x) {
        const Expr yy = y * c.stride + u * c.dilation - c.pad;
        const Expr xx = x * c.stride + v * c.dilation - c.pad;
        const Expr inside = 0 <= yy && yy < c.size && 0 <= xx && xx < c.size;
        const Expr channel = o / (c.out / c.groups) * (c.in / c.groups) + r;
        return sum(guard(inside, X(b, channel, yy, xx), 0) * W(o, r, u, v), {r, u, v});
      });
  return program("conv2d", {X, W}, {Y});
}

TEST(ToBlocksValues, ConvolutionWithStridePaddingDilationAndGroups) {
  for (const Conv& c : {Conv{2, 3, 4, 7, 3, 1, 1, 1, 1}, Conv{1, 2, 3, 8, 3, 2, 0, 1, 1},
                        Conv{1, 2, 2, 9, 3, 2, 2, 2, 1}, Conv{1, 4, 4, 6, 3, 1, 1, 1, 4},
                        Conv{1, 4, 6, 5, 1, 1, 0, 1, 2}}) {
    const Array x = ir::random_array(F32, {c.batch, c.in, c.size, c.size}, 5);
    const Array w = ir::random_array(F32, {c.out, c.in / c.groups, c.kernel, c.kernel}, 6);
    const Dims shape = {c.batch, c.out, c.result(), c.result()};
    const int64_t per_group = c.in / c.groups;
    const Numbers expected = table(shape, [&](const Dims& at) {
      double sum = 0;
      for (int64_t r = 0; r < per_group; ++r)
        for (int64_t u = 0; u < c.kernel; ++u)
          for (int64_t v = 0; v < c.kernel; ++v) {
            const int64_t y = at[2] * c.stride + u * c.dilation - c.pad;
            const int64_t z = at[3] * c.stride + v * c.dilation - c.pad;
            if (y < 0 || y >= c.size || z < 0 || z >= c.size) continue;
            const int64_t channel = at[1] / (c.out / c.groups) * per_group + r;
            sum += x.as_double(((at[0] * c.in + channel) * c.size + y) * c.size + z) *
                   w.as_double(((at[1] * per_group + r) * c.kernel + u) * c.kernel + v);
          }
      return sum;
    });
    expect_near(run(conv2d(c), {x, w}, {shape})[0], expected, kF32);
  }
}

TEST(ToBlocksValues, TransposedConvolution) {
  constexpr int64_t kIn = 4, kKernel = 3, kStride = 2, kOut = (kIn - 1) * kStride + kKernel;
  const Tensor x = placeholder("x", F32, {kIn}), w = placeholder("w", F32, {kKernel});
  const Axis k = reduce_axis(kKernel, "k");
  const Tensor y = compute("y", {kOut}, [&](Var i) {
    const Expr from = i - k;
    return sum(guard(from % kStride == 0 && 0 <= from && from < kIn * kStride,
                     x(from / kStride) * w(k), 0),
               k);
  });
  const Array in = ir::random_array(F32, {kIn}, 7), weights = ir::random_array(F32, {kKernel}, 8);
  Numbers expected(kOut, 0.0);
  for (int64_t i = 0; i < kIn; ++i)
    for (int64_t j = 0; j < kKernel; ++j)
      expected[static_cast<size_t>(i * kStride + j)] += in.as_double(i) * weights.as_double(j);
  expect_near(run(program("deconv", {x, w}, {y}), {in, weights}, {{kOut}})[0], expected, kF32);
}

TEST(ToBlocksValues, SoftmaxInOneFormulaOrOnWholeTensors) {
  const Tensor x = placeholder("x", F32, {4, 7});
  const Axis k = reduce_axis(7, "k");
  const Tensor formula = compute("y", {4, 7}, [&](Var i, Var j) {
    const Expr most = max_over(x(i, k), k);
    return exp(x(i, j) - most) / sum(exp(x(i, k) - most), k);
  });
  const Tensor e = exp(x - max_over(x, -1));
  const Array in = ir::random_array(F32, {4, 7}, 9);
  const Numbers expected = table({4, 7}, [&](const Dims& at) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < 7; ++j) most = std::max(most, in.as_double(at[0] * 7 + j));
    for (int64_t j = 0; j < 7; ++j) sum += std::exp(in.as_double(at[0] * 7 + j) - most);
    return std::exp(in.as_double(at[0] * 7 + at[1]) - most) / sum;
  });
  expect_near(run(program("softmax", {x}, {formula}), {in}, {{4, 7}})[0], expected, kF32);
  expect_near(run(program("softmax", {x}, {e / sum_over(e, 1)}), {in}, {{4, 7}})[0], expected,
              kF32);
}

TEST(ToBlocksValues, LayerNorm) {
  const Symbol rows = symbol("rows", 0, 100);
  constexpr int64_t kSize = 6;
  const Tensor x = placeholder("x", F32, {rows, kSize}), gain = placeholder("gain", F32, {kSize});
  const Tensor mean = sum_over(x, -1) * rational(1, kSize);
  const Tensor centred = x - mean;
  const Tensor variance = sum_over(centred * centred, -1) * rational(1, kSize);
  const Tensor y = centred * rsqrt(variance + 1e-5) * gain;
  const Array in = ir::random_array(F32, {3, kSize}, 10), g = ir::random_array(F32, {kSize}, 11);
  const Numbers expected = table({3, kSize}, [&](const Dims& at) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < kSize; ++j) mean += in.as_double(at[0] * kSize + j) / kSize;
    for (int64_t j = 0; j < kSize; ++j)
      variance += std::pow(in.as_double(at[0] * kSize + j) - mean, 2) / kSize;
    return (in.as_double(at[0] * kSize + at[1]) - mean) / std::sqrt(variance + 1e-5) *
           g.as_double(at[1]);
  });
  const Program p = program("layer_norm", {x, gain}, {y}, {rows});
  expect_near(run(p, {in, g}, {{3, kSize}}, {3})[0], expected, kF32);
  expect_near(run(p, {ir::make_array(F32, {0, kSize}), g}, {{0, kSize}}, {0})[0], {}, kF32);
}

TEST(ToBlocksValues, ArgmaxTakesTheLowestIndexAndNan) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = placeholder("x", F32, {5, 4});
  const Axis k = reduce_axis(4, "k");
  const auto most = compute("most", {5}, [&](Var i) { return argmax(x(i, k), k); });
  const auto least = compute("least", {5}, [&](Var i) { return argmin(x(i, k), k); });
  const Array in = ir::array_of(F32, {5, 4}, {1,         3,         3,         2,          //
                                              -INFINITY, -INFINITY, -INFINITY, -INFINITY,  //
                                              1,         kNan,      5,         kNan,       //
                                              -0.0,      0.0,       -1,        -2,         //
                                              4,         3,         2,         1});
  const auto out =
      run(program("arg", {x}, {most[0], most[1], least[0], least[1]}), {in}, {{5}, {5}, {5}, {5}});
  expect_near(out[0], {1, 0, 1, 0, 0}, 0);
  expect_near(out[1], {3, -INFINITY, kNan, 0, 4}, 0);
  EXPECT_TRUE(std::signbit(out[1].as_double(3)));  // the value that stands at the index
  expect_near(out[2], {0, 0, 1, 3, 3}, 0);
  expect_near(out[3], {1, -INFINITY, kNan, -2, 1}, 0);
}

TEST(ToBlocksValues, ReductionsToABool) {
  const Tensor x = placeholder("x", I32, {2, 3});
  const Axis k = reduce_axis(3, "k");
  const Tensor every = compute("every", {2}, [&](Var i) { return all(x(i, k) > 0, k); });
  const Tensor some = compute("some", {2}, [&](Var i) { return any(x(i, k) == 5, k); });
  const Tensor product = compute("product", {2}, [&](Var i) { return prod(x(i, k), k); });
  const auto out = run(program("f", {x}, {every, some, product}),
                       {ir::array_of(I32, {2, 3}, {1, 2, 3, 5, 0, 1})}, {{2}, {2}, {2}});
  expect_near(out[0], {1, 0}, 0);
  expect_near(out[1], {0, 1}, 0);
  expect_near(out[2], {6, 0}, 0);
}

TEST(ToBlocksValues, CumulativeSumAsAScan) {
  const Symbol T = symbol("T", 0);
  const Tensor x = placeholder("x", F32, {T, 2});
  const Tensor zero = compute("zero", {2}, [](Var) { return 0.0; });
  const Tensor s = scan("s", T, zero, [&](Var t, Tensor prev) {
    return compute({2}, [&](Var i) { return prev(i) + x(t, i); });
  });
  const Program p = program("cumsum", {x}, {s}, {T});
  const Array in = ir::array_of(F32, {3, 2}, {1, 10, 2, 20, 3, 30});
  expect_near(run(p, {in}, {{3, 2}}, {3})[0], {1, 10, 3, 30, 6, 60}, 0);
  expect_near(run(p, {ir::make_array(F32, {0, 2})}, {{0, 2}}, {0})[0], {}, 0);
}

TEST(ToBlocksValues, AnRnnWithTwoStatesAndAnOutput) {
  constexpr int64_t kTime = 5, kSize = 3;
  const Tensor x = placeholder("x", F32, {kTime, kSize}), U = placeholder("U", F32, {kSize, kSize});
  const Tensor h0 = placeholder("h0", F32, {kSize}), c0 = placeholder("c0", F32, {kSize});
  const Axis j = reduce_axis(kSize, "j");
  const std::vector<Tensor> out =
      scan({"h", "c", "energy"}, kTime, {h0, c0}, [&](Var t, const std::vector<Tensor>& prev) {
        const Tensor gate = compute("gate", {kSize}, [&](Var i) {
          return 1 / (1 + exp(-(x(t, i) + sum(U(i, j) * prev[0](j), j))));
        });
        const Tensor c = compute(
            "c", {kSize}, [&](Var i) { return gate(i) * prev[1](i) + (1 - gate(i)) * x(t, i); });
        const Tensor h = compute("h", {kSize}, [&](Var i) { return tanh(c(i)); });
        return std::vector<Tensor>{h, c, compute({}, [&] { return sum(h(j) * h(j), j); })};
      });
  const Array xs = ir::random_array(F32, {kTime, kSize}, 12),
              us = ir::random_array(F32, {kSize, kSize}, 13);
  const Array hs = ir::random_array(F32, {kSize}, 14), cs = ir::random_array(F32, {kSize}, 15);
  Numbers h, c, state_h, state_c, energy;
  for (int64_t i = 0; i < kSize; ++i) h.push_back(hs.as_double(i)), c.push_back(cs.as_double(i));
  for (int64_t t = 0; t < kTime; ++t) {
    Numbers next(kSize);
    double total = 0;
    for (int64_t i = 0; i < kSize; ++i) {
      const size_t at = static_cast<size_t>(i);
      double input = xs.as_double(t * kSize + i);
      for (int64_t k = 0; k < kSize; ++k)
        input += us.as_double(i * kSize + k) * h[static_cast<size_t>(k)];
      const double gate = 1 / (1 + std::exp(-input));
      c[at] = gate * c[at] + (1 - gate) * xs.as_double(t * kSize + i);
      next[at] = std::tanh(c[at]);
      total += next[at] * next[at];
    }
    h = next;
    state_h.insert(state_h.end(), h.begin(), h.end());
    state_c.insert(state_c.end(), c.begin(), c.end());
    energy.push_back(total);
  }
  const auto got = run(program("rnn", {x, U, h0, c0}, out), {xs, us, hs, cs},
                       {{kTime, kSize}, {kTime, kSize}, {kTime}});
  expect_near(got[0], state_h, kF32);
  expect_near(got[1], state_c, kF32);
  expect_near(got[2], energy, kF32);
}

TEST(ToBlocksValues, AScanInsideAScan) {
  // p(t, s): running product over s of (1 + x(t, s)), starting from the end of the row before.
  const Tensor x = placeholder("x", F64, {3, 4}), one = placeholder("one", F64, {});
  const Tensor h = scan("h", 3, one, [&](Var t, Tensor p) {
    const Tensor inner = scan("inner", 4, p, [&](Var s, Tensor q) {
      return compute({}, [&] { return q() * (1 + x(t, s)); });
    });
    return compute({}, [&] { return inner(3); });
  });
  const Array in = ir::random_array(F64, {3, 4}, 16);
  Numbers expected;
  double product = 1;
  for (int64_t i = 0; i < 12; ++i) {
    product *= 1 + in.as_double(i);
    if (i % 4 == 3) expected.push_back(product);
  }
  expect_near(run(program("f", {x, one}, {h}), {in, ir::array_of(F64, {}, {1})}, {{3}})[0],
              expected, 1e-12);
}

TEST(ToBlocksValues, Gather) {
  const Tensor table = placeholder("table", F32, {4, 2}), at = placeholder("at", I32, {3});
  const Tensor y = compute("y", {3, 2}, [&](Var i, Var j) { return table(cast(I64, at(i)), j); });
  const Program p = program("gather", {table, at}, {y});
  const Array rows = ir::array_of(F32, {4, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  expect_near(run(p, {rows, ir::array_of(I32, {3}, {2, 0, 3})}, {{3, 2}})[0],
              {20, 21, 0, 1, 30, 31}, 0);
  const Diagnostic d =
      diagnostic_of([&] { run(p, {rows, ir::array_of(I32, {3}, {2, 4, 3})}, {{3, 2}}); });
  EXPECT_EQ(d.code, "ir.run.bounds");
  EXPECT_NE(d.message.find("`table["), std::string::npos) << d.message;
}

TEST(ToBlocksValues, LogSumExpByAUsersReducer) {
  const ir::Reducer lse = reducer("lse", {F32, F32},
                                  [](const Tuple& x, const Tuple& y) {
                                    const Expr m = max(x[0], y[0]);
                                    return Tuple{m, x[1] * exp(x[0] - m) + y[1] * exp(y[0] - m)};
                                  },
                                  {-INFINITY, 0});
  const Tensor x = placeholder("x", F32, {4, 9});
  const Axis k = reduce_axis(9, "k");
  const Tensor y = compute("y", {4}, [&](Var i) {
    const Tuple both = reduce(lse, {x(i, k), 1}, k);
    return both[0] + log(both[1]);
  });
  const Array in = ir::random_array(F32, {4, 9}, 17);
  const Numbers expected = table({4}, [&](const Dims& at) {
    double sum = 0;
    for (int64_t j = 0; j < 9; ++j) sum += std::exp(in.as_double(at[0] * 9 + j));
    return std::log(sum);
  });
  expect_near(run(program("lse", {x}, {y}), {in}, {{4}})[0], expected, kF32);
}

TEST(ToBlocksValues, MeanAndVarianceInOnePass) {
  // (count, mean, sum of squared distances), combined as Chan et al. do.
  const ir::Reducer welford = reducer("welford", {F32, F32, F32},
                                      [](const Tuple& x, const Tuple& y) {
                                        const Expr count = x[0] + y[0], apart = y[1] - x[1];
                                        const Expr share = y[0] / max(count, 1);
                                        return Tuple{count, x[1] + apart * share,
                                                     x[2] + y[2] + apart * apart * x[0] * share};
                                      },
                                      {0, 0, 0});
  const Tensor x = placeholder("x", F32, {3, 8});
  const Axis k = reduce_axis(8, "k");
  const auto all = compute({"count", "mean", "m2"}, {3},
                           [&](Var i) { return reduce(welford, {1, x(i, k), 0}, k); });
  const Array in = ir::random_array(F32, {3, 8}, 18);
  Numbers mean, m2;
  for (int64_t i = 0; i < 3; ++i) {
    double m = 0, d = 0;
    for (int64_t j = 0; j < 8; ++j) m += in.as_double(i * 8 + j) / 8;
    for (int64_t j = 0; j < 8; ++j) d += std::pow(in.as_double(i * 8 + j) - m, 2);
    mean.push_back(m), m2.push_back(d);
  }
  const auto out = run(program("welford", {x}, all), {in}, {{3}, {3}, {3}});
  expect_near(out[0], {8, 8, 8}, 0);
  expect_near(out[1], mean, kF32);
  expect_near(out[2], m2, kF32);
}

TEST(ToBlocksValues, ARationalConstantIsADivisionInItsType) {
  const Tensor x = placeholder("x", F32, {});
  const Tensor y = compute("y", {}, [&] { return x() * rational(1, 3); });
  const float third = 1.0f / 3.0f;
  expect_near(run(program("f", {x}, {y}), {ir::array_of(F32, {}, {6})}, {{}})[0], {6 * third}, 0);
}

}  // namespace
}  // namespace tilewright::lower
