// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "driver/build_kernels.h"
#include "target/llvm/compile.h"

namespace tilewright::driver {

/// A kernel that is ready to be called, and what makes ready the constants that it takes.
struct ReadyKernel {
  BuiltKernel kernel;
  std::optional<target::llvm::JitKernel> prepare;
  std::vector<size_t> prepared;  // inputs that `prepare` takes
  std::vector<size_t> taken;     // inputs that the kernel takes, then:
  std::vector<std::pair<ir::Elem, std::vector<int64_t>>> packed;  // what `prepare` makes
};

}  // namespace tilewright::driver
