// SPDX-License-Identifier: Apache-2.0
#include "module/isa.h"

namespace tilewright {
namespace {

// Bit i is row i. Rows are only ever added at the end.
constexpr const char* kX86[] = {
    "sse3",
    "ssse3",
    "sse4.1",
    "sse4.2",
    "popcnt",
    "cx16",
    "movbe",
    "aes",
    "pclmul",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "bmi",
    "bmi2",
    "lzcnt",
    "adx",
    "sha",
    "gfni",
    "vaes",
    "vpclmulqdq",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
    "avx512ifma",
    "avx512vbmi",
    "avx512vbmi2",
    "avx512vnni",
    "avx512bitalg",
    "avx512vpopcntdq",
    "avx512bf16",
    "avx512fp16",
    "avx512vp2intersect",
    "avxvnni",
    "avxifma",
    "avxneconvert",
    "avxvnniint8",
    "avxvnniint16",
    "amx-tile",
    "amx-int8",
    "amx-bf16",
    "amx-fp16",
    "sse4a",
    "tbm",
    "xop",
    "fma4",
    "sahf",
    "prfchw",
    "fsgsbase",
    "avx10.1",
    "avx10.2",
    "egpr",
    "push2pop2",
    "ppx",
    "ndd",
    "ccmp",
    "nf",
    "cf",
    "zu",
};
constexpr const char* kAArch64[] = {
    "neon", "fp-armv8", "lse",  "rdm",    "fullfp16",  "dotprod", "fp16fml", "i8mm", "bf16",
    "sve",  "sve2",     "rcpc", "jsconv", "complxnum", "crc",     "aes",     "sha2", "sha3",
};
constexpr const char* kRiscV64[] = {"m",   "a",    "f",   "d",   "c",   "v",
                                    "zfh", "zvfh", "zba", "zbb", "zbs", "zbc"};

struct Names {
  const char* const* names;
  int count;
};

template <int n>
constexpr Names names_in(const char* const (&table)[n]) {
  static_assert(n <= 64);
  return {table, n};
}

constexpr Names names_of(Arch arch) {
  switch (arch) {
    case Arch::X86_64: return names_in(kX86);
    case Arch::AArch64: return names_in(kAArch64);
    case Arch::RiscV64: return names_in(kRiscV64);
    case Arch::None: break;
  }
  return {nullptr, 0};
}

/// (substr would need libstdc++ for its exception.)
std::string_view before(std::string_view text, char end) {
  const size_t at = text.find(end);
  return {text.data(), at == std::string_view::npos ? text.size() : at};
}

}  // namespace

Arch arch_of(std::string_view triple) {
  const std::string_view arch = before(triple, '-');
  for (const Arch a : {Arch::X86_64, Arch::AArch64, Arch::RiscV64})
    if (arch == name_of(a)) return a;
  return Arch::None;
}

const char* name_of(Arch arch) {
  switch (arch) {
    case Arch::X86_64: return "x86_64";
    case Arch::AArch64: return "aarch64";
    case Arch::RiscV64: return "riscv64";
    case Arch::None: break;
  }
  return "unknown";
}

void add_features(IsaNeeds& needs, std::string_view features) {
  const Names table = names_of(needs.arch);
  while (!features.empty()) {
    std::string_view item = before(features, ',');
    features.remove_prefix(item.size() < features.size() ? item.size() + 1 : item.size());
    if (item.empty() || item[0] != '+') continue;
    item.remove_prefix(1);
    for (int i = 0; i < table.count; ++i)
      if (item == table.names[i]) needs.bits |= uint64_t{1} << i;
  }
}

const char* feature_name(Arch arch, int bit) {
  const Names table = names_of(arch);
  return bit >= 0 && bit < table.count ? table.names[bit] : nullptr;
}

}  // namespace tilewright
