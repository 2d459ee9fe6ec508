// SPDX-License-Identifier: Apache-2.0
// A model as plain C11: kernels, weights and one function that calls them in order. No runtime, no
// allocation, no operating system.
#pragma once

#include <cstdint>
#include <string>

#include "driver/model.h"

namespace tilewright::driver {

struct CModel {
  std::string source, header;
  size_t kernels = 0;
  int64_t arena_bytes = 0;   // what the caller lends to a run
  int64_t weight_bytes = 0;  // constant arrays
  int64_t input_bytes = 0, output_bytes = 0;
};

/// `name` is that of the file, and begins every name that others see: name.h, name_run. The target
/// of the options is not asked for. Throws Error for a model that is no fixed sequence of kernels.
CModel emit_c(const graph::Graph& model, ModelOptions options, const std::string& name);

/// What a compiler makes of it.
struct CSizes {
  std::string compiler;      // with its flags
  int64_t code_bytes = 0;    // in flash, without the weights
  int64_t static_bytes = 0;  // in RAM beside the arena
  int64_t stack_bytes = -1;  // of the deepest call; −1: the compiler does not tell
};
/// `compiler` is a command, with flags after spaces; nothing when there is no such program.
std::optional<CSizes> measure_c(const CModel& model, const std::string& name,
                                const std::string& compiler);

/// RAM and flash, a few lines for people; `sizes` as measure_c gave them.
std::string describe(const CModel& model, const std::optional<CSizes>& sizes);

}  // namespace tilewright::driver
