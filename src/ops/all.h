// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace tilewright::ops {

/// Every operator, in the order of all.cpp.
const std::vector<const graph::OpDef*>& all();
/// The operator of this name; null when there is none.
const graph::OpDef* find(std::string_view name);
/// The rule for an ONNX operator in an opset version of its domain; null when there is none.
const graph::OnnxRule* onnx_rule(std::string_view domain, std::string_view op, int opset);

/// Every rule, with the operator whose definition lists it; null: it composes other operators.
struct RuleOf {
  const graph::OnnxRule* rule = nullptr;
  const graph::OpDef* op = nullptr;
};
const std::vector<RuleOf>& onnx_rules();

}  // namespace tilewright::ops
