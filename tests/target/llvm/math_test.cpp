// SPDX-License-Identifier: Apache-2.0
// The inline functions against the C library in higher precision, on samples;
// tests/fuzz/ulp_check.cpp takes all f32 inputs.
#include <bit>
#include <random>

#include "gtest/gtest.h"

#include "support/str.h"
#include "target/host.h"
#include "target/llvm/arrays.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"
#include "target/llvm/ulp.h"

namespace tilewright::target::llvm {
namespace {

using ir::Elem;
using ir::MathFn;

/// fn of each pair (of each x, for functions of one argument).
Array apply(MathFn fn, Array& x, Array& y, int lanes, const ir::TargetSpec& spec) {
  const int64_t n = x.size();
  const Elem elem = x.elem();
  const ir::Buffer bx = array("x", elem, n), by = array("y", elem, n), bz = array("z", elem, n);
  const ir::Var i("i");
  const ir::Expr at = lanes == 1 ? ir::Expr(i) : ramp(ir::Expr(i) * lanes, lanes);
  std::vector<ir::Expr> args{ir::load(bx, {at}), ir::load(by, {at})};
  args.resize(static_cast<size_t>(ir::info(fn).args));
  const JitKernel kernel =
      compile(final_func("f", {{bx, ir::Access::In}, {by, ir::Access::In}, {bz, ir::Access::Out}},
                         loop(i, n / lanes, store(bz, at, ir::call(fn, args)))),
              spec);
  Array z(elem, n);
  void* buffers[] = {x.data(), y.data(), z.data()};
  kernel.call(buffers);
  return z;
}

void check(MathFn fn, Array& x, Array& y, int lanes, double allowed,
           const ir::TargetSpec& spec = host_target()) {
  const Array z = apply(fn, x, y, lanes, spec);
  const Elem elem = x.elem();
  int reported = 0;
  for (int64_t i = 0; i < x.size() && reported < 3; ++i) {
    const double a = x.float_at(i), b = y.float_at(i);
    const long double exact =
        elem == Elem::F64 ? exact_call(fn, a, b) : static_cast<long double>(exact_call(fn, a, b));
    const double ulps = ulp_error(elem, z.float_at(i), exact);
    if (ulps <= allowed) continue;
    ++reported;
    ADD_FAILURE() << ir::info(fn).name << "(" << std::hexfloat << a << ", " << b << ") of "
                  << ir::name(elem) << "x" << lanes << " on " << spec.name << " is "
                  << z.float_at(i) << ", not " << static_cast<double>(exact) << std::defaultfloat
                  << ": " << ulps << " ulp";
  }
}

/// The edge values, then bits spread over the whole type, up to a multiple of 64.
Array samples(Elem elem, uint64_t seed, int64_t n = 1 << 13) {
  Array x(elem, n);
  const std::vector<double> edges = float_edges(elem);
  std::mt19937_64 gen(seed);
  for (int64_t i = 0; i < n; ++i) {
    if (i < static_cast<int64_t>(edges.size()))
      x.set_float(i, edges[static_cast<size_t>(i)]);
    else if (i % 2 == 0)
      x.set_bits(i, random_bits(elem, gen));
    else  // where functions are interesting
      x.set_float(i, std::ldexp(static_cast<double>(gen() >> 11) * 0x1p-53 - 0.5,
                                static_cast<int>(gen() % 14) - 4));
  }
  return x;
}

class Math : public testing::TestWithParam<MathFn> {};

TEST_P(Math, EveryFourThousandthFloat) {
  constexpr uint64_t kStep = 4099;
  constexpr int64_t kInputs = ((int64_t{1} << 32) / kStep) / 64 * 64;
  Array x(Elem::F32, kInputs);
  for (int64_t i = 0; i < kInputs; ++i) x.set_bits(i, static_cast<uint64_t>(i) * kStep);
  check(GetParam(), x, x, 16, 2);
}

TEST_P(Math, EdgesInSeveralWidthsAndTargets) {
  Array x = samples(Elem::F32, 1);
  for (const int lanes : {1, 4, 8, 32}) check(GetParam(), x, x, lanes, 2);
  // Without AVX-512 some steps are made differently.
  check(GetParam(), x, x, 8, 2, parse_target("x86-64-v3"));
}

TEST_P(Math, Doubles) {
  Array x = samples(Elem::F64, 2, 1 << 14);
  check(GetParam(), x, x, 8, 4);
  check(GetParam(), x, x, 1, 4, parse_target("x86-64-v3"));
}

TEST_P(Math, EveryHalf) {
  for (const Elem elem : {Elem::F16, Elem::BF16}) {
    Array x(elem, 1 << 16);
    for (int64_t i = 0; i < 1 << 16; ++i) x.set_bits(i, static_cast<uint64_t>(i));
    check(GetParam(), x, x, 16, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(, Math, testing::ValuesIn(kApproximate),
                         [](const auto& info) { return std::string(ir::info(info.param).name); });

ir::LoopFunc narrowing(int64_t n, int lanes) {
  const ir::Buffer from = array("x", Elem::F32, n), to = array("z", Elem::BF16, n);
  const ir::Var i("i");
  const ir::Expr at = lanes == 1 ? ir::Expr(i) : ramp(ir::Expr(i) * lanes, lanes);
  return final_func("f", {{from, ir::Access::In}, {to, ir::Access::Out}},
                    loop(i, n / lanes, store(to, at, ir::cast(Elem::BF16, ir::load(from, {at})))));
}

TEST(NarrowedToBf16, RoundsToEvenAndMayTakeSubnormalsAsZero) {
  constexpr int64_t kStep = 32771, kEdges = 64, kInputs = (int64_t{1} << 32) / kStep / 64 * 64;
  Array x(Elem::F32, kInputs);
  for (int64_t i = 0; i < kInputs; ++i) x.set_bits(i, static_cast<uint64_t>(i * kStep));
  // Ties, the largest numbers, subnormals, NaNs with few bits.
  const uint64_t edges[] = {0x3f808000, 0x3f818000, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 0x7f800000,
                            0x7f800001, 0x7fffffff, 0x00000001, 0x00007fff, 0x00008000, 0x00018000,
                            0x007fffff, 0x00800000, 0x00000000, 0x7fc00000};
  for (int64_t i = 0; i < kEdges; ++i)
    x.set_bits(i, edges[i % 16] | (i / 16 % 2 == 0 ? 0 : 0x80000000));
  const auto expected = [&](int64_t i, bool subnormals) {
    const uint64_t bits = x.bits_at(i), magnitude = bits & 0x7fffffff;
    if (!subnormals && magnitude < 0x00800000) return bits >> 16 & 0x8000;
    return ir::float_to_bits(Elem::BF16, x.float_at(i));
  };
  for (const bool subnormals : {true, false})
    for (const int lanes : {1, 4, 8, 16, 32, 64}) {
      const JitKernel kernel =
          compile(narrowing(kInputs, lanes), host_target(), {.subnormals = subnormals});
      Array z(Elem::BF16, kInputs);
      void* buffers[] = {x.data(), z.data()};
      kernel.call(buffers);
      int reported = 0;
      for (int64_t i = 0; i < kInputs && reported < 3; ++i) {
        const double got = z.float_at(i);
        if (std::isnan(x.float_at(i))
                ? std::isnan(got)
                : z.bits_at(i) == expected(i, true) || z.bits_at(i) == expected(i, subnormals))
          continue;
        ++reported;
        ADD_FAILURE() << std::hexfloat << x.float_at(i) << " in " << lanes << " lanes is " << got;
      }
    }
}

TEST(NarrowedToBf16, IsOneInstructionWhereSubnormalsMayGo) {
  const ir::TargetSpec zen4 = parse_target("znver4");
  for (const bool subnormals : {true, false}) {
    const std::string code = emit_assembly(narrowing(64, 16), zen4, {.subnormals = subnormals});
    EXPECT_EQ(code.find("vcvtneps2bf16") == std::string::npos, subnormals);
  }
}

TEST(MathOfTwo, PowAtan2Fmod) {
  for (const MathFn fn : {MathFn::Pow, MathFn::Atan2, MathFn::Fmod}) {
    for (const Elem elem : {Elem::F32, Elem::F64}) {
      const int64_t n = 1 << 15;
      Array x(elem, n), y(elem, n);
      fill_pairs(x, y, 5);
      std::mt19937_64 gen(9);
      for (int64_t i = n / 2; i < n; ++i) {  // results that are neither 0 nor inf
        x.set_float(i, std::ldexp(static_cast<double>(gen() >> 11) * 0x1p-53 + 0.5,
                                  static_cast<int>(gen() % 9) - 4));
        y.set_float(i, std::ldexp(static_cast<double>(gen() >> 11) * 0x1p-53 - 0.5,
                                  static_cast<int>(gen() % 9) - 1));
      }
      const double allowed = fn == MathFn::Fmod ? 0 : 4;
      check(fn, x, y, 16, allowed);
      check(fn, x, y, 1, allowed, parse_target("x86-64-v3"));
    }
  }
}

}  // namespace
}  // namespace tilewright::target::llvm
