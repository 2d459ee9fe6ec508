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

TEST(Cast, FloatsOf4BitsHaveNeitherInfinitiesNorNan) {
  const auto x = floats({10}, {0.48, 0.25, 1.05, -3.5, -8, 9, NAN, INFINITY, -INFINITY, 5});
  EXPECT_EQ(cast(23, x), (std::vector<double>{0.5, 0, 1, -4, -6, 6, 0, 6, -6, 4}));
}

std::vector<double> to_power(const std::string& mode, int64_t saturate,
                             const std::vector<double>& x) {
  return numbers(
      run_node({.op = "Cast",
                .opset = 25,
                .attributes = {{"to", int64_t{24}}, {"saturate", saturate}, {"round_mode", mode}}},
               {floats({static_cast<int64_t>(x.size())}, x)})[0]);
}

TEST(Cast, RoundsToPowersOfTwoAsItIsTold) {
  const double least = 0x1p-127, most = 0x1p127;
  const std::vector<double> x{0,     0.124,        0.25,        1.1,      3,
                              least, 1.25 * least, 1.5 * least, INFINITY, 3e38};
  EXPECT_EQ(to_power("up", 1, x), (std::vector<double>{least, 0.125, 0.25, 2, 4, least, 2 * least,
                                                       2 * least, most, most}));
  EXPECT_EQ(to_power("down", 1, x),
            (std::vector<double>{least, 0.0625, 0.25, 1, 2, least, least, least, most, most}));
  EXPECT_EQ(to_power("nearest", 1, x),
            (std::vector<double>{least, 0.125, 0.25, 1, 4, least, least, 2 * least, most, most}));
  for (const double v : to_power("nearest", 0, {0, NAN, INFINITY, 3e38, -1}))
    EXPECT_TRUE(std::isnan(v)) << v;
  EXPECT_EQ(diagnostic_of([] { to_power("odd", 1, {1}); }).code, "ops.cast.round_mode");
}

TEST(Cast, NarrowsFromOneFloatOf8BitsToAnother) {
  const graph::Constant wide =
      run_node({.op = "Cast", .attributes = {{"to", int64_t{19}}}}, {floats({2}, {256, 100})})[0];
  EXPECT_EQ(cast(18, wide), (std::vector<double>{240, 96}));  // e5m2 cannot hold 240
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
