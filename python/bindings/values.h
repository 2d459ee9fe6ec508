// SPDX-License-Identifier: Apache-2.0
// Values of the runtime as Python objects and back: (element type, shape, bytes), lists for
// sequences, None for an optional without a value.
#pragma once

#include <nanobind/nanobind.h>

#include "tilewright/runtime.h"

namespace tilewright::python {

/// A Python exception with the runtime's words, unless the status is TW_OK.
void require_ok(tw_status status, const tw_context* context);
void require_ok(tw_status status, const tw_port& port);

/// A new reference. `port` tells what the object does not: a plain tensor or list is the item of an
/// optional, and the element type of an empty list. Errors name the port.
tw_value* value_of(tw_module* module, const nanobind::handle& object, const tw_port& port);
nanobind::object object_of(const tw_value* value);

tw_elem elem_from_name(const std::string& name);

}  // namespace tilewright::python
