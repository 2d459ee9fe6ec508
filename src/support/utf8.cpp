// SPDX-License-Identifier: Apache-2.0
#include "support/utf8.h"

namespace tilewright {
namespace {

bool is_character(uint32_t c) { return c < 0xd800 || (c > 0xdfff && c <= 0x10ffff); }

}  // namespace

bool append_utf8(std::string& to, uint32_t c) {
  if (!is_character(c)) return false;
  const auto put = [&](uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
  return true;
}

std::optional<std::u32string> from_utf8(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i++]);
    const int more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : 3;
    if ((first >= 0x80 && first < 0xc0) || first >= 0xf8) return std::nullopt;
    uint32_t c = more == 0 ? first : first & (0x3f >> more);
    for (int k = 0; k < more; ++k) {
      if (i == text.size() || (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return std::nullopt;
      c = c << 6 | (static_cast<uint8_t>(text[i++]) & 0x3f);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};  // a longer form than needed is wrong
    if (c < kLeast[more] || !is_character(c)) return std::nullopt;
    out.push_back(c);
  }
  return out;
}

}  // namespace tilewright
