// SPDX-License-Identifier: Apache-2.0
// Hardware instructions by the name that `emit` of a declared instruction gives.
//
// Dot products (acc, a, b): acc has L lanes, b as many groups of 2 or 4 elements as acc has lanes,
// `a` too, or one group for all lanes. Each operand is contiguous, in the order of its physical
// places: lane by lane, the elements of a group side by side.
//
// Tiles: tilezero (tile), tileloadd (tile, memory), tilestored (memory, tile), tdp… (c, a, b). A
// tile is 16 rows of 64 bytes: physical dimension 0 of an operand is the row, the others together
// one row without gaps. Rows in memory may be apart.
#pragma once

#include <string_view>
#include <vector>

#include "ir/target_spec.h"
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// acc' = f(acc, a, b) on vectors.
struct DotIntrinsic {
  std::string_view name;
  ir::IsaSet needs;  // any one of these
  int group;         // elements of a and b per lane of the accumulator
  ir::Elem elems[3];
  ll::Value* (*emit)(Lanes& b, ll::Value* acc, ll::Value* x, ll::Value* y);
  int lanes = 0;  // of the accumulator; 0: 4, 8 or 16
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
