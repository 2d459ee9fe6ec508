// SPDX-License-Identifier: Apache-2.0
// The border: what the caller gives is checked here, once, before anything runs.
#include <algorithm>
#include <cinttypes>

#include "module/shape.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tilewright::runtime {

std::span<int64_t> Context::input_dims(uint32_t index) {
  const format::PortRecord& port = module_.view().inputs[index];
  return {input_dims_.data() + port.first_dim, port.rank};
}

tw_status Context::check_shape(uint32_t index, std::span<const int64_t> dims) {
  const ModuleView& view = module_.view();
  const format::PortRecord& port = view.inputs[index];
  if (dims.size() != port.rank)
    return fail(TW_BAD_INPUT, "input `%s` has %zu dimensions, the model needs %u",
                view.name(port.name), dims.size(), port.rank);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0)
      return fail(TW_BAD_INPUT, "dimension %zu of input `%s` is %" PRId64, i, view.name(port.name),
                  dims[i]);
  if (tensor_bytes(port.type.elem, dims) < 0)
    return fail(TW_BAD_INPUT, "input `%s` is too large", view.name(port.name));
  return TW_OK;
}

void Context::take_shape(uint32_t index, std::span<const int64_t> dims) {
  Input& input = inputs_[index];
  const std::span<int64_t> known = input_dims(index);
  for (size_t i = 0; i < dims.size(); ++i)
    if (!input.shaped || known[i] != dims[i]) {
      shapes_known_ = false;
      known[i] = dims[i];
    }
  if (!input.shaped) shapes_known_ = false;
  if (input.value != nullptr) input.value->release();
  input = {.shaped = true};
  has_results_ = false;
  ports_checked_ = false;
}

tw_status Context::set_input(uint32_t index, const tw_tensor& tensor, bool donated) {
  const ModuleView& view = module_.view();
  if (index >= inputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no input %d, the module has %zu",
                static_cast<int>(index), inputs_.size());
  const format::PortRecord& port = view.inputs[index];
  const char* name = view.name(port.name);
  if (!port.type.is_tensor())
    return fail(TW_BAD_INPUT, "input `%s` is a %s: set it by tw_set_input_value", name,
                module_.type_text(index));
  if (tensor.device_type != 1)
    return fail(TW_BAD_INPUT, "input `%s` is on another device: copy it to the CPU's memory", name);
  const int elem = elem_of(tensor);
  if (elem < 0 || static_cast<ElemType>(elem) != port.type.elem)
    return fail(TW_BAD_INPUT, "input `%s` has elements of type %s, the model needs %s", name,
                elem < 0 ? "unknown" : name_of(static_cast<ElemType>(elem)),
                name_of(port.type.elem));
  if (tensor.rank < 0 || (tensor.rank > 0 && tensor.dims == nullptr))
    return fail(TW_INVALID_ARGUMENT, "input `%s` has no dimensions", name);
  const std::span<const int64_t> dims{tensor.dims, static_cast<size_t>(tensor.rank)};
  if (const tw_status s = check_shape(index, dims); s != TW_OK) return s;
  if (!is_compact(tensor))
    return fail(TW_BAD_INPUT,
                "input `%s` is not compact: its strides must be those of a row-major tensor; copy "
                "it first",
                name);
  const int64_t bytes = tensor_bytes(port.type.elem, dims);
  const auto* data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  if (tensor.data == nullptr && bytes > 0)
    return fail(TW_INVALID_ARGUMENT, "input `%s` has no data", name);
  if (bytes > 0 && reinterpret_cast<uintptr_t>(data) % port.alignment != 0)
    return fail(TW_BAD_INPUT, "input `%s` must lie at a multiple of %u bytes", name,
                port.alignment);
  take_shape(index, dims);
  Input& input = inputs_[index];
  input.data = bytes > 0 ? static_cast<const void*>(data) : no_elements;
  input.filled = true;
  input.donated = donated;
  place_input(index, bytes, nullptr);
  return TW_OK;
}

/// The values of the plan that stand for an input.
void Context::place_input(uint32_t index, int64_t bytes, Value* object) {
  const std::span<const int64_t> dims = input_dims(index);
  for (const ValueId id : input_values_) {
    const PlanValue& v = plan_.values[id];
    if (v.index != index) continue;
    Slot& slot = slots_[id];
    clear(slot);
    if (object != nullptr && !object->is_array()) {
      object->retain();
      slot.object = object;
      continue;
    }
    slot.data = const_cast<void*>(inputs_[index].data);
    slot.bytes = bytes;
    slot.read_only = true;
    std::copy(dims.begin(), dims.end(), slot.dims);
    if (object != nullptr) {
      object->storage->retain();
      slot.block = object->storage;
    }
  }
}

tw_status Context::set_input_shape(uint32_t index, std::span<const int64_t> dims) {
  if (index >= inputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no input %d, the module has %zu",
                static_cast<int>(index), inputs_.size());
  if (const tw_status s = check_shape(index, dims); s != TW_OK) return s;
  take_shape(index, dims);
  return TW_OK;
}

tw_status Context::set_input_value(uint32_t index, Value* value) {
  const ModuleView& view = module_.view();
  if (index >= inputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no input %d, the module has %zu",
                static_cast<int>(index), inputs_.size());
  const format::PortRecord& port = view.inputs[index];
  if (value->type != port.type)
    return fail(TW_BAD_INPUT, "input `%s` must be a %s", view.name(port.name),
                module_.type_text(index));
  if (const tw_status s =
          check_shape(index, value->is_array() ? value->shape() : std::span<const int64_t>());
      s != TW_OK)
    return s;
  value->retain();
  take_shape(index, value->is_array() ? value->shape() : std::span<const int64_t>());
  Input& input = inputs_[index];
  input.value = value;
  input.data = value->data;
  input.filled = true;
  place_input(index, value->bytes, value);
  return TW_OK;
}

