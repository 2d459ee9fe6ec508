// SPDX-License-Identifier: Apache-2.0
// From a schedule to code for a CPU: what compiling a model and trying a candidate share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"
#include "target/backend.h"

namespace tilewright::tune {

/// The function at stage `final`.
ir::LoopFunc lower_for_cpu(const ir::LoopFunc& func, const ir::TargetSpec& spec);

/// A scheduled kernel, lowered: `run` takes some of its inputs, then what `prepare` makes of
/// constants, then its results.
struct LoweredKernel {
  ir::LoopFunc run;
  std::vector<size_t> taken;            // inputs of `run`, as places among the parameters
  std::optional<ir::LoopFunc> prepare;  // takes `prepared`, then fills `packed`
  std::vector<size_t> prepared;
  std::vector<std::pair<ir::Elem, std::vector<int64_t>>> packed;
};
/// `scheduled` as choose() or a trace makes it; the first `inputs` parameters are read only.
LoweredKernel lower_kernel(const ir::LoopFunc& scheduled, const std::vector<std::string>& constants,
                           size_t inputs, const ir::TargetSpec& spec);

/// How many of the first parameters are read only.
size_t inputs_of(const ir::LoopFunc& func);

}  // namespace tilewright::tune
