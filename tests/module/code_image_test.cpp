// SPDX-License-Identifier: Apache-2.0
#include "module/code_image.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "module/sample.h"

namespace tilewright {
namespace {

TEST(CodeImage, FindsSegmentsEntriesAndImports) {
  const CodeImage& image = test_image();
  const auto has = [&](const char* name) {
    return std::ranges::any_of(image.entries, [&](const auto& e) { return e.first == name; });
  };
  EXPECT_TRUE(has("add"));
  EXPECT_TRUE(has("from_table"));
  EXPECT_FALSE(has("scale_task"));
  size_t executable = 0;
  for (const CodeSegment& s : image.segments) {
    executable += s.executable;
    EXPECT_EQ(s.offset % 4096, 0u);
    EXPECT_LE(s.offset + s.bytes, image.bytes.size());
  }
  EXPECT_EQ(executable, 1u);
  using To = CodeRelocation::To;
  const auto count = [&](To to) {
    return std::ranges::count_if(image.relocations, [&](const auto& r) { return r.to == to; });
  };
  EXPECT_GE(count(To::Image), 2);
  EXPECT_GE(count(To::Memcpy), 1);
  EXPECT_GE(count(To::Memset), 1);
}

TEST(CodeImage, RefusesWhatIsNoSharedObject) {
  CodeImage image;
  std::string problem;
  EXPECT_FALSE(image_from_elf({}, image, problem));
  EXPECT_NE(problem.find("not a 64-bit"), std::string::npos) << problem;
}

TEST(CodeImage, NamesAnImportThatKernelsMayNotHave) {
  std::vector<std::byte> elf = bytes_of_file(TW_TEST_KERNELS);
  const std::string from = "memset", to = "malloc";
  for (auto at = elf.begin();;) {
    at = std::search(at, elf.end(), from.begin(), from.end(),
                     [](std::byte a, char b) { return static_cast<char>(a) == b; });
    if (at == elf.end()) break;
    std::ranges::transform(to, at, [](char c) { return static_cast<std::byte>(c); });
  }
  CodeImage image;
  std::string problem;
  EXPECT_FALSE(image_from_elf(elf, image, problem));
  EXPECT_NE(problem.find("`malloc`"), std::string::npos) << problem;
}

TEST(CodeImage, SurvivesDamagedObjects) {
  const std::vector<std::byte> elf = bytes_of_file(TW_TEST_KERNELS);
  CodeImage image;
  std::string problem;
  for (size_t n = 0; n < elf.size(); n += n < 2000 ? 7 : 131)
    image_from_elf(std::span(elf).first(n), image, problem);
  std::vector<std::byte> damaged = elf;
  for (size_t i = 0; i < elf.size(); i += i < 4096 ? 1 : 37) {
    damaged[i] ^= std::byte{0xff};
    image_from_elf(damaged, image, problem);
    damaged[i] = elf[i];
  }
}

}  // namespace
}  // namespace tilewright
