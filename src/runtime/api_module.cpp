// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "module/format.h"
#include "runtime/api.h"
#include "runtime/cpu.h"
#include "runtime/tensor.h"

using namespace tilewright;
using namespace tilewright::runtime;

namespace tilewright::runtime {

ErrorText& thread_error() {
  static thread_local ErrorText error;
  return error;
}

tw_status fail_in_thread(tw_status status, const char* text) {
  thread_error().set("%s", text);
  return status;
}

namespace {

bool read_options(const tw_load_options* given, LoadOptions& options) {
  if (given == nullptr) return true;
  if (given->verify_full != 0) options.verify = Verify::Full;
  if (given->allocator != nullptr) {
    if (given->allocator->allocate == nullptr || given->allocator->release == nullptr) return false;
    options.allocator = from_c(*given->allocator);
  }
  options.log = given->log;
  options.log_user = given->log_user;
  return true;
}

template <class... Source>
tw_status load_from(const tw_load_options* given, tw_module** module, Source... source) {
  LoadOptions options;
  if (module == nullptr || !read_options(given, options))
    return fail_in_thread(TW_INVALID_ARGUMENT,
                          "an argument or a function of the allocator is NULL");
  *module = nullptr;
  LoadedModule* loaded = nullptr;
  const tw_status status = LoadedModule::load(source..., options, loaded, thread_error());
  if (status == TW_OK) *module = to_c(loaded);
  return status;
}

tw_kind kind_of(ValueType type) {
  return type.is_sequence()   ? TW_SEQUENCE
         : type.is_optional() ? TW_OPTIONAL
         : type.is_strings()  ? TW_STRINGS
                              : TW_TENSOR;
}

tw_status port_at(const LoadedModule& module, bool output, int32_t index, tw_port* port) {
  const ModuleView& view = module.view();
  const auto ports = output ? view.outputs : view.inputs;
  if (index < 0 || static_cast<size_t>(index) >= ports.size() || port == nullptr)
    return fail_in_thread(TW_INVALID_ARGUMENT, "there is no input or output of this index");
  const auto i = static_cast<size_t>(index);
  const format::PortRecord& p = ports[i];
  *port = {.name = module.name(p.name),
           .kind = kind_of(p.type),
           .elem = static_cast<tw_elem>(p.type.elem),
           .type = module.type_text(output ? view.inputs.size() + i : i),
           .rank = static_cast<int32_t>(p.rank),
           .alignment = static_cast<int32_t>(p.alignment),
           .donor = output && p.source != kNone ? static_cast<int32_t>(p.source) : -1,
           .has_default = !output && p.source != kNone ? 1 : 0};
  return TW_OK;
}

tw_status dim_at(const LoadedModule& module, bool output, int32_t index, int32_t axis,
                 tw_dim* dim) {
  const ModuleView& view = module.view();
  const auto ports = output ? view.outputs : view.inputs;
  if (index < 0 || static_cast<size_t>(index) >= ports.size() || axis < 0 ||
      static_cast<uint32_t>(axis) >= ports[static_cast<size_t>(index)].rank || dim == nullptr)
    return fail_in_thread(TW_INVALID_ARGUMENT, "there is no dimension of this index");
  const format::PortRecord& p = ports[static_cast<size_t>(index)];
  const format::DimRecord& d = view.dims[p.first_dim + static_cast<uint32_t>(axis)];
  *dim = {.value = d.value,
          .symbol = d.symbol == kNone ? "" : module.name(d.symbol),
          .min = d.min,
          .max = d.max,
          .divisor = d.divisor,
          .preset = !output && p.source != kNone ? static_cast<int64_t>(d.preset) : -1};
  return TW_OK;
}

int32_t index_of(const LoadedModule& module, bool output, const char* name) {
  const ModuleView& view = module.view();
  const auto ports = output ? view.outputs : view.inputs;
  for (size_t i = 0; name != nullptr && i < ports.size(); ++i)
    if (std::strcmp(module.name(ports[i].name), name) == 0) return static_cast<int32_t>(i);
  return -1;
}

}  // namespace
}  // namespace tilewright::runtime

