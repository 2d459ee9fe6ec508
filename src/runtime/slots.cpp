// SPDX-License-Identifier: Apache-2.0
// Values while a plan runs: where they lie, and how they come and go.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "module/shape.h"
#include "runtime/context.h"

namespace tilewright::runtime {
namespace {

using Storage = PlanValue::Storage;

bool is_array(const PlanValue& v) { return v.type.is_tensor() || v.type.is_strings(); }

}  // namespace

alignas(64) char no_elements[64];

void Context::clear(Slot& slot) {
  if (slot.block != nullptr) slot.block->release();
  if (slot.object != nullptr) slot.object->release();
  slot.block = nullptr;
  slot.object = nullptr;
  slot.data = nullptr;
  slot.bytes = 0;
  slot.read_only = false;
}

Slot* Context::live(ValueId id) {
  Slot& slot = slots_[id];
  const PlanValue& v = plan_.values[id];
  if (!is_array(v)) return slot.object != nullptr ? &slot : nullptr;
  if (slot.data == nullptr) return nullptr;
  // What it is a view of may have moved or gone.
  for (ValueId view = id; plan_.values[view].storage == Storage::View;) {
    const ValueId root = plan_.values[view].index;
    const auto begin = reinterpret_cast<uintptr_t>(slots_[view].data);
    const auto all = reinterpret_cast<uintptr_t>(slots_[root].data);
    if (all == 0 || begin < all ||
        begin - all + static_cast<uint64_t>(slots_[view].bytes) >
            static_cast<uint64_t>(slots_[root].bytes))
      return nullptr;
    view = root;
  }
  return &slot;
}

tw_status Context::undefined(ValueId id) {
  return fail(TW_RUN_FAILED, "the module's plan is broken: it uses value %u before it is set", id);
}

/// What the model calls a value that is allocated while the plan runs; nullptr: nothing.
const char* Context::value_name(ValueId id) const {
  const PlanValue& v = plan_.values[id];
  if (v.storage == Storage::Output) return module_.name(module_.view().outputs[v.index].name);
  return v.storage == Storage::Dynamic && v.index != kNone ? module_.name(v.index) : nullptr;
}

Block* Context::block_of(ValueId id) const {
  while (plan_.values[id].storage == Storage::View) id = plan_.values[id].index;
  return slots_[id].block;
}

/// Memory that was shared may belong to somebody who relies on it: an input, a constant, an item of
/// a sequence, another value.
tw_status Context::may_write(ValueId id) {
  while (plan_.values[id].storage == Storage::View) id = plan_.values[id].index;
  const Slot& slot = slots_[id];
  if (!slot.read_only && (slot.block == nullptr || slot.block->only_reference())) return TW_OK;
  return fail(TW_RUN_FAILED, "the module's plan is broken: it writes to value %u, which is shared",
              id);
}

tw_status Context::read_dims(ValueId id, Slot& slot, int64_t& bytes) {
  const PlanValue& v = plan_.values[id];
  const Reg* dims = plan_.dims.data() + v.dims;
  for (uint32_t i = 0; i < v.rank; ++i) slot.dims[i] = registers_[dims[i]];
  bytes = tensor_bytes(v.type.elem, {slot.dims, v.rank});
  if (bytes >= 0) return TW_OK;
  for (uint32_t i = 0; i < v.rank; ++i)
    if (slot.dims[i] < 0)
      return fail(TW_RUN_FAILED, "a tensor of the model would have dimension %u = %" PRId64, i,
                  slot.dims[i]);
  return fail(TW_RUN_FAILED, "a tensor of the model would be too large for any memory");
}

tw_status Context::define(ValueId id) {
  const PlanValue& v = plan_.values[id];
  Slot& slot = slots_[id];
  int64_t bytes = 0;
  if (const tw_status s = read_dims(id, slot, bytes); s != TW_OK) return s;
  const int64_t offset = registers_[v.offset];
  std::byte* base = static_cast<std::byte*>(arena_.data);
  auto space = static_cast<int64_t>(arena_.bytes);
  if (v.storage == Storage::View) {
    const Slot* root = live(v.index);
    if (root == nullptr) return undefined(v.index);
    base = static_cast<std::byte*>(root->data);
    space = root->bytes;
  }
  if (offset < 0 || offset > space || bytes > space - offset)
    return fail(TW_RUN_FAILED, "the module's plan is broken: value %u lies outside of its memory",
                id);
  slot.data = base == nullptr ? static_cast<void*>(no_elements) : base + offset;
  slot.bytes = bytes;
  return TW_OK;
}

tw_status Context::memory_for(ValueId id, Slot& slot, int64_t bytes, bool keep_content) {
  const PlanValue& v = plan_.values[id];
  if (v.storage == Storage::Output && v.type.is_tensor()) {
    const Output& output = outputs_[v.index];
    if (output.bound != nullptr) {
      if (static_cast<uint64_t>(bytes) > output.capacity)
        return fail(TW_BAD_INPUT, "output `%s` has %" PRId64 " bytes, the memory bound to it %zu",
                    module_.name(module_.view().outputs[v.index].name), bytes, output.capacity);
      slot.data = output.bound;
      slot.bytes = bytes;
      slot.read_only = false;
      return TW_OK;
    }
  }
  Block* block = slot.block;
  if (block == nullptr || !block->only_reference() ||
      block->capacity < static_cast<uint64_t>(bytes)) {
    const bool copy = keep_content && slot.data != nullptr;
    const int64_t wanted =
        copy && slot.bytes < INT64_MAX / 4 ? std::max(bytes, 2 * slot.bytes) : bytes;
    if (!copy) clear(slot);  // before it asks for more
    block = pool_->get(wanted);
    if (block == nullptr) {
      const char* name = value_name(id);
      return no_memory(name != nullptr ? "tensor" : "a tensor", name, bytes);
    }
    if (copy)
      std::memcpy(block->data(), slot.data, static_cast<size_t>(std::min(bytes, slot.bytes)));
    if (slot.block != nullptr) slot.block->release();
    slot.block = block;
  }
  slot.data = block->data();
  slot.bytes = bytes;
  slot.read_only = false;
  return TW_OK;
}

tw_status Context::allocate_slot(ValueId id, bool keep_content) {
  Slot& slot = slots_[id];
  int64_t bytes = 0;
  if (const tw_status s = read_dims(id, slot, bytes); s != TW_OK) return s;
  return memory_for(id, slot, bytes, keep_content);
}

tw_status Context::allocate(ValueId id, std::span<const int64_t> dims, int64_t bytes) {
  const PlanValue& v = plan_.values[id];
  Slot& slot = slots_[id];
  if (dims.size() != v.rank)
    return fail(TW_RUN_FAILED, "a result has %zu dimensions instead of %u", dims.size(), v.rank);
  if (v.own_shape == 0) {
    int64_t expected = 0;
    if (const tw_status s = read_dims(id, slot, expected); s != TW_OK) return s;
    for (uint32_t i = 0; i < v.rank; ++i)
      if (slot.dims[i] != dims[i])
        return fail(TW_RUN_FAILED, "dimension %u of a result is %" PRId64 " instead of %" PRId64, i,
                    dims[i], slot.dims[i]);
    if (v.storage != Storage::Dynamic && v.storage != Storage::Output)
      return live(id) != nullptr ? TW_OK : undefined(id);
    if (module_.facts().at_entry[id] != 0) return TW_OK;
  }
  for (uint32_t i = 0; i < v.rank; ++i) slot.dims[i] = dims[i];
  return memory_for(id, slot, bytes, false);
}

tw_status Context::take(ValueId id, Value* value) {
  const PlanValue& v = plan_.values[id];
  Slot& slot = slots_[id];
  tw_status status = TW_OK;
  if (value->type != v.type) {
    status = fail(TW_RUN_FAILED, "a result is of another type than the model says");
  } else if (!value->is_array()) {
    clear(slot);
    slot.object = value;
    return TW_OK;
  } else if (v.own_shape == 0 || (v.storage == Storage::Output && v.type.is_tensor() &&
                                  outputs_[v.index].bound != nullptr)) {
    status = allocate(id, value->shape(), value->bytes);
    if (status == TW_OK && value->bytes > 0)
      std::memcpy(slot.data, value->data, static_cast<size_t>(value->bytes));
  } else if (value->rank != v.rank) {
    status = fail(TW_RUN_FAILED, "a result has %d dimensions instead of %u", value->rank, v.rank);
  } else {
    value->storage->retain();
    clear(slot);
    slot.data = value->data;
    slot.bytes = value->bytes;
    slot.block = value->storage;
    std::copy_n(value->dims, v.rank, slot.dims);
  }
  value->release();
  return status;
}

Value* Context::keep(ValueId id) {
  const Slot* slot = live(id);
  if (slot == nullptr) return nullptr;
  const PlanValue& v = plan_.values[id];
  if (!is_array(v)) {
    slot->object->retain();
    return slot->object;
  }
  const std::span<const int64_t> dims{slot->dims, v.rank};
  if (Block* block = block_of(id))
    return make_array(*pool_, v.type, dims, slot->data, slot->bytes, block);
  Block* block = pool_->get(slot->bytes);
  if (block == nullptr) return nullptr;
  if (slot->bytes > 0) std::memcpy(block->data(), slot->data, static_cast<size_t>(slot->bytes));
  Value* value = make_array(*pool_, v.type, dims, block->data(), slot->bytes, block);
  block->release();
  return value;
}

tw_status Context::share(ValueId to, ValueId from) {
  if (to == from) return TW_OK;
  const Slot* source = live(from);
  if (source == nullptr) return undefined(from);
  const PlanValue& v = plan_.values[to];
  Block* block = block_of(from);
  if (!is_array(v)) {
    source->object->retain();
    return take(to, source->object);
  }
  // An output outlives the run and with it all memory that is not counted.
  if (v.storage == Storage::Output &&
      (block == nullptr || (v.type.is_tensor() && outputs_[v.index].bound != nullptr))) {
    const std::span<const int64_t> dims{source->dims, v.rank};
    if (const tw_status s = allocate(to, dims, source->bytes); s != TW_OK) return s;
    if (source->bytes > 0)
      std::memmove(slots_[to].data, source->data, static_cast<size_t>(source->bytes));
    return TW_OK;
  }
  if (block != nullptr) block->retain();
  Slot& slot = slots_[to];
  ValueId root = from;
  while (plan_.values[root].storage == Storage::View) root = plan_.values[root].index;
  void* data = source->data;
  const int64_t bytes = source->bytes;
  const bool read_only = slots_[root].read_only;
  clear(slot);
  slot.data = data;
  slot.bytes = bytes;
  slot.block = block;
  slot.read_only = read_only;
  std::copy_n(source->dims, v.rank, slot.dims);
  return TW_OK;
}

tw_status Context::copy(ValueId to, ValueId from) {
  const Slot *target = live(to), *source = live(from);
  if (target == nullptr) return undefined(to);
  if (source == nullptr) return undefined(from);
  if (const tw_status s = may_write(to); s != TW_OK) return s;
  if (target->bytes != source->bytes)
    return fail(TW_RUN_FAILED, "a tensor of %" PRId64 " bytes is copied to one of %" PRId64,
                source->bytes, target->bytes);
  if (source->bytes > 0)
    std::memmove(target->data, source->data, static_cast<size_t>(source->bytes));
  return TW_OK;
}

tw_status Context::load_element(ValueId id, int64_t index, int64_t& value) {
  const Slot* slot = live(id);
  if (slot == nullptr) return undefined(id);
  const PlanValue& v = plan_.values[id];
  const int64_t count = element_count({slot->dims, v.rank});
  if (index < 0 || index >= count)
    return fail(TW_RUN_FAILED, "element %" PRId64 " of a tensor with %" PRId64 " is read", index,
                count);
  const int bits = bits_of(v.type.elem);
  uint64_t word = 0;
  const auto* bytes = static_cast<const unsigned char*>(slot->data);
  if (bits >= 8)
    std::memcpy(&word, bytes + index * (bits / 8), static_cast<size_t>(bits) / 8);
  else
    word = bytes[index * bits / 8] >> (index * bits % 8) & ((1u << bits) - 1);
  const bool is_signed = v.type.elem >= ElemType::I2 && v.type.elem <= ElemType::I64;
  if (is_signed)
    word = static_cast<uint64_t>(static_cast<int64_t>(word << (64 - bits)) >> (64 - bits));
  value = static_cast<int64_t>(word);
  if (v.type.elem == ElemType::U64 && value < 0)
    return fail(TW_RUN_FAILED, "a size is read from a u64 that is beyond 2^63");
  return TW_OK;
}

tw_status Context::store_element(ValueId id, int64_t index, int64_t value) {
  const Slot* slot = live(id);
  if (slot == nullptr) return undefined(id);
  if (const tw_status s = may_write(id); s != TW_OK) return s;
  const PlanValue& v = plan_.values[id];
  const int64_t count = element_count({slot->dims, v.rank});
  if (index < 0 || index >= count)
    return fail(TW_RUN_FAILED, "element %" PRId64 " of a tensor with %" PRId64 " is written", index,
                count);
  const auto bytes = static_cast<size_t>(bits_of(v.type.elem)) / 8;
  std::memcpy(static_cast<char*>(slot->data) + static_cast<size_t>(index) * bytes, &value, bytes);
  return TW_OK;
}

}  // namespace tilewright::runtime
