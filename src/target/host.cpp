// SPDX-License-Identifier: Apache-2.0
#include "target/host.h"

#include <cstdlib>
#include <fstream>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "runtime/thread_pool.h"
#include "support/diagnostic.h"
#include "support/str.h"
#include "target/instructions.h"

namespace tilewright::target {
namespace {

using ir::Isa;
using ir::IsaSet;
using ir::TargetSpec;

constexpr IsaSet kV4 = Isa::Avx2 | Isa::Avx512;
constexpr IsaSet kZen4 = kV4 | Isa::Avx512Vnni | Isa::Avx512Bf16 | Isa::Avx512Popcnt;
constexpr IsaSet kSapphireRapids = kZen4 | Isa::AvxVnni | Isa::AmxBf16 | Isa::AmxInt8;
constexpr const char* kX86 = "x86_64-unknown-linux-gnu";

const std::vector<TargetSpec>& cross_targets() {
  static const std::vector<TargetSpec> all = {
      {.name = "x86-64-v3",
       .triple = kX86,
       .cpu = "x86-64-v3",
       .isa = Isa::Avx2,
       .vector_bits = 256,
       .vector_registers = 16},
      {.name = "x86-64-v4",
       .triple = kX86,
       .cpu = "x86-64-v4",
       .isa = kV4,
       .vector_bits = 512,
       .vector_registers = 32,
       .mask_registers = 7,
       .l2_bytes = 1 << 20},
      {.name = "znver4",
       .triple = kX86,
       .cpu = "znver4",
       .isa = kZen4,
       .vector_bits = 512,
       .vector_registers = 32,
       .mask_registers = 7,
       .l2_bytes = 1 << 20},
      {.name = "amx",
       .triple = kX86,
       .cpu = "sapphirerapids",
       .isa = kSapphireRapids,
       .vector_bits = 512,
       .vector_registers = 32,
       .mask_registers = 7,
       .l1_bytes = 48 << 10,
       .l2_bytes = 2 << 20},
      {.name = "aarch64",
       .triple = "aarch64-unknown-linux-gnu",
       .cpu = "neoverse-n1",
       .isa = Isa::Neon | Isa::NeonDot,
       .vector_bits = 128,
       .vector_registers = 32,
       .l1_bytes = 64 << 10,
       .l2_bytes = 1 << 20},
      {.name = "riscv64",
       .triple = "riscv64-unknown-linux-gnu",
       .cpu = "generic-rv64",
       .features = "+m,+a,+f,+d,+c,+v,+zvl128b",
       .isa = Isa::Rvv,
       .vector_bits = 128,
       .vector_registers = 32},
  };
  return all;
}

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

void detect_isa(TargetSpec& spec) {
  const Regs one = cpuid(1, 0), seven = cpuid(7, 0), seven1 = cpuid(7, 1);
  const uint64_t state = saved_state();
  const auto bit = [](unsigned word, int i) { return (word >> i & 1) != 0; };
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  const bool tiles = (state & 0x60000) == 0x60000 && bit(seven.d, 24) && may_use_tiles();
  const auto add = [&](bool have, Isa isa) {
    if (have) spec.isa = spec.isa | isa;
  };
  add(ymm && bit(one.c, 12) && bit(one.c, 29) && bit(seven.b, 5), Isa::Avx2);
  const bool avx512 = zmm && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 28) &&
                      bit(seven.b, 30) && bit(seven.b, 31);
  add(avx512, Isa::Avx512);
  add(avx512 && bit(seven.c, 11), Isa::Avx512Vnni);
  add(avx512 && bit(seven.c, 14), Isa::Avx512Popcnt);
  add(avx512 && bit(seven1.a, 5), Isa::Avx512Bf16);
  add(ymm && bit(seven1.a, 4), Isa::AvxVnni);
  add(tiles && bit(seven.d, 22), Isa::AmxBf16);
  add(tiles && bit(seven.d, 25), Isa::AmxInt8);
  spec.triple = kX86;
  spec.vector_bits = avx512 ? 512 : ymm ? 256 : 128;
  spec.vector_registers = avx512 ? 32 : 16;
  spec.mask_registers = avx512 ? 7 : 0;
}
#elif defined(__aarch64__)
void detect_isa(TargetSpec& spec) {
  spec.triple = "aarch64-unknown-linux-gnu";
  spec.isa = Isa::Neon;
  const unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
  if (one >> 20 & 1) spec.isa = spec.isa | Isa::NeonDot;
  if (two >> 13 & 1) spec.isa = spec.isa | Isa::NeonI8mm;
  if (two >> 14 & 1) spec.isa = spec.isa | Isa::NeonBf16;
  spec.vector_bits = 128;
  spec.vector_registers = 32;
}
#else
void detect_isa(TargetSpec& spec) { spec.triple = "riscv64-unknown-linux-gnu"; }
#endif

/// Bytes of the first CPU's data cache of a level, or `otherwise` when the system does not say.
int64_t cache_bytes(int level, int64_t otherwise) {
  for (int i = 0; i < 8; ++i) {
    const std::string folder = str("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    int found = 0;
    std::string type, size;
    std::ifstream(folder + "level") >> found;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "size") >> size;  // "2048K"
    if (found != level || type == "Instruction" || size.empty()) continue;
    const int64_t n = std::strtoll(size.c_str(), nullptr, 10);
    const int64_t unit = size.back() == 'K' ? 1 << 10 : size.back() == 'M' ? 1 << 20 : 1;
    if (n > 0) return n * unit;
  }
  return otherwise;
}

}  // namespace

const TargetSpec& host_target() {
  static const TargetSpec host = [] {
    TargetSpec spec{.name = "host", .cpu = "native"};
    detect_isa(spec);
    spec.l1_bytes = cache_bytes(1, spec.l1_bytes);
    spec.l2_bytes = cache_bytes(2, spec.l2_bytes);
    spec.l3_bytes = cache_bytes(3, spec.l3_bytes);
    spec.cores = runtime::available_cpus();
    spec.instructions = instructions_for(spec.isa);
    return spec;
  }();
  return host;
}

bool runs_on_host(const TargetSpec& spec) {
  const TargetSpec& host = host_target();
  const auto arch = [](const TargetSpec& s) { return s.triple.substr(0, s.triple.find('-')); };
  return arch(spec) == arch(host) && host.isa.covers(spec.isa);
}

std::vector<std::string> target_names() {
  std::vector<std::string> names{"host"};
  for (const TargetSpec& spec : cross_targets()) names.push_back(spec.name);
  return names;
}

TargetSpec parse_target(std::string_view name) {
  if (name == "host") return host_target();
  for (const TargetSpec& spec : cross_targets())
    if (spec.name == name) {
      TargetSpec found = spec;
      found.instructions = instructions_for(spec.isa);
      return found;
    }
  std::string known;
  for (const std::string& n : target_names()) known += (known.empty() ? "" : ", ") + n;
  throw Error({.code = "target.name.unknown",
               .message = str("there is no target `", name, "`"),
               .notes = {str("known targets: ", known)},
               .help = "use one of the known names; `host` is this machine"});
}

}  // namespace tilewright::target
