// SPDX-License-Identifier: Apache-2.0
#include "dlpack.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <string>
#include <vector>

#include "error.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

/// Element types that DLPack has a code for and NumPy has not.
struct Foreign {
  const char* elem;
  uint8_t code, bits;
};
constexpr Foreign kForeign[] = {
    {"bf16", 4, 16},   {"f8e4m3", 10, 8},     {"f8e4m3fnuz", 11, 8},
    {"f8e5m2", 12, 8}, {"f8e5m2fnuz", 13, 8}, {"f8e8m0", 14, 8},
};

nb::dlpack::dtype codes_of(uint8_t bits) {
  return {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), bits, 1};
}

/// A view with another element type of the same size; `owner` keeps it.
template <class... Framework, class Given>
nb::ndarray<Framework...> relabelled(const Given& given, nb::handle owner,
                                     nb::dlpack::dtype dtype) {
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (size_t d = 0; d < given.ndim(); ++d) {
    shape.push_back(given.shape(d));
    strides.push_back(given.stride(d));
  }
  return nb::ndarray<Framework...>(const_cast<void*>(static_cast<const void*>(given.data())),
                                   shape.size(), shape.data(), owner, strides.data(), dtype);
}

using Given = nb::ndarray<nb::ro, nb::device::cpu>;

/// The element type, or None where NumPy has it, and a NumPy array: of that type, or of its codes.
nb::tuple from_dlpack(const Given& given) {
  const nb::capsule owner(new Given(given),
                          [](void* p) noexcept { delete static_cast<Given*>(p); });
  for (const Foreign& f : kForeign)
    if (given.dtype() == nb::dlpack::dtype{f.code, f.bits, 1})
      return nb::make_tuple(f.elem,
                            nb::cast(relabelled<nb::numpy>(given, owner, codes_of(f.bits))));
  return nb::make_tuple(nb::none(), nb::cast(relabelled<nb::numpy>(given, owner, given.dtype())));
}

/// A capsule (of no version: every consumer knows those) that shows codes as an array of their
/// type.
nb::object to_dlpack(const nb::object& array, const std::string& elem) {
  const auto codes = nb::cast<nb::ndarray<nb::device::cpu>>(array);
  for (const Foreign& f : kForeign)
    if (elem == f.elem && codes.dtype() == codes_of(f.bits))
      return nb::cast(relabelled<>(codes, array, {f.code, f.bits, 1}));
  refuse_kind("python.array.elem", str("DLPack has no ", elem), "give an array of another type");
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  nb::list elems;
  for (const Foreign& f : kForeign) elems.append(f.elem);
  m.attr("DLPACK_ELEMS") = nb::frozenset(elems);
  m.def("from_dlpack", from_dlpack, nb::arg("capsule"));
  m.def("to_dlpack", to_dlpack, nb::arg("codes"), nb::arg("elem"));
}

}  // namespace tilewright::python
