// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright::python {

/// Arrays by DLPack of the types that NumPy cannot exchange.
void bind_dlpack(nanobind::module_& m);

}  // namespace tilewright::python
