// SPDX-License-Identifier: Apache-2.0
#include "tune/search/tasks.h"

#include <gtest/gtest.h>

namespace tilewright::tune {
namespace {

TEST(Tasks, TakesTheLargestShareFirst) {
  EXPECT_EQ(next_task({{.name = "a", .weight = 1, .start_seconds = 1e-3},
                       {.name = "b", .weight = 8, .start_seconds = 4e-4}}),
            1u);
}

TEST(Tasks, TasksAtTheirRoofComeLaterButRoofsMayBeWrong) {
  const TaskState at_roof{.name = "a", .start_seconds = 9e-3, .roof_seconds = 9e-3};
  EXPECT_EQ(next_task({at_roof, {.name = "b", .start_seconds = 3e-3, .roof_seconds = 2e-4}}), 1u);
  EXPECT_EQ(next_task({at_roof, {.name = "b", .start_seconds = 1e-3, .roof_seconds = 2e-4}}), 0u);
  EXPECT_EQ(next_task({at_roof}), 0u);
}

TEST(Tasks, GoesOnWhereItGains) {
  EXPECT_EQ(
      next_task({{.name = "a", .start_seconds = 2e-3, .best = {2e-3, 2e-3, 2e-3, 2e-3}},
                 {.name = "b", .start_seconds = 2e-3, .best = {2e-3, 1.8e-3, 1.6e-3, 1.4e-3}}}),
      1u);
}

TEST(Tasks, PrefersQuickTrials) {
  EXPECT_EQ(next_task({{.name = "a", .start_seconds = 3e-3, .best = {3e-3}, .batch_seconds = 8},
                       {.name = "b", .start_seconds = 2e-3, .best = {2e-3}, .batch_seconds = 1}}),
            1u);
}

TEST(Tasks, EndsWhenNothingIsLeft) {
  EXPECT_FALSE(next_task({}));
  EXPECT_FALSE(next_task({{.name = "a", .start_seconds = 1, .done = true}}));
}

TEST(Tasks, KnowsTheTimeOfTheModel) {
  EXPECT_DOUBLE_EQ(total_seconds({{.weight = 2, .start_seconds = 3},
                                  {.weight = 1, .start_seconds = 5, .best = {4, 2}}}),
                   8);
}

}  // namespace
}  // namespace tilewright::tune
