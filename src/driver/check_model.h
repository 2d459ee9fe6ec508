// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/model.h"
#include "frontend/npz.h"

namespace tilewright::driver {

/// How far a compiled model is from the interpreter, or from another implementation.
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
  std::string culprit;      // what breaks the operator when it is alone, a sentence; may be empty
  std::string repro;        // the files written, without their endings; may be empty
};

struct CheckOptions {
  ModelOptions model;
  double tolerance = 1e-4;
  /// What is right, by the names of values; at least the outputs. Empty: what the interpreter says.
  std::map<std::string, graph::Constant> values;
  /// Where to write the first wrong operator alone, without an ending. Empty: nowhere.
  std::string repro;
};

/// Runs the model compiled and compares. On a difference, finds the first value that is wrong, the
/// pass that makes it so, and what is wrong about the operator that makes it.
CheckReport check_model(const graph::Graph& model, const std::vector<frontend::NamedTensor>& inputs,
                        CheckOptions options);
std::string print(const CheckReport& report);

/// The greatest difference of two tensors, relative to the greatest finite value of `want`.
double difference(const graph::ConstantNode& want, const graph::ConstantNode& got);

}  // namespace tilewright::driver
