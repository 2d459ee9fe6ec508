// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright::python {

/// Adds Knobs and Space: templates that are functions of Python, and the search over them.
void bind_tune(nanobind::module_& m);

}  // namespace tilewright::python
