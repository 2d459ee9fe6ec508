// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace tilewright::python {

nb::object error_object(const Error& error) {
  const Diagnostic& d = error.diagnostic;
  nb::object out = nb::module_::import_("tilewright._native").attr("Error")(nb::str(error.what()));
  out.attr("code") = nb::str(d.code.data(), d.code.size());
  out.attr("message") = nb::cast(d.message);
  out.attr("notes") = nb::cast(d.notes);
  out.attr("help") = nb::cast(d.help);
  return out;
}

void bind_error(nb::module_& m) {
  PyObject* type = PyErr_NewExceptionWithDoc(
      "tilewright.Error",
      "What is wrong with a model or program, and what to do instead: the text for people, and "
      "`code` (docs/errors.md), `message`, `notes` and `help` apart.",
      PyExc_ValueError, nullptr);
  if (!type) throw nb::python_error();
  m.attr("Error") = nb::steal(type);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      const nb::object error = error_object(e);
      PyErr_SetObject(reinterpret_cast<PyObject*>(error.type().ptr()), error.ptr());
    }
  });
}

}  // namespace tilewright::python
