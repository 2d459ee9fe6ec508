// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/model.h"
#include "frontend/npz.h"

namespace tilewright::driver {

/// How far a compiled model is from the interpreter.
struct CheckReport {
  struct Value {
    std::string name;
    double difference =
        0;  // the greatest, relative to the greatest value; infinite for NaN or shape
  };
  std::vector<Value> outputs;
  bool equal = true;  // within the tolerance

  // Of a difference: where it begins, and what makes it.
  std::string first_wrong;  // the value, in the order of computation
  std::string origin;       // its node in the model
  std::string pass;         // the graph pass without which there is no difference; may be empty
};

/// Runs the model compiled and interpreted. On a difference, finds the first value that is wrong
/// and the pass that makes it so.
CheckReport check_model(const graph::Graph& model, const ModelOptions& options,
                        const std::vector<frontend::NamedTensor>& inputs, double tolerance);
std::string print(const CheckReport& report);

/// The greatest difference of two tensors, relative to the greatest finite value of `want`.
double difference(const graph::ConstantNode& want, const graph::ConstantNode& got);

}  // namespace tilewright::driver
