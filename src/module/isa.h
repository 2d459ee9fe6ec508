// SPDX-License-Identifier: Apache-2.0
// What code needs of a machine, by the code generator's own names of features: finer than ir::Isa,
// because code made for one machine may use every instruction that this machine has.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright {

enum class Arch : uint32_t { None = 0, X86_64 = 1, AArch64 = 2, RiscV64 = 3 };

/// Abilities of a machine beyond the base of its architecture. The numbers of bits never change.
struct IsaNeeds {
  Arch arch = Arch::None;
  uint32_t vector_bytes = 0;  // length of the vectors where the code depends on it (RISC-V), else 0
  uint64_t bits = 0;

  friend bool operator==(const IsaNeeds&, const IsaNeeds&) = default;
};

/// `x86_64` of "x86_64-unknown-linux-gnu"; None for one that has no runtime.
Arch arch_of(std::string_view triple);
const char* name_of(Arch arch);

/// Adds the features of a list as the code generator writes it, "+avx2,-sse4a,+fma": those with
/// `+`. Names that say nothing about generated code are passed over.
void add_features(IsaNeeds& needs, std::string_view features);

/// The name of bit i of an architecture, or nullptr.
const char* feature_name(Arch arch, int bit);

}  // namespace tilewright
