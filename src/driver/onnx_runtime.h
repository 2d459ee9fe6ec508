// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/npz.h"

namespace tilewright::driver {

/// What ONNX Runtime, asked through Python, computes: the outputs by name, and every other value
/// where Python has the package `onnx`, too. $TILEWRIGHT_PYTHON says which Python; else it is
/// `python3`. An Error says what is missing.
std::map<std::string, graph::Constant> run_onnx_runtime(
    const std::string& model, const std::vector<frontend::NamedTensor>& inputs);

}  // namespace tilewright::driver
