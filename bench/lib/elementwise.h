// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace bench {

/// y[n] = e^x[n], several vectors beside each other.
tilewright::schedule::Schedule schedule_exp(int64_t n, const tilewright::ir::TargetSpec& spec);

/// The erf form: y = x/2 (1 + erf(x/√2)), scheduled alike.
tilewright::schedule::Schedule schedule_gelu(int64_t n, const tilewright::ir::TargetSpec& spec);

}  // namespace bench
