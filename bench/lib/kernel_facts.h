// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/model.h"
#include "driver/plan_steps.h"
#include "replay.h"

namespace bench {

/// What is known of a kernel's call before it runs.
struct KernelFacts {
  uint32_t instruction = 0;  // of the plan
  std::string name, origin;  // of the kernel; of the model's node that it ends with
  std::string types;         // of what it reads and writes: `f32[1, 64, 56, 56] … -> …`
  double flops = 0;
  /// Those of products of matrices and convolutions: sums of products in which each operand serves
  /// several results.
  double product_flops = 0;
  std::vector<Touch> touches;
};

/// By call of the plan, in its order; calls whose sizes only the run tells are left out.
std::vector<KernelFacts> facts_of(const tilewright::driver::CompiledModel& model,
                                  const tilewright::driver::PlanSteps& plan);

}  // namespace bench
