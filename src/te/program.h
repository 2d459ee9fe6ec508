// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"
#include "te/tensor.h"

namespace tilewright::te {

/// What to compute: outputs as functions of inputs, for all sizes that the symbols allow.
struct Program {
  std::string name;
  std::vector<ir::Symbol> symbols;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Stage>
      stages;  // what leads to the outputs, each after what it reads; no placeholders
};

/// Collects the stages behind the outputs, and refuses what has no meaning as a whole: a
/// placeholder that is no input, a variable that is neither an axis nor a symbol. An output that is
/// an input, or is listed twice, is copied.
Program program(std::string name, std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                std::vector<ir::Symbol> symbols = {}, const Span& span = {});

}  // namespace tilewright::te
