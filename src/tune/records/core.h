// SPDX-License-Identifier: Apache-2.0
// Which kernels have the same heart: the reduction that most of the work goes to, whatever is fused
// to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tune/records/kind.h"

namespace tilewright::tune {

/// The reduction of a kernel with the most terms in all, with names that follow from order alone:
///   b5[vi1, vi2] sum= b1[vi1, vk] * b2[vk, vi2]
///   ->  s # s # r # f32 f32 f32 x0[v0, v1] sum= x1[v0, v2] * c2[v2, v1];  128 768 3072
/// s: spatial, r: reduced, c: a constant.
struct Core {
  Kind kind;
  std::string stage;                        // as knobs name it
  std::vector<std::string> iters, buffers;  // in the order of v0, v1, …, and of x0, x1, …
};
/// Nothing when the text is no kernel, or reduces nothing.
std::optional<Core> core_of(const std::string& workload);
/// What kernels with the same core are found by; empty when there is none.
std::string core_hash(const std::string& workload);

/// The values of a point's knobs that are about the core, as knobs of the other's kernel; those of
/// other stages are left out.
///   s2.tile=8x3 s0.vectors=2  ->  s0.tile=8x3
std::string for_core(const std::string& point, const Core& from, const Core& to);

}  // namespace tilewright::tune
