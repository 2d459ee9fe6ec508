// SPDX-License-Identifier: Apache-2.0
#include "support/bare/checksum.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

namespace tilewright {
namespace {

std::string text_of(size_t bytes) {
  std::string text(bytes, 0);
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 37 + i / 7);
  return text;
}

TEST(Checksum, IsTheSameOnEveryMachine) {
  const std::string text = text_of(1000);
  EXPECT_EQ(checksum("", 0), checksum(text.data(), 0));
  EXPECT_EQ(checksum(text.data(), 1000), 2228106938530476871u);
}

TEST(Checksum, DoesNotDependOnThePieces) {
  const std::string text = text_of(1000);
  const uint64_t whole = checksum(text.data(), text.size());
  for (const size_t piece : {1, 7, 63, 64, 65, 200, 999}) {
    Checksum sum;
    for (size_t at = 0; at < text.size(); at += piece)
      sum.add(text.data() + at, std::min(piece, text.size() - at));
    EXPECT_EQ(sum.value(), whole) << piece;
  }
}

TEST(Checksum, SeesEveryBitThatChanges) {
  std::string text = text_of(300);
  const uint64_t whole = checksum(text.data(), text.size());
  for (size_t i = 0; i < text.size() * 8; ++i) {
    text[i / 8] = static_cast<char>(text[i / 8] ^ 1 << i % 8);
    EXPECT_NE(checksum(text.data(), text.size()), whole) << i;
    text[i / 8] = static_cast<char>(text[i / 8] ^ 1 << i % 8);
  }
}

TEST(Checksum, SeesZerosAddedOrMoved) {
  const std::string zeros(400, 0);
  std::set<uint64_t> sums;
  for (size_t n = 0; n <= zeros.size(); ++n) sums.insert(checksum(zeros.data(), n));
  EXPECT_EQ(sums.size(), zeros.size() + 1);
  std::vector<uint64_t> words(64);
  sums.clear();
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = 1;
    sums.insert(checksum(words.data(), words.size() * 8));
    words[i] = 0;
  }
  EXPECT_EQ(sums.size(), words.size());
}

}  // namespace
}  // namespace tilewright
