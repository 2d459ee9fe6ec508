// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "arith/context.h"
#include "ir/func.h"
#include "ir/rewrite.h"

namespace tilewright::tune {

/// Numbers for extents, with a typical value in the place of each symbol: for estimates only.
class Sizes {
 public:
  explicit Sizes(const ir::LoopFunc& func);

  /// At least 0; extents that depend on anything but symbols count as `kUnknown`.
  int64_t of(const ir::Expr& extent) const { return of(extent, typical_[0]); }
  /// Several sizes that it may have, the typical one first, so that a choice does not fit one of
  /// them alone; just that one for a constant.
  std::vector<int64_t> samples(const ir::Expr& extent) const;
  /// No size is greater.
  int64_t most(const ir::Expr& extent) const { return context_.bounds(extent).hi; }

  static constexpr int64_t kUnknown = 64;

 private:
  static int64_t of(const ir::Expr& extent, const ir::VarMap& symbols);
  std::array<ir::VarMap, 3> typical_;
  arith::Context context_;
};

/// Element operations that evaluating an expression once takes, loads not counted. An addition is
/// 1; conditions of guards count, index arithmetic does not.
int64_t operations(const ir::Expr& value);

}  // namespace tilewright::tune
