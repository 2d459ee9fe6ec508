// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/choices.h"

#include <gtest/gtest.h>

namespace tilewright::tune {
namespace {

TEST(Choices, AreTheModelsWithoutAnAnswer) {
  Choices c;
  EXPECT_EQ(c.number("rows", 6, {4, 6, 8, 4}), 6);
  EXPECT_TRUE(c.yes("first", true));
  EXPECT_FALSE(c.yes("inlined", false));
  ASSERT_EQ(c.asked().size(), 3u);
  EXPECT_EQ(c.asked()[0].name, "rows");
  EXPECT_EQ(c.asked()[0].options, (std::vector<std::string>{"6", "4", "8"}));
}

TEST(Choices, AreThoseThatAreGiven) {
  Choices c;
  c.answer("rows", "8");
  c.answer("first", "no");
  c.answer("inlined", "yes");
  EXPECT_EQ(c.number("rows", 6, {4, 6, 8}), 8);
  EXPECT_FALSE(c.yes("first", true));
  EXPECT_TRUE(c.yes("inlined", false));
}

TEST(Choices, LeaveAnswersThatDoNotFit) {
  Choices c;
  c.answer("rows", "5");
  EXPECT_EQ(c.number("rows", 6, {4, 6, 8}), 6);
}

TEST(Choices, AreAskedForOnceAndOnlyWhereThereIsAChoice) {
  Choices c;
  c.number("rows", 6, {6});
  c.number("columns", 6, {4});
  c.number("columns", 4, {6});
  ASSERT_EQ(c.asked().size(), 1u);
  EXPECT_EQ(c.asked()[0].options[0], "6");
}

}  // namespace
}  // namespace tilewright::tune
