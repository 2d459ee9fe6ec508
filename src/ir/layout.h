// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/expr.h"

namespace tilewright::ir {

/// What one physical dimension of a buffer counts.
enum class PhysKind : uint8_t { Address, Lane, Register };
std::string_view name(PhysKind kind);

/// What stands in the physical places that no logical index reaches.
enum class Padding : uint8_t { Undefined, Zero };

struct PhysDim {
  PhysKind kind = PhysKind::Address;
  Expr index;   // of the layout's variables
  Expr extent;  // physical places in this dimension
  static constexpr auto fields = members(&PhysDim::kind, &PhysDim::index, &PhysDim::extent);
};

/// A function from logical to physical indices, injective on (indices, replica):
///   layout (i, j; r in 0..R) -> [address: e…, lane: e…, register: e…] extents […]
/// `e` is built from +, ·constant, floordiv, mod and xor over non-negative values.
struct LayoutNode {
  std::vector<Var> indices;
  Var replica;           // null when R is 1
  int64_t replicas = 1;  // R; a store writes all copies, a load reads any
  std::vector<PhysDim> dims;
  Padding padding = Padding::Undefined;
  static constexpr auto fields =
      members(&LayoutNode::indices, &LayoutNode::replica, &LayoutNode::replicas, &LayoutNode::dims,
              &LayoutNode::padding);
};
using Layout = Handle<LayoutNode>;

}  // namespace tilewright::ir
