// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "support/diagnostic.h"

namespace tilewright {

/// The diagnostic that `f` throws. A test that throws nothing fails by the exception here.
template <class F>
Diagnostic diagnostic_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.diagnostic;
  }
  throw std::runtime_error("expected an Error, none was thrown");
}

}  // namespace tilewright
