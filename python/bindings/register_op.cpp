// SPDX-License-Identifier: Apache-2.0
#include "register_op.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arguments.h"
#include "error.h"
#include "lock.h"
#include "ops/custom.h"
#include "te.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

nb::object object_of(const graph::Constant& c) {
  if (c->is_strings) return nb::make_tuple("string", c->shape, c->strings);
  const auto* data = reinterpret_cast<const uint8_t*>(c->bytes.data());
  const Bytes bytes(data, {c->bytes.size()}, nb::handle());
  return tensor_object(c->elem, c->shape, nb::cast<Bytes>(nb::cast(bytes, nb::rv_policy::copy)));
}

template <class T>
nb::object object_of(const T& value) {
  return nb::cast(value);
}

/// Calls tilewright._ops.define, which keeps the functions: they end with the interpreter.
std::vector<te::Tensor> define(const std::string& domain, const std::string& name,
                               const ops::CustomCall& call) {
  const Locked locked;
  nb::list inputs;
  for (const std::optional<te::Tensor>& t : call.inputs)
    inputs.append(t ? nb::cast(*t) : nb::none());
  nb::dict attrs;
  for (const graph::NamedAttr& a : call.attrs)
    attrs[nb::cast(a.name)] = std::visit([](const auto& v) { return object_of(v); }, a.value);
  const nb::object results = unless_ended([&] {
    return nb::module_::import_("tilewright._ops")
        .attr("define")(domain, name, inputs, attrs, call.node);
  });
  return nb::cast<std::vector<te::Tensor>>(results);
}

}  // namespace

void bind_register_op(nb::module_& m) {
  m.def("register_op", [](const std::string& domain, const std::string& name, bool injective) {
    ops::register_op(
        {.domain = domain,
         .name = name,
         .te = [domain, name](const ops::CustomCall& call) { return define(domain, name, call); },
         .injective = injective});
  });
  m.def("custom_op_error",
        [](const std::string& op, const std::string& node, const std::string& what) {
          return error_object(ops::definition_error(op, node, what));
        });
}

}  // namespace tilewright::python
