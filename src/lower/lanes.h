// SPDX-License-Identifier: Apache-2.0
// Arithmetic on lanes that keeps ramps and broadcasts in sight, so that an index over a vectorised
// variable stays `ramp(base, stride, n)`: a vector load, not a gather.
#pragma once

#include "ir/build.h"
#include "ir/rewrite.h"

namespace tilewright::lower {

/// a op b where either may be a scalar beside a vector:
///   ramp(b, s, n) + x  ->  ramp(b + x, s, n)
///   ramp(b, s, n) * x  ->  ramp(b * x, s * x, n)
ir::Expr lane_binary(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);

/// 0, 1, … lanes - 1
ir::Expr lane_numbers(int lanes);

/// What becomes a vector when one loop does.
struct Widening {
  int lanes = 1;
  ir::VarMap vectors;      // variables, and their values of `lanes` lanes
  ir::BufferMap per_lane;  // buffers, and their copies with one more dimension for the lane
};

/// `e` for all lanes at once. What is the same in every lane stays scalar, and is broadcast where
/// it meets a vector. Loads that become vectors read only the lanes of `mask` (null: all).
///   widen(a[i] * b[k], {4, {i: ramp(0, 1, 4)}})  ->  a[ramp(0, 1, 4)] * broadcast(b[k], 4)
/// A guard on a lane becomes masked loads under a select.
ir::Expr widen(const ir::Expr& e, const Widening& w, const ir::Expr& mask = {});
std::vector<ir::Expr> widen_indices(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices,
                                    const Widening& w, const ir::Expr& mask = {});

/// Does `e` differ between lanes?
bool varies(const ir::Expr& e, const Widening& w);
/// Does `e` read memory at a place that is the same in every lane?
bool has_uniform_load(const ir::Expr& e, const Widening& w);

}  // namespace tilewright::lower
