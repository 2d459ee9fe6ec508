// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright::python {

/// Adds the class Module: a loaded `.twm` and a context to run it.
void bind_module(nanobind::module_& m);

}  // namespace tilewright::python
