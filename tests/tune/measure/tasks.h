// SPDX-License-Identifier: Apache-2.0
// Small tasks to measure.
#pragma once

#include <memory>

#include "lower/to_blocks.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/measure/task.h"

namespace tilewright::tune {

inline std::shared_ptr<const Task> task_of(const char* text,
                                           const std::vector<std::string>& constants = {}) {
  return std::make_shared<Task>(make_task("test", lower::to_blocks(te::parse_program(text)),
                                          constants, target::parse_target("host")));
}

inline std::shared_ptr<const Task> product_task() {
  return task_of(
      "te m(A: f32[48, 64], W: f32[64, 80]) {\n"
      "  C[y in 48, x in 80] = sum(k in 64) A[y, k] * W[k, x]\n"
      "  R[y in 48, x in 80] = max(C[y, x], 0.0)\n  return R\n}",
      {"W"});
}

}  // namespace tilewright::tune
