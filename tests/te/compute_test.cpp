// SPDX-License-Identifier: Apache-2.0
#include "te/compute.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "ir/print.h"
#include "te/math.h"

namespace tilewright::te {
namespace {

using enum ir::Elem;

/// `C[i0, i1] = sum(k) A[i0, k]`, after the stages that were made on the way to it.
std::string text(const Stage& stage) {
  const Compute* c = stage->as<Compute>();
  if (!c) return "";
  std::string out;
  for (const Tensor& t : stage->reads) out += text(t.stage());
  const auto list = [&](const auto& items, auto print) {
    std::string joined;
    for (const auto& item : items) joined += (joined.empty() ? "" : ", ") + print(item);
    return joined;
  };
  const auto axis_name = [](const Iter& it) { return it.var.name(); };
  out += list(stage->outputs, [](const ir::Buffer& b) { return b->name; });
  out += "[" + list(c->axes, axis_name) + "] = ";
  if (c->reducer) out += c->reducer->name + "(" + list(c->reduce_axes, axis_name) + ") ";
  return out + list(c->values, [](const ir::Expr& e) { return ir::print(e); }) + "\n";
}

class TeCompute : public testing::Test {
 protected:
  const Tensor A = placeholder("A", F32, {4, 6});
  const Tensor B = placeholder("B", F32, {6, 5});
  const Axis k = reduce_axis(6, "k"), j = reduce_axis(6, "j");
};

TEST_F(TeCompute, AMatrixProductReadsAsMathematics) {
  const Tensor C = compute("C", {4, 5}, [&](Var y, Var x) { return sum(A(y, k) * B(k, x), k); });
  EXPECT_EQ(text(C.stage()), "C[i0, i1] = sum(k) A[i0, k] * B[k, i1]\n");
  EXPECT_EQ(C.name(), "C");
  EXPECT_EQ(C.elem(), F32);
  EXPECT_EQ(C.rank(), 2);
  EXPECT_EQ(C.stage()->reads, (std::vector<Tensor>{A, B}));
}

TEST_F(TeCompute, SeveralAxesOrNone) {
  const Axis r = reduce_axis(4, "r");
  const Tensor total = compute("total", {}, [&] { return sum(A(r, k), {r, k}); });
  EXPECT_EQ(text(total.stage()), "total[] = sum(r, k) A[r, k]\n");
  const Tensor twice = compute({}, [&] { return total() * 2; });
  EXPECT_EQ(twice.name(), "t");
  EXPECT_EQ(twice.rank(), 0);
}

TEST_F(TeCompute, AFunctionOfAllAxesAtOnce) {
  const Tensor copy = compute(
      "copy", {4, 6}, [&](const std::vector<Var>& at) { return A.at({at.begin(), at.end()}); });
  EXPECT_EQ(text(copy.stage()), "copy[i0, i1] = A[i0, i1]\n");
}

TEST_F(TeCompute, AReductionInsideBecomesAStageOverTheAxesItMentions) {
  const Tensor y = compute("y", {4, 6}, [&](Var i, Var c) {
    const Expr greatest = max_over(A(i, k), k);
    return exp(A(i, c) - greatest) / sum(exp(A(i, j) - greatest), j);
  });
  EXPECT_EQ(text(y.stage()->reads[1].stage()), "y_max[i0] = max(k) A[i0, k]\n");
  EXPECT_EQ(text(y.stage()->reads[2].stage()),
            "y_max[i0] = max(k) A[i0, k]\n"
            "y_sum[i0] = sum(j) exp(A[i0, j] - y_max[i0])\n");
  EXPECT_EQ(y.stage()->reads[1].stage(), y.stage()->reads[2].stage()->reads[1].stage());
  EXPECT_EQ(ir::print(y.stage()->as<Compute>()->values[0]),
            "exp(A[i0, i1] - y_max[i0]) / y_sum[i0]");
}

TEST_F(TeCompute, AnInnerReductionRunsOverTheAxesOfTheOuterOne) {
  const Tensor s = compute("s", {5}, [&](Var x) { return sum(max_over(B(k, x) * A(0, j), j), k); });
  EXPECT_EQ(text(s.stage()),
            "s_max[i0, k] = max(j) B[k, i0] * A[0, j]\n"
            "s[i0] = sum(k) s_max[i0, k]\n");
  const Tensor same_axis = compute("s", {}, [&] { return sum(A(0, k) * sum(A(1, k), k), k); });
  EXPECT_EQ(text(same_axis.stage()),
            "s_sum[] = sum(k) A[1, k]\n"
            "s[] = sum(k) A[0, k] * s_sum[]\n");
}

TEST_F(TeCompute, TuplesGiveATensorForEachValue) {
  const std::vector<Tensor> both =
      compute({"at", "most"}, {4}, [&](Var i) { return argmax(A(i, k), k); });
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(text(both[0].stage()), "at, most[i0] = argmax(k) k, A[i0, k]\n");
  EXPECT_EQ(both[0].elem(), I64);
  EXPECT_EQ(both[1].elem(), F32);
  EXPECT_EQ(both[1].name(), "most");

  const std::vector<Tensor> pair =
      compute("p", {4}, [&](Var i) { return Tuple{A(i, 0) + 1, sum(A(i, k), k) * 2}; });
  EXPECT_EQ(text(pair[0].stage()),
            "p_0_sum[i0] = sum(k) A[i0, k]\n"
            "p_0, p_1[i0] = A[i0, 0] + 1.0, p_0_sum[i0] * 2.0\n");
}

TEST_F(TeCompute, OnePartOfATupleNeedsNoCopy) {
  const Tensor at = compute("at", {4}, [&](Var i) { return argmax(A(i, k), k)[0]; });
  EXPECT_EQ(text(at.stage()), "at, at_1[i0] = argmax(k) k, A[i0, k]\n");
  EXPECT_EQ(at.output(), 0);
  const Tensor value = compute("v", {4}, [&](Var i) { return argmin(A(i, k), k)[1]; });
  EXPECT_EQ(text(value.stage()), "v_0, v[i0] = argmin(k) k, A[i0, k]\n");
  EXPECT_EQ(value.output(), 1);
}

TEST_F(TeCompute, RefusesAFunctionOfAnotherRank) {
  const Diagnostic d =
      diagnostic_of([&] { compute("C", {4}, [&](Var y, Var x) { return A(y, x); }); });
  EXPECT_EQ(d.code, "te.compute.rank");
  EXPECT_NE(d.message.find("`C` has 1 dimensions, its function takes 2 axes"), std::string::npos);
}

TEST_F(TeCompute, RefusesNamesThatDoNotFit) {
  const auto make = [&] {
    compute({"a", "b", "c"}, {4}, [&](Var i) { return argmax(A(i, k), k); });
  };
  const Diagnostic d = diagnostic_of(make);
  EXPECT_EQ(d.code, "te.compute.names");
  EXPECT_NE(d.message.find("`a`, `b`, `c` for 2 outputs"), std::string::npos) << d.message;
  EXPECT_EQ(diagnostic_of([] { compute({}, [] { return Tuple{}; }); }).code, "te.compute.empty");
}

TEST_F(TeCompute, RefusesAReductionThatAGuardProtects) {
  const Diagnostic d = diagnostic_of(
      [&] { compute("C", {6}, [&](Var i) { return guard(i < 4, sum(A(i, k), k), 0); }); });
  EXPECT_EQ(d.code, "te.reduce.nested");
  EXPECT_NE(d.message.find("`C` has a reduction `sum` inside of `guard`"), std::string::npos);
  EXPECT_NE(d.help.find("stage of its own"), std::string::npos);
  compute("C", {4}, [&](Var i) { return select(i < 4, sum(A(i, k), k), 0); });
}

}  // namespace
}  // namespace tilewright::te
