// SPDX-License-Identifier: Apache-2.0
// From the caller's inputs to the state in which the body of the plan can run.
#include <cinttypes>
#include <cstring>

#include "module/shape.h"
#include "runtime/context.h"
#include "runtime/float_state.h"

namespace tilewright::runtime {

using Storage = PlanValue::Storage;

/// The message names the input and the dimension, and what the model allows.
tw_status Context::bind_dims() {
  const ModuleView& view = module_.view();
  // A register's first binding sets it; those of constants are set already.
  for (size_t r = plan_.constants.size(); r < registers_.size(); ++r) registers_[r] = -1;
  for (const DimBinding& b : plan_.bindings) {
    const format::PortRecord& port = view.inputs[b.input];
    const char* name = view.name(port.name);
    const char* symbol = b.symbol == kNone ? "" : view.name(b.symbol);
    const int64_t dim = input_dims_[port.first_dim + b.axis];
    int64_t& reg = registers_[b.reg];
    if (reg < 0 && b.reg >= plan_.constants.size()) reg = dim;
    if (reg != dim) {
      return fail(TW_BAD_INPUT,
                  "dimension %u of input `%s` is %" PRId64 ", but must be %" PRId64 "%s", b.axis,
                  name, dim, reg, b.reg < plan_.constants.size() ? "" : " as in another input");
    }
    if (dim < b.min || dim > b.max)
      return fail(TW_BAD_INPUT,
                  "dimension %u%s%s of input `%s` is %" PRId64
                  "; the module was compiled for %" PRId64 " to %" PRId64,
                  b.axis, symbol[0] != 0 ? ", " : "", symbol, name, dim, b.min, b.max);
    if (dim % b.divisor != 0)
      return fail(TW_BAD_INPUT,
                  "dimension %u%s%s of input `%s` is %" PRId64
                  "; the module was compiled for multiples of %" PRId64,
                  b.axis, symbol[0] != 0 ? ", " : "", symbol, name, dim, b.divisor);
  }
  for (size_t r = plan_.constants.size(); r < registers_.size(); ++r)
    if (registers_[r] < 0) registers_[r] = 0;
  return TW_OK;
}

tw_status Context::infer_shapes() {
  if (shapes_known_) return TW_OK;
  const ModuleView& view = module_.view();
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].shaped)
      return fail(TW_INVALID_ARGUMENT, "input `%s` is not set", view.name(view.inputs[i].name));
  placed_ = false;
  if (const tw_status s = bind_dims(); s != TW_OK) return s;
  if (const tw_status s = execute(0, plan_.prologue_words); s != TW_OK) return s;
  if (registers_.size() > 0)
    std::memcpy(entry_registers_.data(), registers_.data(), registers_.size() * sizeof(int64_t));
  shapes_known_ = true;
  return TW_OK;
}

tw_status Context::place_values() {
  if (placed_) return TW_OK;
  if (const tw_status s = grow(arena_, registers_[plan_.arena_bytes], "the arena"); s != TW_OK)
    return s;
  for (ValueId id = 0; id < plan_.values.size(); ++id)
    if (module_.facts().at_entry[id] != 0 && plan_.values[id].storage == Storage::Arena)
      if (const tw_status s = define(id); s != TW_OK) return s;
  placed_ = true;
  return TW_OK;
}

tw_status Context::inputs_filled() {
  const ModuleView& view = module_.view();
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].filled)
      return fail(TW_INVALID_ARGUMENT, "input `%s` has a shape but no data",
                  view.name(view.inputs[i].name));
  return TW_OK;
}

/// Outputs whose shape is known get their memory now; those that take over an input get its
/// content.
tw_status Context::fill_outputs() {
  const ModuleView& view = module_.view();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    Slot& slot = slots_[output.value];
    if (module_.facts().at_entry[output.value] == 0) {
      clear(slot);
      continue;
    }
    const uint32_t donor = view.outputs[i].source;
    if (donor != kNone && inputs_[donor].donated && output.bound == nullptr &&
        reinterpret_cast<uintptr_t>(inputs_[donor].data) % view.outputs[i].alignment == 0) {
      int64_t bytes = 0;
      clear(slot);
      if (const tw_status s = read_dims(output.value, slot, bytes); s != TW_OK) return s;
      slot.data = const_cast<void*>(inputs_[donor].data);
      slot.bytes = bytes;
    } else if (const tw_status s = allocate_slot(output.value, false); s != TW_OK) {
      return s;
    }
    if (donor == kNone) continue;
    const auto& port = view.inputs[donor];
    const int64_t bytes =
        tensor_bytes(port.type.elem, {input_dims_.data() + port.first_dim, port.rank});
    if (bytes != slot.bytes)
      return fail(TW_BAD_INPUT,
                  "input `%s` and output `%s`, which takes over its storage, differ in size",
                  view.name(port.name), view.name(view.outputs[i].name));
    if (slot.data != inputs_[donor].data && bytes > 0)
      std::memcpy(slot.data, inputs_[donor].data, static_cast<size_t>(bytes));
  }
  return TW_OK;
}

tw_status Context::enter() {
  if (const tw_status s = infer_shapes(); s != TW_OK) return s;
  if (const tw_status s = inputs_filled(); s != TW_OK) return s;
  if (const tw_status s = ports_apart(); s != TW_OK) return s;
  if (registers_.size() > 0)
    std::memcpy(registers_.data(), entry_registers_.data(), registers_.size() * sizeof(int64_t));
  if (const tw_status s = place_values(); s != TW_OK) return s;
  return fill_outputs();
}

void Context::leave(tw_status status) {
  for (const ValueId id : dynamic_values_) clear(slots_[id]);
  has_results_ = status == TW_OK;
}

tw_status Context::run_plan() {
  error_.clear();
  has_results_ = false;
  if (const tw_status s = enter(); s != TW_OK) return s;
  const FloatState state(module_.view().flush_subnormals);
  tw_status status = execute(plan_.prologue_words, static_cast<uint32_t>(plan_.code.size()));
  for (size_t i = 0; i < outputs_.size() && status == TW_OK; ++i)
    if (live(outputs_[i].value) == nullptr)
      status = fail(TW_RUN_FAILED, "the module's plan is broken: it does not set output `%s`",
                    module_.name(module_.view().outputs[i].name));
  leave(status);
  return status;
}

tw_status Context::run() {
  if (running_.exchange(true, std::memory_order_acquire)) return TW_BUSY;
  cancel_.store(false, std::memory_order_relaxed);
  const tw_status status = run_plan();
  running_.store(false, std::memory_order_release);
  return status;
}

}  // namespace tilewright::runtime
