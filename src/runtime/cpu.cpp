// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu.h"

#include <cstdio>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) || defined(__riscv)
#include <sys/auxv.h>
#endif

namespace tilewright::runtime {
namespace {

/// Sets the bit of a feature by its name.
struct Found {
  IsaNeeds isa;

  void add(bool have, const char* name) {
    if (!have) return;
    char list[64];
    std::snprintf(list, sizeof list, "+%s", name);
    add_features(isa, list);
  }
};

#if defined(__x86_64__)
struct Regs {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
Regs cpuid(unsigned leaf, unsigned sub) {
  Regs r;
  if (!__get_cpuid_count(leaf, sub, &r.a, &r.b, &r.c, &r.d)) return {};
  return r;
}

/// The parts of the register state that the system saves for us.
uint64_t saved_state() {
  if ((cpuid(1, 0).c >> 27 & 1) == 0) return 0;  // no xgetbv
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

/// Linux gives the state of tile registers only to processes that ask.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// Where a feature's bit stands and which register state it needs.
struct Bit {
  const char* name;
  char leaf;  // '1': 1, '7': 7.0, 's': 7.1, 'x': 0x80000001, 'v': the version of AVX10
  char reg;
  int bit;
  char state;  // ' ': none, 'y': ymm, 'z': zmm, 't': tiles, 'a': APX
};
constexpr Bit kBits[] = {
    {"sse3", '1', 'c', 0, ' '},
    {"pclmul", '1', 'c', 1, ' '},
    {"ssse3", '1', 'c', 9, ' '},
    {"fma", '1', 'c', 12, 'y'},
    {"cx16", '1', 'c', 13, ' '},
    {"sse4.1", '1', 'c', 19, ' '},
    {"sse4.2", '1', 'c', 20, ' '},
    {"movbe", '1', 'c', 22, ' '},
    {"popcnt", '1', 'c', 23, ' '},
    {"aes", '1', 'c', 25, ' '},
    {"avx", '1', 'c', 28, 'y'},
    {"f16c", '1', 'c', 29, 'y'},
    {"fsgsbase", '7', 'b', 0, ' '},
    {"bmi", '7', 'b', 3, ' '},
    {"avx2", '7', 'b', 5, 'y'},
    {"bmi2", '7', 'b', 8, ' '},
    {"avx512f", '7', 'b', 16, 'z'},
    {"avx512dq", '7', 'b', 17, 'z'},
    {"adx", '7', 'b', 19, ' '},
    {"avx512ifma", '7', 'b', 21, 'z'},
    {"avx512cd", '7', 'b', 28, 'z'},
    {"sha", '7', 'b', 29, ' '},
    {"avx512bw", '7', 'b', 30, 'z'},
    {"avx512vl", '7', 'b', 31, 'z'},
    {"avx512vbmi", '7', 'c', 1, 'z'},
    {"avx512vbmi2", '7', 'c', 6, 'z'},
    {"gfni", '7', 'c', 8, ' '},
    {"vaes", '7', 'c', 9, 'y'},
    {"vpclmulqdq", '7', 'c', 10, 'y'},
    {"avx512vnni", '7', 'c', 11, 'z'},
    {"avx512bitalg", '7', 'c', 12, 'z'},
    {"avx512vpopcntdq", '7', 'c', 14, 'z'},
    {"avx512vp2intersect", '7', 'd', 8, 'z'},
    {"amx-bf16", '7', 'd', 22, 't'},
    {"avx512fp16", '7', 'd', 23, 'z'},
    {"amx-tile", '7', 'd', 24, 't'},
    {"amx-int8", '7', 'd', 25, 't'},
    {"avxvnni", 's', 'a', 4, 'y'},
    {"avx512bf16", 's', 'a', 5, 'z'},
    {"amx-fp16", 's', 'a', 21, 't'},
    {"avxifma", 's', 'a', 23, 'y'},
    {"avxvnniint8", 's', 'd', 4, 'y'},
    {"avxneconvert", 's', 'd', 5, 'y'},
    {"avxvnniint16", 's', 'd', 10, 'y'},
    {"sahf", 'x', 'c', 0, ' '},
    {"lzcnt", 'x', 'c', 5, ' '},
    {"sse4a", 'x', 'c', 6, ' '},
    {"prfchw", 'x', 'c', 8, ' '},
    {"xop", 'x', 'c', 11, 'y'},
    {"fma4", 'x', 'c', 16, 'y'},
    {"tbm", 'x', 'c', 21, ' '},
    {"avx10.1", 'v', 'a', 1, 'z'},
    {"avx10.2", 'v', 'a', 2, 'z'},
    {"egpr", 's', 'd', 21, 'a'},
    {"push2pop2", 's', 'd', 21, 'a'},
    {"ppx", 's', 'd', 21, 'a'},
    {"ndd", 's', 'd', 21, 'a'},
    {"ccmp", 's', 'd', 21, 'a'},
    {"nf", 's', 'd', 21, 'a'},
    {"cf", 's', 'd', 21, 'a'},
    {"zu", 's', 'd', 21, 'a'},
};

void detect(Found& found) {
  const Regs one = cpuid(1, 0), seven = cpuid(7, 0), sub = cpuid(7, 1), ext = cpuid(0x80000001, 0);
  const uint64_t state = saved_state();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  const bool tiles = (state & 0x60000) == 0x60000 && (seven.d >> 24 & 1) != 0 && may_use_tiles();
  const bool apx = (state >> 19 & 1) != 0;
  // Bit v is set when version v is there.
  const unsigned avx10 = (sub.d >> 19 & 1) != 0 ? cpuid(0x24, 0).b & 0xff : 0;
  const Regs versions{.a = avx10 >= 31 ? ~0u : (2u << avx10) - 1};
  for (const Bit& b : kBits) {
    const Regs& r = b.leaf == '1'   ? one
                    : b.leaf == '7' ? seven
                    : b.leaf == 's' ? sub
                    : b.leaf == 'v' ? versions
                                    : ext;
    const unsigned word = b.reg == 'a' ? r.a : b.reg == 'b' ? r.b : b.reg == 'c' ? r.c : r.d;
    const bool saved = b.state == 'y'   ? ymm
                       : b.state == 'z' ? zmm
                       : b.state == 't' ? tiles
                       : b.state == 'a' ? apx
                                        : true;
    found.add(saved && (word >> b.bit & 1) != 0, b.name);
  }
}
constexpr Arch kArch = Arch::X86_64;
#elif defined(__aarch64__)
void detect(Found& found) {
  const unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
  const struct {
    const char* name;
    unsigned long word;
    int bit;
  } bits[] = {{"fp-armv8", one, 0},   {"neon", one, 1},  {"aes", one, 3},
              {"sha2", one, 6},       {"crc", one, 7},   {"lse", one, 8},
              {"fullfp16", one, 10},  {"rdm", one, 12},  {"jsconv", one, 13},
              {"complxnum", one, 14}, {"rcpc", one, 15}, {"sha3", one, 17},
              {"dotprod", one, 20},   {"sve", one, 22},  {"fp16fml", one, 23},
              {"sve2", two, 1},       {"i8mm", two, 13}, {"bf16", two, 14}};
  for (const auto& b : bits) found.add((b.word >> b.bit & 1) != 0, b.name);
}
constexpr Arch kArch = Arch::AArch64;
#elif defined(__riscv) && __riscv_xlen == 64
void detect(Found& found) {
  const unsigned long word = getauxval(AT_HWCAP);  // bit of a letter of the alphabet
  for (const char* name : {"m", "a", "f", "d", "c", "v"})
    found.add((word >> (name[0] - 'a') & 1) != 0, name);
  if ((word >> ('v' - 'a') & 1) != 0) {
    unsigned long bytes = 0;
    asm volatile("csrr %0, 0xc22" : "=r"(bytes));  // vlenb
    found.isa.vector_bytes = static_cast<uint32_t>(bytes);
  }
}
constexpr Arch kArch = Arch::RiscV64;
#else
void detect(Found&) {}
constexpr Arch kArch = Arch::None;
#endif

class Text {
 public:
  Text(char* text, size_t bytes) : text_(text), left_(bytes) { text_[0] = 0; }
  void add(const char* between, const char* word) {
    const int n = std::snprintf(text_, left_, "%s%s", first_ ? "" : between, word);
    first_ = false;
    const size_t used = n < 0                            ? 0
                        : static_cast<size_t>(n) < left_ ? static_cast<size_t>(n)
                                                         : left_ - 1;
    text_ += used;
    left_ -= used;
  }

 private:
  char* text_;
  size_t left_;
  bool first_ = true;
};

}  // namespace

IsaNeeds this_machine() {
  Found found{{.arch = kArch}};
  detect(found);
  return found.isa;
}

bool covers(const IsaNeeds& machine, const IsaNeeds& needs) {
  return machine.arch == needs.arch && (needs.bits & ~machine.bits) == 0 &&
         needs.vector_bytes <= machine.vector_bytes;
}

void describe_missing(const IsaNeeds& machine, const IsaNeeds& needs, char* text, size_t bytes) {
  Text out(text, bytes);
  if (machine.arch != needs.arch) return out.add("", name_of(needs.arch));
  for (int i = 0; i < 64; ++i)
    if ((needs.bits & ~machine.bits) >> i & 1) {
      const char* name = feature_name(needs.arch, i);
      out.add(", ", name != nullptr ? name : "a feature that this runtime does not know");
    }
  if (needs.vector_bytes > machine.vector_bytes) out.add(", ", "longer vectors");
}

void describe(const IsaNeeds& isa, char* text, size_t bytes) {
  Text out(text, bytes);
  out.add("", name_of(isa.arch));
  for (int i = 0; i < 64; ++i)
    if (isa.bits >> i & 1)
      if (const char* name = feature_name(isa.arch, i)) out.add(" ", name);
}

}  // namespace tilewright::runtime
