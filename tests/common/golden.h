// SPDX-License-Identifier: Apache-2.0
// Generated text against a file in the tree. After a wanted change:
//   TILEWRIGHT_UPDATE_GOLDEN=1 build/release/tests/test_target --gtest_filter='*Golden*'
// and look at the difference before it is committed.
#pragma once

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

namespace tilewright {

/// `path` is relative to the root of the repository, where tests run.
inline void expect_golden(const std::string& path, const std::string& text) {
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ostringstream stored;
  stored << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, stored.str()) << path << " differs; see tests/common/golden.h";
}

}  // namespace tilewright
