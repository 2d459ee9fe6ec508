// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/intrinsics.h"

#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"

#include "target/llvm/compile.h"

namespace tilewright::target::llvm {
namespace {

using ir::Isa;

/// The form of an x86 intrinsic for vectors of 128, 256 or 512 bits.
ll::Intrinsic::ID by_width(ll::Value* acc, ll::Intrinsic::ID w128, ll::Intrinsic::ID w256,
                           ll::Intrinsic::ID w512) {
  const auto bits = acc->getType()->getPrimitiveSizeInBits().getFixedValue();
  return bits == 128 ? w128 : bits == 256 ? w256 : w512;
}

ll::Value* vpdpbusd(Lanes& b, ll::Value* acc, ll::Value* x, ll::Value* y) {
  return b.CreateIntrinsic(
      by_width(acc, ll::Intrinsic::x86_avx512_vpdpbusd_128, ll::Intrinsic::x86_avx512_vpdpbusd_256,
               ll::Intrinsic::x86_avx512_vpdpbusd_512),
      {}, {acc, x, y});
}

ll::Value* vdpbf16ps(Lanes& b, ll::Value* acc, ll::Value* x, ll::Value* y) {
  const auto bf16 = [&](ll::Value* v) { return b.CreateBitCast(v, b.like(v, b.getBFloatTy())); };
  return b.CreateIntrinsic(by_width(acc, ll::Intrinsic::x86_avx512bf16_dpbf16ps_128,
                                    ll::Intrinsic::x86_avx512bf16_dpbf16ps_256,
                                    ll::Intrinsic::x86_avx512bf16_dpbf16ps_512),
                           {}, {acc, bf16(x), bf16(y)});
}

template <ll::Intrinsic::ID id>
ll::Value* neon_dot(Lanes& b, ll::Value* acc, ll::Value* x, ll::Value* y) {
  return b.CreateIntrinsic(id, {acc->getType(), x->getType()}, {acc, x, y});
}

/// On AVX2 alone: even and odd bytes as 16-bit numbers, whose products in pairs are exact in 32
/// bits. vpmaddubsw would do it in one step, but saturates.
ll::Value* dot_u8i8_avx2(Lanes& b, ll::Value* acc, ll::Value* x, ll::Value* y) {
  ll::Type* words = b.with_lanes(b.getInt16Ty(), 16);
  const auto shift = [&](unsigned n) { return b.splat(b.getInt16(static_cast<uint16_t>(n)), 16); };
  ll::Value* u = b.CreateBitCast(x, words);
  ll::Value* s = b.CreateBitCast(y, words);
  const auto pairs = [&](ll::Value* p, ll::Value* q) {
    return b.CreateIntrinsic(ll::Intrinsic::x86_avx2_pmadd_wd, {}, {p, q});
  };
  ll::Value* even =
      pairs(b.CreateAnd(u, shift(255)), b.CreateAShr(b.CreateShl(s, shift(8)), shift(8)));
  ll::Value* odd = pairs(b.CreateLShr(u, shift(8)), b.CreateAShr(s, shift(8)));
  return b.CreateAdd(acc, b.CreateAdd(even, odd));
}

/// Bits that both have, counted in each 32-bit lane.
ll::Value* and_popcount(Lanes& b, ll::Value* acc, ll::Value* x, ll::Value* y) {
  ll::Value* both = b.CreateBitCast(b.CreateAnd(x, y), acc->getType());
  return b.CreateAdd(acc, b.CreateUnaryIntrinsic(ll::Intrinsic::ctpop, both));
}

using enum ir::Elem;
constexpr ir::IsaSet kPopcount = Isa::Avx2 | Isa::Avx512 | Isa::Neon;

constexpr DotIntrinsic kDots[] = {
    {"vpdpbusd", Isa::Avx512Vnni | Isa::AvxVnni, 4, {I32, U8, I8}, vpdpbusd},
    {"dot_u8i8_avx2", Isa::Avx2, 4, {I32, U8, I8}, dot_u8i8_avx2, 8},
    {"vdpbf16ps", Isa::Avx512Bf16, 2, {F32, BF16, BF16}, vdpbf16ps},
    {"and_popcount", kPopcount, 4, {I32, U8, U8}, and_popcount},
    {"sdot", Isa::NeonDot, 4, {I32, I8, I8}, neon_dot<ll::Intrinsic::aarch64_neon_sdot>, 4},
    {"udot", Isa::NeonDot, 4, {I32, U8, U8}, neon_dot<ll::Intrinsic::aarch64_neon_udot>, 4},
    {"usdot", Isa::NeonI8mm, 4, {I32, U8, I8}, neon_dot<ll::Intrinsic::aarch64_neon_usdot>, 4},
};

constexpr TileIntrinsic kTiles[] = {
    {"tilezero", TileKind::Zero, Isa::AmxInt8, ll::Intrinsic::x86_tilezero},
    {"tileloadd", TileKind::Load, Isa::AmxInt8, ll::Intrinsic::x86_tileloadd64},
    {"tilestored", TileKind::Store, Isa::AmxInt8, ll::Intrinsic::x86_tilestored64},
    {"tdpbf16ps", TileKind::Product, Isa::AmxBf16, ll::Intrinsic::x86_tdpbf16ps},
    {"tdpbssd", TileKind::Product, Isa::AmxInt8, ll::Intrinsic::x86_tdpbssd},
    {"tdpbsud", TileKind::Product, Isa::AmxInt8, ll::Intrinsic::x86_tdpbsud},
    {"tdpbusd", TileKind::Product, Isa::AmxInt8, ll::Intrinsic::x86_tdpbusd},
    {"tdpbuud", TileKind::Product, Isa::AmxInt8, ll::Intrinsic::x86_tdpbuud},
};

}  // namespace

const DotIntrinsic* find_dot_intrinsic(std::string_view name) {
  for (const DotIntrinsic& i : kDots)
    if (i.name == name) return &i;
  return nullptr;
}

const TileIntrinsic* find_tile_intrinsic(std::string_view name) {
  for (const TileIntrinsic& i : kTiles)
    if (i.name == name) return &i;
  return nullptr;
}

std::vector<std::string_view> intrinsic_names() {
  std::vector<std::string_view> names;
  for (const DotIntrinsic& i : kDots) names.push_back(i.name);
  for (const TileIntrinsic& i : kTiles) names.push_back(i.name);
  return names;
}

std::vector<std::string> instruction_names(const ir::TargetSpec& spec) {
  std::vector<std::string> names;
  for (const DotIntrinsic& i : kDots)
    if (spec.isa.meets(i.needs)) names.emplace_back(i.name);
  for (const TileIntrinsic& i : kTiles)
    if (spec.isa.has(i.needs)) names.emplace_back(i.name);
  return names;
}

}  // namespace tilewright::target::llvm
