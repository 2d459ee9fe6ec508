// SPDX-License-Identifier: Apache-2.0
#include "support/str.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string_view>

namespace tilewright {
namespace {

/// What a stream writes: `str` must not differ where it does not use one.
template <class... Parts>
std::string streamed(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
void expect_as_streamed(const Parts&... parts) {
  EXPECT_EQ(str(parts...), streamed(parts...));
}

TEST(Str, WritesWhatAStreamDoes) {
  const char* text = "text";
  expect_as_streamed("a", 'b', std::string("c\0d", 3), std::string_view("ef").substr(1), text);
  expect_as_streamed(std::numeric_limits<int64_t>::min(), ' ',
                     std::numeric_limits<uint64_t>::max());
  expect_as_streamed(int16_t{-7}, uint16_t{65}, 0, 12u, size_t{3});
  expect_as_streamed(int8_t{65}, uint8_t{66}, true, false);  // a stream writes A, B, 1 and 0
  expect_as_streamed("x = ", 0.1, ", ", 1e300, ", ", -2.5f);
}

}  // namespace
}  // namespace tilewright
