// SPDX-License-Identifier: Apache-2.0
#include "module/isa.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace tilewright {
namespace {

TEST(Isa, ReadsTheArchitectureOfATriple) {
  EXPECT_EQ(arch_of("x86_64-unknown-linux-gnu"), Arch::X86_64);
  EXPECT_EQ(arch_of("aarch64-unknown-linux-gnu"), Arch::AArch64);
  EXPECT_EQ(arch_of("riscv64-unknown-linux-gnu"), Arch::RiscV64);
  EXPECT_EQ(arch_of("armv7m-none-eabi"), Arch::None);
}

TEST(Isa, TakesTheFeaturesThatAreOn) {
  IsaNeeds needs{.arch = Arch::X86_64};
  add_features(needs, "+avx2,-avx512f,+fma,+rdseed,,+avx51");
  std::set<std::string> names;
  for (int i = 0; i < 64; ++i)
    if (needs.bits >> i & 1) names.insert(feature_name(Arch::X86_64, i));
  EXPECT_EQ(names, (std::set<std::string>{"avx2", "fma"}));
}

TEST(Isa, KeepsTheNumbersOfBits) {
  // They stand in files.
  EXPECT_STREQ(feature_name(Arch::X86_64, 0), "sse3");
  EXPECT_STREQ(feature_name(Arch::X86_64, 21), "avx512f");
  EXPECT_STREQ(feature_name(Arch::X86_64, 42), "amx-bf16");
  EXPECT_STREQ(feature_name(Arch::AArch64, 7), "i8mm");
  EXPECT_STREQ(feature_name(Arch::RiscV64, 5), "v");
  EXPECT_EQ(feature_name(Arch::X86_64, 63), nullptr);
}

}  // namespace
}  // namespace tilewright