extern "C" {

int tw_set_elem(tw_tensor* tensor, tw_elem elem) {
  if (static_cast<int>(elem) < 0 || static_cast<int>(elem) >= kElemTypeCount) return 0;
  return set_elem(*tensor, static_cast<ElemType>(elem)) ? 1 : 0;
}

int tw_elem_of(const tw_tensor* tensor) { return elem_of(*tensor); }

tw_tensor tw_make_tensor(void* data, tw_elem elem, int32_t rank, int64_t* dims) {
  tw_tensor tensor{.data = data, .device_type = 1, .rank = rank, .dims = dims};
  tw_set_elem(&tensor, elem);
  return tensor;
}

const char* tw_elem_name(tw_elem elem) {
  return static_cast<int>(elem) >= 0 && static_cast<int>(elem) < kElemTypeCount
             ? name_of(static_cast<ElemType>(elem))
             : "unknown";
}

int tw_elem_bits(tw_elem elem) {
  return static_cast<int>(elem) >= 0 && static_cast<int>(elem) < kElemTypeCount
             ? bits_of(static_cast<ElemType>(elem))
             : 0;
}

const char* tw_error_text(const tw_context* context) {
  return context != nullptr ? from_c(context)->error_text() : thread_error().text();
}

const char* tw_status_name(tw_status status) {
  static constexpr const char* names[] = {"ok",         "invalid argument", "input/output error",
                                          "bad module", "unsupported",      "out of memory",
                                          "bad input",  "run failed",       "cancelled",
                                          "busy"};
  const auto i = static_cast<size_t>(status);
  return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}

const char* tw_runtime_version(void) { return TILEWRIGHT_VERSION; }
int tw_runtime_format(void) { return format::kMajor * 1000 + format::kMinor; }

const char* tw_machine_features(void) {
  static thread_local char text[768];
  describe(this_machine(), text, sizeof text);
  return text;
}

tw_status tw_load_file(const char* path, const tw_load_options* options, tw_module** module) {
  if (path == nullptr) return fail_in_thread(TW_INVALID_ARGUMENT, "the path is NULL");
  return load_from(options, module, path);
}

tw_status tw_load_descriptor(int descriptor, const tw_load_options* options, tw_module** module) {
  return load_from(options, module, descriptor, "descriptor");
}

tw_status tw_load_memory(const void* data, size_t bytes, const tw_load_options* options,
                         tw_module** module) {
  if (data == nullptr) return fail_in_thread(TW_INVALID_ARGUMENT, "the data is NULL");
  return load_from(options, module,
                   std::span<const std::byte>(static_cast<const std::byte*>(data), bytes));
}

void tw_module_release(tw_module* module) {
  if (module != nullptr) from_c(module)->release();
}

int32_t tw_input_count(const tw_module* module) {
  return static_cast<int32_t>(from_c(module)->view().inputs.size());
}
int32_t tw_output_count(const tw_module* module) {
  return static_cast<int32_t>(from_c(module)->view().outputs.size());
}
tw_status tw_input_port(const tw_module* module, int32_t index, tw_port* port) {
  return port_at(*from_c(module), false, index, port);
}
tw_status tw_output_port(const tw_module* module, int32_t index, tw_port* port) {
  return port_at(*from_c(module), true, index, port);
}
tw_status tw_input_dim(const tw_module* module, int32_t index, int32_t axis, tw_dim* dim) {
  return dim_at(*from_c(module), false, index, axis, dim);
}
tw_status tw_output_dim(const tw_module* module, int32_t index, int32_t axis, tw_dim* dim) {
  return dim_at(*from_c(module), true, index, axis, dim);
}
int32_t tw_find_input(const tw_module* module, const char* name) {
  return index_of(*from_c(module), false, name);
}
int32_t tw_find_output(const tw_module* module, const char* name) {
  return index_of(*from_c(module), true, name);
}

int32_t tw_metadata_count(const tw_module* module) {
  return static_cast<int32_t>(from_c(module)->view().metadata.size());
}

tw_status tw_metadata(const tw_module* module, int32_t index, const char** key,
                      const char** value) {
  const ModuleView& view = from_c(module)->view();
  if (index < 0 || static_cast<size_t>(index) >= view.metadata.size() || key == nullptr ||
      value == nullptr)
    return fail_in_thread(TW_INVALID_ARGUMENT, "there is no metadata of this index");
  *key = view.name(view.metadata[static_cast<size_t>(index)].key);
  *value = view.name(view.metadata[static_cast<size_t>(index)].value);
  return TW_OK;
}

const char* tw_module_features(const tw_module* module) { return from_c(module)->features(); }
int64_t tw_module_constant_bytes(const tw_module* module) {
  return static_cast<int64_t>(from_c(module)->view().constant_bytes.size());
}
int64_t tw_module_arena_bytes(const tw_module* module) {
  const PlanView& plan = from_c(module)->plan();
  return plan.arena_bytes < plan.constants.size() ? plan.constants[plan.arena_bytes]
                                                  : plan.arena_max;
}
int32_t tw_module_kernels(const tw_module* module) {
  return static_cast<int32_t>(from_c(module)->variant().kernels.size());
}

}  // extern "C"
