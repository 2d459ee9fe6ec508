// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "common/module_bytes.h"
#include "module/sample.h"
#include "tilewright/runtime.hpp"

namespace tilewright {

/// A module loaded from memory, with the memory.
struct Loaded {
  explicit Loaded(const Module& made, const tw_load_options& options = {})
      : bytes(module_bytes(made)), module(tw::Module::load(bytes.span(), options)) {}
  AlignedBytes bytes;
  tw::Module module;
};

/// The text of the error that `f` ends with, after its status: "bad input: …".
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const tw::Error& e) {
    return std::string(tw_status_name(e.status)) + ": " + e.what();
  }
  return "no error";
}

template <class T>
std::vector<T> list(std::span<const T> values) {
  return {values.begin(), values.end()};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tilewright
