// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace tilewright::python {
namespace {

template <class E>
[[noreturn]] void refuse(std::string_view code, std::string message, std::string help) {
  throw E({.code = code,
           .at = {},
           .message = std::move(message),
           .notes = {},
           .help = std::move(help)});
}

nb::object made(PyObject* object) {
  if (!object) throw nb::python_error();
  return nb::steal(object);
}

}  // namespace

void refuse_value(std::string_view code, std::string message, std::string help) {
  refuse<Error>(code, std::move(message), std::move(help));
}
void refuse_kind(std::string_view code, std::string message, std::string help) {
  refuse<KindError>(code, std::move(message), std::move(help));
}

nb::object error_object(const Error& error) {
  const Diagnostic& d = error.diagnostic;
  const char* const type = dynamic_cast<const KindError*>(&error) ? "ArgumentError" : "Error";
  nb::object out = nb::module_::import_("tilewright._native").attr(type)(nb::str(error.what()));
  out.attr("code") = nb::str(d.code.data(), d.code.size());
  out.attr("message") = nb::cast(d.message);
  out.attr("notes") = nb::cast(d.notes);
  out.attr("help") = nb::cast(d.help);
  return out;
}

void bind_error(nb::module_& m) {
  const nb::object error = made(PyErr_NewExceptionWithDoc(
      "tilewright.Error",
      "What is wrong with a model, a program or an argument, and what to do instead: the text for "
      "people, and `code` (docs/errors.md), `message`, `notes` and `help` apart.",
      PyExc_ValueError, nullptr));
  m.attr("Error") = error;
  m.attr("ArgumentError") = made(PyErr_NewExceptionWithDoc(
      "tilewright.ArgumentError", "An Error that is a TypeError, too: something of a wrong kind.",
      nb::make_tuple(error, nb::handle(PyExc_TypeError)).ptr(), nullptr));
  m.def("mistake", [](const std::string& code, const std::string& message, const std::string& help,
                      bool of_kind) {
    const Diagnostic d{.code = code, .at = {}, .message = message, .notes = {}, .help = help};
    return of_kind ? error_object(KindError(d)) : error_object(Error(d));
  });
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    const auto raise = [](const Error& e) {
      const nb::object error = error_object(e);
      PyErr_SetObject(reinterpret_cast<PyObject*>(error.type().ptr()), error.ptr());
    };
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      raise(e);
    } catch (const std::bad_cast&) {
      raise(KindError({.code = "python.argument.kind",
                       .at = {},
                       .message = "something given here, in a list or by a function, is of a kind "
                                  "that has no meaning here",
                       .notes = {},
                       .help = "compare what is given with the types in te.pyi"}));
    }
  });
}

}  // namespace tilewright::python
