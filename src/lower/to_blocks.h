// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"
#include "te/program.h"

namespace tilewright::lower {

/// A tensor program as blocks in serial loops, in the order of its stages: one block per stage, one
/// loop per axis, spatial ones outside. Nothing is fused or reordered; that is what schedules are
/// for.
///   C[i, j] = sum(k) A[i, k] * B[k, j]
///   ->  for i { for j { for k { block C(vi: spatial, vj: spatial, vk: reduce) {
///         init { C[vi, vj] = 0 }  C[vi, vj] sum= A[vi, vk] * B[vk, vj] }}}}
/// Inputs and outputs are parameters, other tensors global buffers around everything.
///
/// The stages of a scan's step share a loop over time, which their blocks see as an ordered
/// iterator, and hold one entry per time: every element is written once. The state at t - 1 is read
/// as guard(t == 0, init[…], state[t - 1, …]).
ir::LoopFunc to_blocks(const te::Program& program);

/// What its blocks declare. One element; the whole of a dimension whose index is loaded.
ir::Region region_of(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices);
/// The regions of all loads of the values, each once.
std::vector<ir::Region> regions_read(const std::vector<ir::Expr>& values);

}  // namespace tilewright::lower
