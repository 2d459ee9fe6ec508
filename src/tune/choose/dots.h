// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/target_spec.h"
#include "tune/choose/contraction.h"

namespace tilewright::tune {

/// An instruction that adds several neighbouring products in each lane:
///   c[n] += sum(k in group) a[k] * b[n, k]
struct Dot {
  std::string instruction;
  int64_t group = 1;
  size_t summed = 0;  // the iterator of the sum whose neighbours are a group
};

/// The target's instruction for a contraction with these lanes; nothing when there is none, or when
/// the factor that is the same for all lanes does not lie in groups.
std::optional<Dot> dot_for(const Stage& stage, const Contraction& c, size_t lane, int64_t lanes,
                           const Sizes& sizes, const ir::TargetSpec& spec);

}  // namespace tilewright::tune
