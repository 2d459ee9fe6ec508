// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontend/onnx/names.h"

namespace tilewright::frontend::onnx {

/// Refuses a model with operators that nothing computes, naming all of them at once, and one whose
/// functions call themselves.
void survey(const ModelProto& model, const Opsets& opsets, const LocalFunctions& functions);

}  // namespace tilewright::frontend::onnx
