// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <cstring>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <vector>

#include "values.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

using Bytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>, nb::c_contig>;

/// Bytes at a multiple of 64, as the runtime wants a module in memory.
class Aligned {
 public:
  explicit Aligned(const nb::bytes& bytes) : size_(bytes.size()) {
    data_ = std::aligned_alloc(4096, (size_ + 4095) / 4096 * 4096);
    if (!data_) throw std::bad_alloc();
    std::memcpy(data_, bytes.c_str(), size_);
  }
  ~Aligned() { std::free(data_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  const void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  void* data_;
};

class Module {
 public:
  Module(const nb::bytes& twm, int32_t threads) : bytes_(twm) {
    require_ok(tw_load_memory(bytes_.data(), bytes_.size(), nullptr, &module_), nullptr);
    tw_context_options options{};
    options.threads = threads == 0 ? -1 : threads;
    const tw_status status = tw_context_create(module_, &options, &context_);
    if (status != TW_OK) {
      tw_module_release(module_);
      require_ok(status, nullptr);
    }
  }
  ~Module() {
    tw_context_release(context_);
    tw_module_release(module_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  nb::list ports(bool inputs) const {
    nb::list out;
    const int32_t count = inputs ? tw_input_count(module_) : tw_output_count(module_);
    for (int32_t i = 0; i < count; ++i) {
      tw_port port;
      require_ok((inputs ? tw_input_port : tw_output_port)(module_, i, &port), nullptr);
      nb::list dims;
      for (int32_t d = 0; d < port.rank; ++d) {
        tw_dim dim;
        require_ok((inputs ? tw_input_dim : tw_output_dim)(module_, i, d, &dim), nullptr);
        if (dim.value >= 0)
          dims.append(dim.value);
        else
          dims.append(nb::str(dim.symbol));
      }
      out.append(nb::make_tuple(nb::str(port.name), nb::str(port.type), nb::tuple(dims)));
    }
    return out;
  }

  nb::list run(const nb::list& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) set(static_cast<int32_t>(i), inputs[i]);
    tw_status status;
    {
      nb::gil_scoped_release released;
      status = tw_run(context_);
    }
    require_ok(status, context_);
    nb::list out;
    for (int32_t i = 0; i < tw_output_count(module_); ++i) {
      tw_value* value;
      require_ok(tw_output_value(context_, i, &value), context_);
      out.append(object_of(value));
      tw_value_release(value);
    }
    return out;
  }

 private:
  void set(int32_t i, const nb::handle& object) {
    tw_port port;
    require_ok(tw_input_port(module_, i, &port), nullptr);
    if (port.kind == TW_TENSOR && nb::isinstance<nb::tuple>(object)) {
      const nb::tuple parts = nb::cast<nb::tuple>(object);
      const auto elem = nb::cast<std::string>(parts[0]);
      if (elem != "string") {
        auto shape = nb::cast<std::vector<int64_t>>(parts[1]);
        const Bytes bytes = nb::cast<Bytes>(parts[2]);  // the caller's list keeps it
        const tw_tensor tensor =
            tw_make_tensor(const_cast<uint8_t*>(bytes.data()), elem_from_name(elem),
                           static_cast<int32_t>(shape.size()), shape.data());
        require_ok(tw_set_input(context_, i, &tensor, 0), context_);
        return;
      }
    }
    tw_value* value = value_of(module_, object, port);
    const tw_status status = tw_set_input_value(context_, i, value);
    tw_value_release(value);
    require_ok(status, context_);
  }

  Aligned bytes_;
  tw_module* module_ = nullptr;
  tw_context* context_ = nullptr;
};

}  // namespace

void bind_module(nb::module_& m) {
  nb::class_<Module>(m, "Module")
      .def(nb::init<const nb::bytes&, int32_t>(), nb::arg("twm"), nb::arg("threads") = 0)
      .def("inputs", [](const Module& module) { return module.ports(true); })
      .def("outputs", [](const Module& module) { return module.ports(false); })
      .def("run", &Module::run, nb::arg("inputs"));
}

}  // namespace tilewright::python
