// SPDX-License-Identifier: Apache-2.0
#include "driver/roofs.h"

#include <gtest/gtest.h>

namespace tilewright::driver {
namespace {

TEST(Roofs, are_the_slower_of_arithmetic_and_memory) {
  const Roofs roofs{.flops = 100, .memory = {{10, 50}, {1000, 5}}};
  EXPECT_EQ(roofs.seconds(200, 10), 2);     // 0.2 s for the bytes
  EXPECT_EQ(roofs.seconds(1, 10), 0.2);     // they fit into the near memory
  EXPECT_EQ(roofs.seconds(1, 20), 4);       // and these do not
  EXPECT_EQ(roofs.seconds(1, 5000), 1000);  // nor into any
  EXPECT_TRUE(roofs.compute_bound(200, 10));
  EXPECT_FALSE(roofs.compute_bound(1, 10));
}

TEST(Roofs, are_measured_from_the_nearest_memory_on) {
  const Roofs roofs = measure_roofs(1);
  EXPECT_GT(roofs.flops, 0);
  ASSERT_FALSE(roofs.memory.empty());
  for (size_t i = 1; i < roofs.memory.size(); ++i)
    EXPECT_GT(roofs.memory[i].bytes, roofs.memory[i - 1].bytes);
  for (const Roofs::Memory& m : roofs.memory) EXPECT_GT(m.rate, 0);
}

}  // namespace
}  // namespace tilewright::driver
