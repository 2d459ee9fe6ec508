// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "graph/onnx_node.h"
#include "te/te.h"

namespace tilewright::ops {

/// The activation functions inside of RNN, GRU and LSTM cells, by ONNX's names in lower case.
struct CellActivations {
  std::vector<std::string> names;
  std::vector<double> alpha, beta;  // one each for every name
};

/// Reads `activations`, `activation_alpha` and `activation_beta`: `defaults` for each of
/// `directions`, and values for those functions that take some.
CellActivations cell_activations(const graph::OnnxNode& node,
                                 const std::vector<std::string>& defaults, size_t directions);

te::Expr cell_activation(const std::string& name, double alpha, double beta, const te::Expr& x);

}  // namespace tilewright::ops
