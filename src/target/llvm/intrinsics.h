// SPDX-License-Identifier: Apache-2.0
// Hardware instructions by the name that `emit` of a declared instruction gives. An operand is
// where it starts in its flattened buffer; its shape is that of the declaration, and the rows of a
// two-dimensional one are (extent - columns) / (rows - 1) elements apart, where `extent` is that of
// the region.
//
//   name                                     operands
//   vpdpbusd                                 acc i32[L], a u8[4 L] or u8[4] for all lanes, b i8[4
//   L]; L = 4, 8, 16 vdpbf16ps                                acc f32[L], a bf16[2 L] or bf16[2], b
//   bf16[2 L] sdot, udot, usdot                        acc i32[4], a, b of 16 bytes, or 4 bytes of
//   a for all lanes tilezero                                 tile tileloadd tile, rows of 64 bytes
//   tilestored                               rows of 64 bytes, tile
//   tdpbf16ps, tdpbssd, tdpbsud, tdpbusd, tdpbuud    tiles c, a, b
#pragma once

#include <string_view>
#include <vector>

#include "ir/target_spec.h"
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// acc' = f(acc, a, b) on vectors.
struct DotIntrinsic {
  std::string_view name;
  ir::Isa needs;
  ir::Isa or_needs;  // another ability that has it
  int group;         // elements of a and b per lane of the accumulator
  ll::Value* (*emit)(Lanes& b, ll::Value* acc, ll::Value* x, ll::Value* y);
};
const DotIntrinsic* find_dot_intrinsic(std::string_view name);

enum class TileKind : uint8_t { Zero, Load, Store, Product };
struct TileIntrinsic {
  std::string_view name;
  TileKind kind;
  ir::Isa needs;
  ll::Intrinsic::ID id;
};
const TileIntrinsic* find_tile_intrinsic(std::string_view name);

/// Every name.
std::vector<std::string_view> intrinsic_names();

}  // namespace tilewright::target::llvm