tw_status Context::set_default(uint32_t index) {
  const ModuleView& view = module_.view();
  if (index >= inputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no input %d, the module has %zu",
                static_cast<int>(index), inputs_.size());
  const format::PortRecord& port = view.inputs[index];
  if (port.source == kNone)
    return fail(TW_INVALID_ARGUMENT, "the tensor is NULL, and input `%s` has no default",
                view.name(port.name));
  const format::ConstantRecord& constant = view.constants[port.source];
  int64_t dims[kMaxRank];
  take_shape(index, default_shape(view, port, dims));
  Input& input = inputs_[index];
  input.data = constant.bytes > 0
                   ? static_cast<const void*>(view.constant_bytes.data() + constant.offset)
                   : no_elements;
  input.filled = true;
  place_input(index, static_cast<int64_t>(constant.bytes), nullptr);
  return TW_OK;
}

tw_status Context::bind_output(uint32_t index, void* data, size_t bytes) {
  const ModuleView& view = module_.view();
  if (index >= outputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no output %d, the module has %zu",
                static_cast<int>(index), outputs_.size());
  const format::PortRecord& port = view.outputs[index];
  if (data != nullptr && !port.type.is_tensor())
    return fail(TW_BAD_INPUT, "output `%s` is a %s, which has no memory of the caller's",
                view.name(port.name), module_.type_text(view.inputs.size() + index));
  if (reinterpret_cast<uintptr_t>(data) % port.alignment != 0)
    return fail(TW_BAD_INPUT, "the memory for output `%s` must lie at a multiple of %u bytes",
                view.name(port.name), port.alignment);
  Output& output = outputs_[index];
  clear(slots_[output.value]);
  output.bound = data;
  output.capacity = data == nullptr ? 0 : bytes;
  has_results_ = false;
  ports_checked_ = false;
  return TW_OK;
}

/// Memory that is written must not be somebody else's: kernels assume that it is not.
tw_status Context::ports_apart() {
  if (ports_checked_) return TW_OK;
  const ModuleView& view = module_.view();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(outputs_[i].bound);
    if (begin == 0) continue;
    const auto meets = [&](const void* data, size_t bytes) {
      const auto other = reinterpret_cast<uintptr_t>(data);
      return bytes > 0 && begin < other + bytes && other < begin + outputs_[i].capacity;
    };
    for (size_t k = 0; k < i; ++k)
      if (outputs_[k].bound != nullptr && meets(outputs_[k].bound, outputs_[k].capacity))
        return fail(TW_BAD_INPUT, "the memory of outputs `%s` and `%s` overlaps",
                    view.name(view.outputs[k].name), view.name(view.outputs[i].name));
    for (uint32_t k = 0; k < inputs_.size(); ++k) {
      const format::PortRecord& port = view.inputs[k];
      if (!port.type.is_tensor()) continue;
      const bool donated = inputs_[k].donated && view.outputs[i].source == k;
      const bool same = donated && outputs_[i].bound == inputs_[k].data;
      if (!same &&
          meets(inputs_[k].data, static_cast<size_t>(tensor_bytes(port.type.elem, input_dims(k)))))
        return fail(TW_BAD_INPUT,
                    "the memory of output `%s` overlaps input `%s`, which is not donated to it",
                    view.name(view.outputs[i].name), view.name(port.name));
    }
  }
  ports_checked_ = true;
  return TW_OK;
}

tw_status Context::output_shape(uint32_t index, int64_t* dims) {
  if (index >= outputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no output %d, the module has %zu",
                static_cast<int>(index), outputs_.size());
  cancel_.store(false, std::memory_order_relaxed);
  if (const tw_status s = infer_shapes(); s != TW_OK) return s;
  const uint32_t rank = module_.view().outputs[index].rank;
  const ValueId id = outputs_[index].value;
  const bool known = module_.facts().at_entry[id] != 0;
  for (uint32_t i = 0; i < rank; ++i)
    dims[i] = known ? entry_registers_[plan_.dims[plan_.values[id].dims + i]] : -1;
  return TW_OK;
}

tw_status Context::output(uint32_t index, tw_tensor& view) {
  if (index >= outputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no output %d, the module has %zu",
                static_cast<int>(index), outputs_.size());
  if (!has_results_) return fail(TW_INVALID_ARGUMENT, "there are no results: run first");
  const format::PortRecord& port = module_.view().outputs[index];
  if (!port.type.is_tensor())
    return fail(TW_INVALID_ARGUMENT, "output `%s` is a %s: get it by tw_output_value",
                module_.name(port.name), module_.type_text(inputs_.size() + index));
  const Slot& slot = slots_[outputs_[index].value];
  view = tensor_view(slot.data, port.type.elem, {slot.dims, port.rank});
  return TW_OK;
}

tw_status Context::output_value(uint32_t index, Value*& value) {
  if (index >= outputs_.size())
    return fail(TW_INVALID_ARGUMENT, "there is no output %d, the module has %zu",
                static_cast<int>(index), outputs_.size());
  if (!has_results_) return fail(TW_INVALID_ARGUMENT, "there are no results: run first");
  value = keep(outputs_[index].value);
  return value != nullptr ? TW_OK : fail(TW_OUT_OF_MEMORY, "no memory to keep an output");
}

}  // namespace tilewright::runtime
