// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/onnx_node.h"
#include "ops/ops.h"

namespace tilewright::ops {

/// The attributes of a node that is RNN, GRU or LSTM, whatever its operator is called.
RecurrentAttrs recurrent_attrs(const graph::OnnxNode& n, std::string_view cell);

/// DynamicQuantizeLSTM of com.microsoft.
void dynamic_lstm_from_onnx(const graph::OnnxNode& n, graph::Builder& g);

}  // namespace tilewright::ops
