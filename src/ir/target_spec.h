// SPDX-License-Identifier: Apache-2.0
// What a machine can do, as plain data. Schedules, lowering and the cost model read limits from
// here, never from target/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/stmt.h"

namespace tilewright::ir {

/// Abilities that change which code may be generated; a set is the or of them.
enum class Isa : uint32_t {
  Avx2 = 1u << 0,    // with FMA and F16C
  Avx512 = 1u << 1,  // F, BW, CD, DQ and VL
  Avx512Vnni = 1u << 2,
  Avx512Bf16 = 1u << 3,
  Avx512Popcnt = 1u << 4,
  AvxVnni = 1u << 5,
  AmxBf16 = 1u << 6,
  AmxInt8 = 1u << 7,
  Neon = 1u << 8,
  NeonDot = 1u << 9,
  NeonI8mm = 1u << 10,
  NeonBf16 = 1u << 11,
  Rvv = 1u << 12,
};

struct IsaSet {
  uint32_t bits = 0;

  constexpr IsaSet() = default;
  constexpr IsaSet(Isa isa) : bits(static_cast<uint32_t>(isa)) {}
  constexpr bool has(Isa isa) const { return (bits & static_cast<uint32_t>(isa)) != 0; }
  constexpr bool covers(IsaSet other) const { return (other.bits & ~bits) == 0; }
  constexpr bool meets(IsaSet other) const { return (other.bits & bits) != 0; }
  friend constexpr IsaSet operator|(IsaSet a, IsaSet b) {
    a.bits |= b.bits;
    return a;
  }
  friend constexpr bool operator==(IsaSet, IsaSet) = default;
};
constexpr IsaSet operator|(Isa a, Isa b) { return IsaSet(a) | IsaSet(b); }

/// What models of costs know of a core, in cycles of one that does two vector FMAs in each; these
/// are those of a common wide core. Their ratios matter, not their size.
struct Rates {
  double load = 0.5;              // of a vector from the first cache
  double half = 1;                // an operation on half a vector, against one on a whole one
  double latency = 4;             // of an FMA
  double bytes[3] = {32, 16, 8};  // that a cycle brings from the second cache, the third, memory
  double hertz = 3e9;
};

struct TargetSpec {
  std::string name;      // as the user wrote it: "host", "x86-64-v3"
  std::string triple;    // "x86_64-unknown-linux-gnu"
  std::string cpu;       // the code generator's name of it; "native": this machine
  std::string features;  // for the code generator, beside those of the cpu: "+v,+zvl128b"
  IsaSet isa;

  int vector_bits = 128;
  int vector_registers = 16;
  int mask_registers = 0;
  int64_t l1_bytes = 32 << 10;  // data, of one core
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 0;  // shared
  int cores = 1;
  Rates rates;

  std::vector<Instruction> instructions;  // what `tensorize` may use, with its meaning

  int lanes(int element_bits) const { return vector_bits / element_bits; }
};

}  // namespace tilewright::ir
