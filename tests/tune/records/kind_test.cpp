// SPDX-License-Identifier: Apache-2.0
#include "tune/records/kind.h"

#include <gtest/gtest.h>

namespace tilewright::tune {
namespace {

TEST(Kind, HasNoSizes) {
  const Kind k = kind_of("for y in 0..56 { b12[y * 2 + 1] = max(f32x8, 0.5, 1e-05) }");
  EXPECT_EQ(k.text, "for y in #..# { b12[y * # + #] = max(f32x8, ~, ~) }");
  EXPECT_EQ(k.numbers, (std::vector<int64_t>{0, 56, 2, 1}));
}

TEST(Kind, NumbersThatAreNoSizesStayAsTheyAre) {
  // Beyond any size, and the words of a damaged text.
  for (const char* text : {"99999999999999999999", "3x", "_3", "inf", "1.5.2"})
    EXPECT_EQ(kind_of(text).text, text);
  EXPECT_EQ(kind_of("").text, "");
  EXPECT_EQ(kind_of("-7").text, "-#");
}

TEST(Kind, IsTheSameForOtherValuesOfConstants) {
  const Kind a = kind_of("x * 0.125 + 1e-05 in 64"), b = kind_of("x * 0.17677669 + 1e-06 in 32");
  EXPECT_EQ(a.text, b.text);
  EXPECT_DOUBLE_EQ(distance(a, b), distance(kind_of("64"), kind_of("32")));
  EXPECT_NE(a.text, kind_of("x * 3 + 1e-05 in 64").text);
}

TEST(Kind, DistanceIsInDoublingsOfWhatDiffers) {
  const Kind a = kind_of("x 63 7 3");
  EXPECT_EQ(distance(a, a), 0);
  EXPECT_DOUBLE_EQ(distance(a, kind_of("x 127 7 3")), 1);
  EXPECT_DOUBLE_EQ(distance(a, kind_of("x 31 31 3")), 1.5);
}

}  // namespace
}  // namespace tilewright::tune
