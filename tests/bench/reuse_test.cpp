// SPDX-License-Identifier: Apache-2.0
#include "reuse.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

constexpr int64_t kPage = 4096;

/// The bytes that are found within `distance`.
double within(const std::vector<Reuse>& all, double distance) {
  double bytes = 0;
  for (const Reuse& r : all)
    if (r.distance <= distance) bytes += r.bytes;
  return bytes;
}

TEST(Reuse, a_model_that_is_one_step_finds_its_bytes_as_far_as_it_is_large) {
  const auto reuse = reuse_of({{{0, 10 * kPage}}});
  EXPECT_EQ(within(reuse[0], 10 * kPage), 10 * kPage);
  EXPECT_EQ(within(reuse[0], 9 * kPage), 0);
}

TEST(Reuse, a_value_is_near_when_the_step_before_made_it) {
  // w0 -> x -> y with large weights in between.
  const Touch x{0, 2 * kPage}, y{10 * kPage, 2 * kPage}, w0{100 * kPage, 50 * kPage},
      w1{200 * kPage, 50 * kPage};
  const auto reuse = reuse_of({{w0, x}, {x, w1, y}});
  EXPECT_EQ(within(reuse[1], 2 * kPage), 2 * kPage);  // x
  // Everything else was touched a whole run ago.
  EXPECT_EQ(within(reuse[1], 103 * kPage), 2 * kPage);
  EXPECT_EQ(within(reuse[1], 104 * kPage), 54 * kPage);
}

TEST(Reuse, memory_that_is_given_to_another_value_counts_as_touched) {
  const auto reuse = reuse_of({{{0, kPage}}, {{0, kPage}, {kPage, kPage}}});
  EXPECT_EQ(within(reuse[1], kPage), kPage);
}

TEST(Reuse, a_recurrence_finds_its_weights_as_far_as_one_time_is_large) {
  const auto reuse =
      reuse_of({{{0, 8 * kPage, 35}, {100 * kPage, kPage}}, {{200 * kPage, 50 * kPage}}});
  EXPECT_EQ(within(reuse[0], 8 * kPage), 34 * 8 * kPage);
  EXPECT_EQ(within(reuse[0], 59 * kPage), 35 * 8 * kPage + kPage);
}

TEST(Reuse, a_few_bytes_of_a_page_count_as_such) {
  const auto reuse = reuse_of({{{64, 100}}});
  EXPECT_DOUBLE_EQ(within(reuse[0], kPage), 100);
}

}  // namespace
}  // namespace bench
