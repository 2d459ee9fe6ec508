// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <string>
#include <string_view>
#include <typeinfo>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::python {

/// Something of a wrong kind, which Python calls a TypeError: tilewright.ArgumentError.
class KindError : public Error {
  using Error::Error;
};

/// Adds tilewright.Error, which is a ValueError too, and its ArgumentError: the text that a person
/// reads, and its parts as attributes. Every Error of the compiler becomes one.
void bind_error(nanobind::module_& m);

/// One to be raised.
nanobind::object error_object(const Error& error);

[[noreturn]] void refuse_value(std::string_view code, std::string message, std::string help);
[[noreturn]] void refuse_kind(std::string_view code, std::string message, std::string help);

/// The object as a T; `what` says of which argument it is, `wanted` what such a one is.
template <class T>
T taken(const nanobind::handle& object, const std::string& what, const char* wanted) {
  try {
    return nanobind::cast<T>(object);
  } catch (const std::bad_cast&) {
    refuse_kind("python.te.argument",
                str(what, " is `", nanobind::repr(object).c_str(), "`, a ",
                    nanobind::type_name(object.type()).c_str()),
                str("give ", wanted));
  }
}

}  // namespace tilewright::python
