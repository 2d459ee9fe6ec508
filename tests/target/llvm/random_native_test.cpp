// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/random_native.h"

#include <gtest/gtest.h>

namespace tilewright::target::llvm {
namespace {

TEST(RandomNative, EqualsTheInterpreterToTheLastBit) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string failure = check_native_case(seed, host_target());
    ASSERT_EQ(failure, "") << failure;
  }
}

}  // namespace
}  // namespace tilewright::target::llvm
