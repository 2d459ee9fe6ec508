// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/layout.h"

namespace tilewright::ir {

/// Where a buffer lives. Named ones are declared by a target (`vdla.inp`).
enum class ScopeKind : uint8_t { Global, Constant, Cluster, Shared, Warp, Register, Tile, Named };

struct Scope {
  ScopeKind kind = ScopeKind::Global;
  std::string name;  // Named only
  static constexpr auto fields = members(&Scope::kind, &Scope::name);
  friend bool operator==(const Scope&, const Scope&) = default;
};
std::string print(const Scope& scope);

/// A typed array. Identity is the node. Without a layout it is row-major; rank 0 is a scalar
/// variable that can be assigned.
struct BufferNode {
  std::string name;
  Elem elem{};
  std::vector<Expr> shape;
  Scope scope;
  Layout layout;          // null: row-major
  int64_t alignment = 0;  // of the first byte, proved by the caller; 0: that of the element
  Span span;

  int rank() const { return static_cast<int>(shape.size()); }
  /// Dimensions of the places its elements lie in: those of the layout, or its own.
  size_t physical_rank() const { return layout ? layout->dims.size() : shape.size(); }
};

Buffer make_buffer(std::string name, Elem elem, std::vector<Expr> shape, Scope scope = {},
                   Layout layout = nullptr, int64_t alignment = 0, Span span = {});

/// Checks the indices, mask and rank of an access; gives its number of lanes.
int check_access(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& mask,
                 const Expr& rank);

/// min <= i < min + extent
struct Range {
  Expr min, extent;
  static constexpr auto fields = members(&Range::min, &Range::extent);
};

/// A box of a buffer's elements, by logical indices.
struct Region {
  Buffer buffer;
  std::vector<Range> ranges;
  Expr rank;  // may be null: this block
  static constexpr auto fields = members(&Region::buffer, &Region::ranges, &Region::rank);
};

}  // namespace tilewright::ir
