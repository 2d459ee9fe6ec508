// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright::python {

/// Adds Schedule, Instruction and Kernel: steps are given as lines of a trace, which
/// python/tilewright/_steps.py writes.
void bind_schedule(nanobind::module_& m);

}  // namespace tilewright::python
