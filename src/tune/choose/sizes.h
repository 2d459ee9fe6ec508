// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/func.h"
#include "ir/rewrite.h"

namespace tilewright::tune {

/// Numbers for extents, with a typical value in the place of each symbol: for estimates only.
class Sizes {
 public:
  explicit Sizes(const ir::LoopFunc& func);

  /// At least 0; extents that depend on anything but symbols count as `kUnknown`.
  int64_t of(const ir::Expr& extent) const;

  static constexpr int64_t kUnknown = 64;

 private:
  ir::VarMap typical_;
};

/// Element operations that evaluating an expression once takes, loads not counted. An addition is
/// 1; conditions of guards count, index arithmetic does not.
int64_t operations(const ir::Expr& value);

}  // namespace tilewright::tune
