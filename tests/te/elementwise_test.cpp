// SPDX-License-Identifier: Apache-2.0
#include "te/elementwise.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "ir/print.h"
#include "te/math.h"

namespace tilewright::te {
namespace {

using enum ir::Elem;

std::string value(const Tensor& t) { return ir::print(t.stage()->as<Compute>()->values[0]); }

std::string shape(const Tensor& t) {
  std::string out;
  for (const ir::Expr& e : t.shape()) out += ir::print(e) + " ";
  return out;
}

class TeElementwise : public testing::Test {
 protected:
  const Symbol n = symbol("n");
  const Tensor a = placeholder("a", F32, {n, 6});
  const Tensor row = placeholder("row", F32, {6});
  const Tensor column = placeholder("column", F32, {n, 1});
  const Tensor one = placeholder("one", F32, {});
};

TEST_F(TeElementwise, BroadcastsFromTheLastDimension) {
  EXPECT_EQ(value(a + a), "a[i0, i1] + a[i0, i1]");
  EXPECT_EQ(value(a * row), "a[i0, i1] * row[i1]");
  EXPECT_EQ(value(column - row), "column[i0, 0] - row[i1]");
  EXPECT_EQ(shape(column - row), "n 6 ");
  EXPECT_EQ(value(one / a), "one[] / a[i0, i1]");
  EXPECT_EQ(shape(one / a), "n 6 ");
}

TEST_F(TeElementwise, TakesLiteralsAndFunctions) {
  EXPECT_EQ(value(2 * row), "2.0 * row[i0]");
  EXPECT_EQ(value(row / 3.0), "row[i0] / 3.0");
  EXPECT_EQ(value(tanh(row)), "tanh(row[i0])");
  EXPECT_EQ(value(map(row, [](const Expr& x) { return max(x, 0); })), "max(row[i0], 0.0)");
}

TEST_F(TeElementwise, ReductionsKeepTheirAxis) {
  const Tensor most = max_over(a, -1);
  EXPECT_EQ(shape(most), "n 1 ");
  EXPECT_EQ(value(most), "a[i0, k]");
  EXPECT_EQ(most.name(), "a_max");
  EXPECT_EQ(value(a - most), "a[i0, i1] - a_max[i0, 0]");
  EXPECT_EQ(shape(sum_over(a, 0)), "1 6 ");
  EXPECT_EQ(min_over(a, 0).stage()->as<Compute>()->reducer->name, "min");
}

TEST_F(TeElementwise, RefusesShapesThatDoNotFit) {
  const Tensor b = placeholder("b", F32, {n + 1, 6});
  const Diagnostic d = diagnostic_of([&] { a + b; });
  EXPECT_EQ(d.code, "te.elementwise.shape");
  EXPECT_NE(d.notes[0].find("`a` is [n, 6], `b` is [n + 1, 6]"), std::string::npos) << d.notes[0];
  const Diagnostic axis = diagnostic_of([&] { sum_over(a, 2); });
  EXPECT_EQ(axis.code, "te.elementwise.axis");
  EXPECT_NE(axis.message.find("`a` has no axis 2"), std::string::npos);
  EXPECT_EQ(diagnostic_of([&] { sum_over(one, 0); }).code, "te.elementwise.axis");
}

}  // namespace
}  // namespace tilewright::te
