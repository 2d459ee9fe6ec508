// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

std::vector<double> cast(int64_t to, const graph::Constant& x, int64_t saturate = 1) {
  return numbers(
      run_node({.op = "Cast", .attributes = {{"to", to}, {"saturate", saturate}}}, {x})[0]);
}

TEST(Cast, SaturatesFloatsOf8BitsUnlessToldNotTo) {
  const auto x = floats({4}, {1000, -1000, 1.06, INFINITY});
  EXPECT_EQ(cast(17, x), (std::vector<double>{448, -448, 1, 448}));  // float8e4m3fn
  const std::vector<double> loose = cast(17, x, 0);
  EXPECT_TRUE(std::isnan(loose[0]) && std::isnan(loose[3]));
  EXPECT_EQ(cast(19, x, 0)[3], INFINITY);  // float8e5m2
}

TEST(Cast, KeepsTheLowBitsOfWhatDoesNotFit) {
  EXPECT_EQ(cast(3, ints({2}, {200, -129})), (std::vector<double>{-56, 127}));  // int8
  EXPECT_EQ(cast(22, floats({2}, {9, -9})), (std::vector<double>{-7, 7}));      // int4
  EXPECT_EQ(cast(2, floats({1}, {-1})), (std::vector<double>{255}));            // uint8
}

TEST(Cast, MakesEverythingButZeroTrue) {
  EXPECT_EQ(cast(9, floats({3}, {0, 0.5, NAN})), (std::vector<double>{0, 1, 1}));
}

TEST(Cast, RefusesStrings) {
  const auto text = graph::string_constant({1}, {"1"});
  EXPECT_EQ(diagnostic_of([&] { cast(1, text); }).code, "ops.cast.type");
}

TEST(BitCast, NeedsTheSameWidth) {
  const TestNode node{.op = "BitCast", .opset = 26, .attributes = {{"to", int64_t{6}}}};
  EXPECT_EQ(numbers(run_node(node, {floats({1}, {1})})[0]), (std::vector<double>{0x3f800000}));
  EXPECT_EQ(diagnostic_of([&] { run_node(node, {ints({1}, {1})}); }).code, "ops.bitcast.width");
}

}  // namespace
}  // namespace tilewright::ops
