// SPDX-License-Identifier: Apache-2.0
#include "driver/run_model.h"

#include <cstring>
#include <new>

#include "ir/interpret/array.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using graph::Constant;

tw_context_options threads_option(int threads) {
  tw_context_options options{};
  options.threads = threads == 0 ? -1 : threads;
  return options;
}

/// The runtime's words as an Error of ours.
template <class F>
auto in_words(F&& f) {
  try {
    return f();
  } catch (const tw::Error& e) {
    throw Error({.code = "driver.run.status",
                 .at = {},
                 .message = e.what(),
                 .notes = {},
                 .help = "check the module and its inputs"});
  }
}

Constant constant_of(const tw::Value& value, const std::string& name) {
  if (value.kind() != TW_TENSOR && value.kind() != TW_STRINGS)
    throw Error({.code = "driver.output.kind",
                 .at = {},
                 .message = str("output `", name, "` is a sequence or an optional"),
                 .notes = {},
                 .help = "a file of arrays cannot hold it; use the C ABI or Python"});
  const tw::TensorView view = value.view();
  std::vector<int64_t> shape(view.dims().begin(), view.dims().end());
  if (value.kind() == TW_STRINGS) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < value.count(); ++i) texts.emplace_back(value.string(i));
    return graph::string_constant(std::move(shape), std::move(texts));
  }
  const auto elem = static_cast<ir::Elem>(view.elem());
  const auto* data = static_cast<const std::byte*>(view.get().data) + view.get().byte_offset;
  return graph::make_constant(elem, std::move(shape),
                              {data, data + graph::byte_size(elem, view.count())});
}

}  // namespace

LoadedModule::LoadedModule(const std::filesystem::path& path, int threads)
    : module_(in_words([&] { return tw::Module::load(path.string(), {.verify_full = 1}); })),
      context_(in_words([&] { return tw::Context(module_, threads_option(threads)); })),
      inputs_(static_cast<size_t>(module_.inputs())) {}

LoadedModule::LoadedModule(PagedMemory bytes, int threads)
    : bytes_(std::move(bytes)),
      module_(in_words([&] {
        if (bytes_.size() == 0) throw std::bad_alloc();
        return tw::Module::load(bytes_.span());
      })),
      context_(in_words([&] { return tw::Context(module_, threads_option(threads)); })),
      inputs_(static_cast<size_t>(module_.inputs())) {}

void LoadedModule::set(int32_t i, Constant value) {
  in_words([&] {
    std::vector<int64_t> dims = value->shape;
    if (value->is_strings) {
      context_.set_input(i, tw::Value::strings(module_, value->strings, dims));
    } else {
      auto* data = const_cast<std::byte*>(value->bytes.data());
      context_.set_input(i, tw_make_tensor(data, static_cast<tw_elem>(value->elem),
                                           static_cast<int32_t>(dims.size()), dims.data()));
    }
  });
  inputs_[static_cast<size_t>(i)] = std::move(value);
}

void LoadedModule::set_inputs(const std::vector<frontend::NamedTensor>& inputs) {
  std::string wanted;
  for (int32_t i = 0; i < module_.inputs(); ++i)
    wanted += str(i ? ", " : "", "`", module_.input(i).name, "`");
  const auto refuse = [&](const std::string& message) {
    throw Error({.code = "driver.input.name",
                 .at = {},
                 .message = message,
                 .notes = {str("the inputs of the model are ", wanted)},
                 .help = "name the arrays of the file after the inputs"});
  };
  for (const frontend::NamedTensor& t : inputs) {
    const int32_t i =
        module_.inputs() == 1 && t.name.empty() ? 0 : tw_find_input(module_.get(), t.name.c_str());
    if (i < 0) refuse(str("the model has no input `", t.name, "`"));
    set(i, t.value);
  }
  for (int32_t i = 0; i < module_.inputs(); ++i)
    if (!inputs_[static_cast<size_t>(i)] && module_.input(i).has_default == 0)
      refuse(str("input `", module_.input(i).name, "` is missing"));
}

void LoadedModule::set_random_inputs(uint64_t seed) {
  for (int32_t i = 0; i < module_.inputs(); ++i) {
    const tw_port port = module_.input(i);
    if (port.has_default != 0) continue;
    std::vector<int64_t> shape;
    for (int32_t d = 0; d < port.rank; ++d) {
      tw_dim dim;
      tw::check(tw_input_dim(module_.get(), i, d, &dim));
      shape.push_back(dim.value >= 0
                          ? dim.value
                          : std::max<int64_t>(std::max<int64_t>(dim.min, 1), dim.divisor));
    }
    if (port.kind != TW_TENSOR || port.elem == TW_STRING)
      throw Error(
          {.code = "driver.input.random",
           .at = {},
           .message = str("there are no random values for input `", port.name, "`, ", port.type),
           .notes = {},
           .help = "give the inputs with --inputs"});
    const auto elem = static_cast<ir::Elem>(port.elem);
    ir::Array array = ir::random_array(elem, shape, seed + static_cast<uint64_t>(i));
    if (!ir::is_float(elem))  // often indices: 0 and 1 are in range more often than others
      for (uint64_t& cell : array.cells) cell &= 1;
    set(i, graph::make_constant(elem, shape, ir::to_bytes(array)));
  }
}

std::vector<std::vector<int64_t>> LoadedModule::input_shapes() const {
  std::vector<std::vector<int64_t>> out;
  for (int32_t i = 0; i < module_.inputs(); ++i) {
    if (const Constant& set = inputs_[static_cast<size_t>(i)]) {
      out.push_back(set->shape);
      continue;
    }
    std::vector<int64_t>& shape = out.emplace_back();
    for (int32_t d = 0; d < module_.input(i).rank; ++d) {
      tw_dim dim;
      tw::check(tw_input_dim(module_.get(), i, d, &dim));
      shape.push_back(dim.preset);
    }
  }
  return out;
}

void LoadedModule::run() {
  in_words([&] { context_.run(); });
}

std::vector<frontend::NamedTensor> LoadedModule::outputs() {
  std::vector<frontend::NamedTensor> out;
  for (int32_t i = 0; i < module_.outputs(); ++i) {
    const std::string name = module_.output(i).name;
    tw_value* value = nullptr;
    in_words([&] { tw::check(tw_output_value(context_.get(), i, &value), context_.get()); });
    out.push_back({name, constant_of(tw::Value(value), name)});
  }
  return out;
}

}  // namespace tilewright::driver
