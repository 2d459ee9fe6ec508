// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <gtest/gtest.h>

#include "te/te.h"

namespace tilewright::te {
namespace {

using enum ir::Elem;

class TeBounds : public testing::Test {
 protected:
  const Symbol n = symbol("n");
  const Tensor A = placeholder("A", F32, {8, 5});
  const Tensor B = placeholder("B", F32, {n});

  /// Without a code when the program is taken.
  static Diagnostic refusal(const Tensor& in, const Tensor& out, std::vector<ir::Symbol> symbols) {
    try {
      program("f", {in}, {out}, std::move(symbols));
    } catch (const Error& e) {
      return e.diagnostic;
    }
    return {};
  }
};

TEST_F(TeBounds, RefusesAnIndexThatReachesBeyondTheEnd) {
  const Diagnostic d =
      refusal(A, compute("s", {8, 5}, [&](Var i, Var j) { return A(i + 1, j); }), {});
  EXPECT_EQ(d.code, "te.read.outside");
  EXPECT_NE(d.message.find("`s` reads `A` out of bounds along dimension 0"), std::string::npos);
  EXPECT_NE(d.notes[0].find("reaches 8, and the dimension has 8 elements"), std::string::npos)
      << d.notes[0];
}

TEST_F(TeBounds, RefusesAnIndexBelowZero) {
  for (const int64_t factor : {1, -1}) {
    const Tensor s =
        compute("s", {3, 2}, [&](Var i, Var j) { return A(i * 2 - j * 3 * factor, 0); });
    EXPECT_EQ(refusal(A, s, {}).code, factor == 1 ? "te.read.outside" : "");
  }
}

TEST_F(TeBounds, RefusesAReductionThatIsTooLong) {
  const Axis k = reduce_axis(3, "k");
  const Tensor s = compute("s", {4}, [&](Var j) { return sum(A(0, j + k), k); });
  EXPECT_EQ(refusal(A, s, {}).code, "te.read.outside");
}

TEST_F(TeBounds, RefusesForAllSizes) {
  EXPECT_EQ(refusal(B, compute("s", {n}, [&](Var i) { return B(i + 1); }), {n}).code,
            "te.read.outside");
  EXPECT_EQ(refusal(B, compute("s", {n + 1}, [&](Var i) { return B(i); }), {n}).code,
            "te.read.outside");
}

TEST_F(TeBounds, RefusesInsideOfAScan) {
  const Tensor x = placeholder("x", F32, {4, 3});
  const Tensor init = compute("init", {3}, [&](Var) { return Expr(0.0F); });
  const auto shifted = [&](int64_t by) {
    return scan("h", 4, init, [&](Var t, const Tensor& h) {
      return compute("step", {3}, [&](Var i) { return h(i) + x(t, i + by); });
    });
  };
  EXPECT_EQ(refusal(x, shifted(1), {}).code, "te.read.outside");
  EXPECT_EQ(refusal(x, shifted(0), {}).code, "");
}

TEST_F(TeBounds, RefusesFormulasThatAreOutsideAtTheEndOfAnAxis) {
  const auto code = [&](const std::function<Expr(Var)>& index) {
    return refusal(A, compute("s", {16}, [&](Var i) { return A(index(i), 0); }), {}).code;
  };
  EXPECT_EQ(code([](Var i) { return i % 8 + 1; }), "te.read.outside");
  EXPECT_EQ(code([](Var i) { return i / 2 + 1; }), "te.read.outside");
  EXPECT_EQ(code([](Var i) { return max(i, 3) + 5; }), "te.read.outside");
  EXPECT_EQ(code([](Var i) { return min(i, 7); }), "");
}

TEST_F(TeBounds, TakesWhatMayBeInside) {
  const auto taken = [&](const Tensor& in, const Tensor& out) {
    EXPECT_EQ(refusal(in, out, {n}).code, "") << out.name();
  };
  taken(A, compute("guarded", {8}, [&](Var i) { return guard(i + 1 < 8, A(i + 1, 0), 0.0F); }));
  taken(A, compute("last", {8, 5}, [&](Var i, Var j) { return A(7 - i, 4 - j); }));
  taken(A, compute("formula", {20}, [&](Var i) { return A(i % 8, i / 4); }));
  taken(B, compute("unknown", {9}, [&](Var i) { return B(i); }));  // n may be 9
  const Symbol count = symbol("count", 0);
  const Tensor none = placeholder("none", F32, {0});
  EXPECT_EQ(refusal(none, compute("s", {count}, [&](Var i) { return none(i); }), {count}).code, "");
  taken(A, compute("nothing", {0}, [&](Var i) { return A(i + 100, 0); }));
}

}  // namespace
}  // namespace tilewright::te
