// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright::python {

/// Adds register_op: operators that a Python function defines.
void bind_register_op(nanobind::module_& m);

}  // namespace tilewright::python
