// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <cstring>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string_view>
#include <vector>

#include "error.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

using Bytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>, nb::c_contig>;

std::vector<int64_t> dims_of(const tw_tensor& t) { return {t.dims, t.dims + t.rank}; }

int64_t bytes_of(const tw_tensor& t) {
  int64_t bits = tw_elem_bits(static_cast<tw_elem>(tw_elem_of(&t)));
  for (int32_t d = 0; d < t.rank; ++d) bits *= t.dims[d];
  return (bits + 7) / 8;
}

nb::object strings_object(const tw_value* value, const tw_tensor& view) {
  nb::list texts;
  for (int64_t i = 0; i < tw_value_count(value); ++i) {
    tw_string text;
    require_ok(tw_value_string(value, i, &text), nullptr);
    texts.append(nb::str(text.data, text.bytes));
  }
  return nb::make_tuple("string", dims_of(view), texts);
}

/// The bytes of a tensor as a NumPy array that keeps the value.
nb::object tensor_object(const tw_value* value, const tw_tensor& view) {
  auto* kept = const_cast<tw_value*>(value);
  tw_value_retain(kept);
  const nb::capsule owner(kept,
                          [](void* p) noexcept { tw_value_release(static_cast<tw_value*>(p)); });
  const nb::ndarray<nb::numpy, uint8_t> bytes(static_cast<std::byte*>(view.data) + view.byte_offset,
                                              {static_cast<size_t>(bytes_of(view))}, owner);
  return nb::make_tuple(tw_elem_name(static_cast<tw_elem>(tw_elem_of(&view))), dims_of(view),
                        nb::cast(bytes));
}

tw_value* plain_value(tw_module* module, const nb::handle& object, const tw_port& port);

tw_value* sequence_value(tw_module* module, const nb::list& list, const tw_port& port) {
  std::vector<tw_value*> items;
  const auto release = [&] {
    for (tw_value* item : items) tw_value_release(item);
  };
  tw_value* value = nullptr;
  try {
    for (const nb::handle& item : list) items.push_back(plain_value(module, item, port));
    require_ok(tw_value_sequence(module, port.elem, items.data(), items.size(), &value), port);
  } catch (...) {
    release();
    throw;
  }
  release();
  return value;
}

tw_value* strings_value(tw_module* module, const nb::tuple& parts,
                        const std::vector<int64_t>& shape, const tw_port& port) {
  const auto texts = nb::cast<std::vector<std::string>>(parts[2]);
  std::vector<tw_string> strings;
  for (const std::string& t : texts) strings.push_back({t.data(), t.size()});
  tw_value* value = nullptr;
  require_ok(tw_value_strings(module, strings.data(), static_cast<int32_t>(shape.size()),
                              shape.data(), &value),
             port);
  return value;
}

/// A value of anything but None.
tw_value* plain_value(tw_module* module, const nb::handle& object, const tw_port& port) {
  if (nb::isinstance<nb::list>(object))
    return sequence_value(module, nb::cast<nb::list>(object), port);
  if (object.is_none())
    refuse_kind("python.run.input", str("input `", port.name, "` is None"),
                str("give a ", port.type, ": only an optional may be None"));
  const nb::tuple parts = nb::cast<nb::tuple>(object);
  const auto elem = nb::cast<std::string>(parts[0]);
  auto shape = nb::cast<std::vector<int64_t>>(parts[1]);
  if (elem == "string") return strings_value(module, parts, shape, port);
  const Bytes bytes = nb::cast<Bytes>(parts[2]);
  const tw_tensor tensor = tw_make_tensor(const_cast<uint8_t*>(bytes.data()), elem_from_name(elem),
                                          static_cast<int32_t>(shape.size()), shape.data());
  tw_value* value = nullptr;
  require_ok(tw_value_tensor(module, &tensor, &value), port);
  return value;
}

}  // namespace

void require_ok(tw_status status, const tw_context* context) {
  if (status == TW_OK) return;
  if (status == TW_CANCELLED)
    refuse_value("python.run.cancelled", tw_error_text(context),
                 "the module is as it was: run it again");
  if (status == TW_OUT_OF_MEMORY)
    refuse_value("python.run.memory", tw_error_text(context),
                 "give smaller inputs, or a larger memory_limit to tw.compile or tw.load");
  refuse_value("python.run.failed", tw_error_text(context),
               status == TW_BAD_INPUT ? "give what `Module.inputs` lists"
               : status == TW_RUN_FAILED
                   ? "give inputs of other sizes or values"
                   : "look at the inputs; if they are right, please report this");
}

void require_ok(tw_status status, const tw_port& port) {
  if (status != TW_OK)
    refuse_value("python.run.input", str("input `", port.name, "`: ", tw_error_text(nullptr)),
                 str("give a ", port.type));
}

tw_elem elem_from_name(const std::string& name) {
  for (int e = TW_BOOL; e <= TW_C128; ++e)
    if (name == tw_elem_name(static_cast<tw_elem>(e))) return static_cast<tw_elem>(e);
  refuse_kind("python.array.elem", str("there is no element type `", name, "`"),
              "give an array of one that Module.inputs lists");
}

tw_value* value_of(tw_module* module, const nb::handle& object, const tw_port& port) {
  if (port.kind != TW_OPTIONAL) return plain_value(module, object, port);
  const bool of_sequence = std::string_view(port.type).starts_with("optional(sequence(");
  tw_value* item = object.is_none() ? nullptr : plain_value(module, object, port);
  tw_value* value = nullptr;
  const tw_status status =
      tw_value_optional(module, of_sequence ? TW_SEQUENCE : TW_TENSOR, port.elem, item, &value);
  tw_value_release(item);
  require_ok(status, port);
  return value;
}

nb::object object_of(const tw_value* value) {
  const tw_kind kind = tw_value_kind(value);
  if (kind == TW_OPTIONAL)
    return tw_value_count(value) ? object_of(tw_value_item(value, 0)) : nb::none();
  if (kind == TW_SEQUENCE) {
    nb::list items;
    for (int64_t i = 0; i < tw_value_count(value); ++i)
      items.append(object_of(tw_value_item(value, i)));
    return items;
  }
  tw_tensor view;
  require_ok(tw_value_view(value, &view), nullptr);
  return kind == TW_STRINGS ? strings_object(value, view) : tensor_object(value, view);
}

}  // namespace tilewright::python
