// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "support/diagnostic.h"

namespace tilewright::python {

/// Adds tilewright.Error: the text that a person reads, and its parts as attributes. Every Error of
/// the compiler becomes one.
void bind_error(nanobind::module_& m);

/// One to be raised.
nanobind::object error_object(const Error& error);

}  // namespace tilewright::python
