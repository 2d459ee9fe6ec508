// SPDX-License-Identifier: Apache-2.0
#include "support/utf8.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Utf8, goes_both_ways_for_every_character) {
  for (uint32_t c = 0; c < 0x120000; ++c) {
    std::string text;
    const bool exists = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
    ASSERT_EQ(append_utf8(text, c), exists) << c;
    if (exists) {
      ASSERT_EQ(from_utf8(text), std::u32string(1, c)) << c;
    }
  }
}

TEST(Utf8, is_read_only_where_it_is_right) {
  EXPECT_EQ(from_utf8("aä€😀"), U"aä€😀");
  for (const char* wrong : {"\x80", "\xc3", "\xc3(", "\xe2\x82", "\xc0\x80", "\xe0\x80\x80",
                            "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
    EXPECT_FALSE(from_utf8(wrong)) << wrong;
}

}  // namespace
}  // namespace tilewright
