// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

Numbers einsum(const char* equation, const std::vector<graph::Constant>& inputs,
               bool symbolic = false) {
  return numbers(run_node(
      {.op = "Einsum", .attributes = {{"equation", std::string(equation)}}, .symbolic = symbolic},
      inputs)[0]);
}

TEST(Einsum, ContractsChainsOfOperands) {
  const auto m = floats({2, 2}, {1, 2, 3, 4}), v = floats({2}, {1, 10});
  EXPECT_EQ(einsum("ij,jk,k->i", {m, m, v}), (Numbers{107, 235}));
  EXPECT_EQ(einsum("ij,jk", {m, m}, true), (Numbers{7, 10, 15, 22}));
}

TEST(Einsum, ReadsDiagonalsAndEllipses) {
  const auto m = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(einsum("ii", {m}), (Numbers{5}));
  EXPECT_EQ(einsum("ii->i", {m}), (Numbers{1, 4}));
  EXPECT_EQ(einsum("...j->...", {m}), (Numbers{3, 7}));
  EXPECT_EQ(einsum("...i,i->...", {m, floats({2}, {1, 10})}), (Numbers{21, 43}));
}

TEST(Einsum, RefusesTermsOfAnotherRank) {
  const Diagnostic d = diagnostic_of([] { einsum("ijk->i", {floats({1, 1}, {1})}); });
  EXPECT_EQ(d.code, "ops.einsum.equation");
}

}  // namespace
}  // namespace tilewright::ops
