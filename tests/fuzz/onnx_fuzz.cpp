// SPDX-License-Identifier: Apache-2.0
// Any bytes are a model, which becomes a graph, or are refused.
#include <cstdint>

#include "frontend/onnx/import.h"

using namespace tilewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    print(frontend::onnx::read_model(std::as_bytes(std::span(data, size)), nullptr));
  } catch (const Error&) {
  }
  return 0;
}
