// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright {
struct Module;
}

namespace tilewright::python {

/// What a run may use.
struct ContextLimits {
  int32_t threads = 0;  // 0: as many as there are CPUs
  int64_t memory = 0;   // bytes; 0: as many as the machine has
};

/// Adds the class Module: a loaded `.twm` and a context to run it.
void bind_module(nanobind::module_& m);

/// A Module of what was just compiled. Its bytes are written once, to memory that is then mapped.
nanobind::object loaded(const tilewright::Module& compiled, const ContextLimits& limits);

}  // namespace tilewright::python
