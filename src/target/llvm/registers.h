// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "llvm/IR/Instructions.h"

#include "ir/stmt.h"

namespace tilewright::target::llvm {

/// Elements of a buffer that are always used together, or overlap with others that are: one value.
struct Slice {
  int64_t offset = 0;
  int64_t elements = 0;
  bool uniform = true;  // every access takes all of it
  ::llvm::AllocaInst* slot = nullptr;
};

/// The slices of a buffer whose accesses inside `body` all have constant places, so that each can
/// be a value of its own and an accumulator becomes a phi instead of memory. Nothing when an index
/// is computed, or the buffer is named by an atomic or by the body of a parallel loop.
///   before   acc[0..16] = …, acc[16..32] = …, … acc[0..16] …
///   after    slices {0, 16}, {16, 16}
std::optional<std::vector<Slice>> register_slices(const ir::Buffer& buffer, const ir::Stmt& body,
                                                  bool inside_parallel);

/// First element and number of elements of an access with a constant place; contiguous lanes only.
struct ConstantPlace {
  int64_t offset = 0;
  int64_t lanes = 1;
};
std::optional<ConstantPlace> constant_place(const std::vector<ir::Expr>& indices);

/// A vector index whose lanes are base, base + stride, …; a scalar has stride 0.
struct LaneIndex {
  ir::Expr base;
  int64_t stride = 0;
};
std::optional<LaneIndex> lane_index(const ir::Expr& index);

}  // namespace tilewright::target::llvm
