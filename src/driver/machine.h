// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "driver/kernel_cache.h"
#include "ir/target_spec.h"

namespace tilewright::driver {

/// The target of a name. Of this machine it has the rates, which are measured once and kept in the
/// cache, also where that keeps no kernels; of other machines, those of a common core.
ir::TargetSpec target_with_rates(std::string_view name, const KernelCache& cache = KernelCache());

}  // namespace tilewright::driver
