// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "module/shape.h"
#include "runtime/api.h"
#include "runtime/host_ops/host_op.h"
#include "runtime/tensor.h"

using namespace tilewright;
using namespace tilewright::runtime;

namespace {

tw_status no_memory() { return fail_in_thread(TW_OUT_OF_MEMORY, "no memory for a value"); }

bool elem_ok(tw_elem elem) {
  return static_cast<int>(elem) >= 0 && static_cast<int>(elem) < kElemTypeCount;
}

/// A value with memory of its own, to be filled; nullptr when there is none.
Value* new_array(BlockPool& pool, ValueType type, std::span<const int64_t> dims, int64_t bytes) {
  Block* block = pool.get(bytes);
  if (block == nullptr) return nullptr;
  Value* value = make_array(pool, type, dims, block->data(), bytes, block);
  block->release();
  return value;
}

}  // namespace

extern "C" {

tw_status tw_value_tensor(tw_module* module, const tw_tensor* tensor, tw_value** value) {
  if (module == nullptr || tensor == nullptr || value == nullptr)
    return fail_in_thread(TW_INVALID_ARGUMENT, "an argument is NULL");
  const int elem = elem_of(*tensor);
  if (elem < 0 || tensor->device_type != 1 || tensor->rank < 0 || tensor->rank > kMaxRank ||
      (tensor->rank > 0 && tensor->dims == nullptr) || !is_compact(*tensor))
    return fail_in_thread(TW_BAD_INPUT,
                          "the tensor must be compact, in the CPU's memory and of a known type");
  const std::span<const int64_t> dims{tensor->dims, static_cast<size_t>(tensor->rank)};
  const ValueType type{static_cast<ElemType>(elem)};
  const int64_t bytes = tensor_bytes(type.elem, dims);
  if (bytes < 0 || (bytes > 0 && tensor->data == nullptr))
    return fail_in_thread(TW_BAD_INPUT, "the tensor has no data, or impossible dimensions");
  Value* made = new_array(from_c(module)->pool(), type, dims, bytes);
  if (made == nullptr) return no_memory();
  if (bytes > 0)
    std::memcpy(made->data, static_cast<const std::byte*>(tensor->data) + tensor->byte_offset,
                static_cast<size_t>(bytes));
  *value = to_c(made);
  return TW_OK;
}

tw_status tw_value_strings(tw_module* module, const tw_string* strings, int32_t rank,
                           const int64_t* dims, tw_value** value) {
  if (module == nullptr || value == nullptr || rank < 0 || rank > kMaxRank ||
      (rank > 0 && dims == nullptr))
    return fail_in_thread(TW_INVALID_ARGUMENT, "an argument is NULL, or the rank is impossible");
  const std::span<const int64_t> shape{dims, static_cast<size_t>(rank)};
  int64_t bytes = tensor_bytes(ElemType::I64, shape);
  if (bytes < 0 || (bytes > 0 && strings == nullptr))
    return fail_in_thread(TW_BAD_INPUT, "there are no strings, or impossible dimensions");
  const int64_t count = bytes / 8;
  bytes += 8;
  for (int64_t i = 0; i < count; ++i)
    if (strings[i].bytes > static_cast<size_t>(INT64_MAX - bytes))
      return no_memory();
    else
      bytes += static_cast<int64_t>(strings[i].bytes);
  Value* made = new_array(from_c(module)->pool(), {ElemType::String}, shape, bytes);
  if (made == nullptr) return no_memory();
  StringsWriter out(made->data, count);
  for (int64_t i = 0; i < count; ++i) out.add({strings[i].data, strings[i].bytes});
  *value = to_c(made);
  return TW_OK;
}

tw_status tw_value_sequence(tw_module* module, tw_elem elem, tw_value* const* items, size_t count,
                            tw_value** value) {
  if (module == nullptr || value == nullptr || !elem_ok(elem) || (count > 0 && items == nullptr))
    return fail_in_thread(TW_INVALID_ARGUMENT, "an argument is NULL or no element type");
  const ValueType inner{static_cast<ElemType>(elem)};
  for (size_t i = 0; i < count; ++i)
    if (items[i] == nullptr || from_c(items[i])->type != inner)
      return fail_in_thread(TW_BAD_INPUT, "an item is not a tensor of the sequence's type");
  Value* made = make_container(from_c(module)->pool(), {inner.elem, {ValueType::Wrap::Sequence}},
                               static_cast<int64_t>(count));
  if (made == nullptr) return no_memory();
  for (size_t i = 0; i < count; ++i) {
    made->items()[i] = from_c(items[i]);
    made->items()[i]->retain();
  }
  *value = to_c(made);
  return TW_OK;
}

tw_status tw_value_optional(tw_module* module, tw_kind of, tw_elem elem, tw_value* item,
                            tw_value** value) {
  if (module == nullptr || value == nullptr || !elem_ok(elem))
    return fail_in_thread(TW_INVALID_ARGUMENT, "an argument is NULL or no element type");
  ValueType type{static_cast<ElemType>(elem), {ValueType::Wrap::Optional}};
  if (of == TW_SEQUENCE) type.wraps[1] = ValueType::Wrap::Sequence;
  if (item != nullptr && from_c(item)->type != type.inner())
    return fail_in_thread(TW_BAD_INPUT, "the item is of another type than the optional");
  Value* made = make_container(from_c(module)->pool(), type, item != nullptr ? 1 : 0);
  if (made == nullptr) return no_memory();
  if (item != nullptr) {
    made->items()[0] = from_c(item);
    made->items()[0]->retain();
  }
  *value = to_c(made);
  return TW_OK;
}

void tw_value_retain(tw_value* value) {
  if (value != nullptr) from_c(value)->retain();
}

void tw_value_release(tw_value* value) {
  if (value != nullptr) from_c(value)->release();
}

tw_kind tw_value_kind(const tw_value* value) {
  const ValueType type = from_c(value)->type;
  return type.is_sequence()   ? TW_SEQUENCE
         : type.is_optional() ? TW_OPTIONAL
         : type.is_strings()  ? TW_STRINGS
                              : TW_TENSOR;
}

tw_elem tw_value_elem(const tw_value* value) {
  return static_cast<tw_elem>(from_c(value)->type.elem);
}

tw_status tw_value_view(const tw_value* value, tw_tensor* view) {
  const Value* v = value == nullptr ? nullptr : from_c(value);
  if (v == nullptr || view == nullptr || !v->is_array())
    return fail_in_thread(TW_INVALID_ARGUMENT, "only tensors have a view");
  *view = tensor_view(v->type.is_tensor() ? v->data : nullptr, v->type.elem,
                      {const_cast<int64_t*>(v->dims), static_cast<size_t>(v->rank)});
  return TW_OK;
}

int64_t tw_value_count(const tw_value* value) { return from_c(value)->count; }

tw_status tw_value_string(const tw_value* value, int64_t index, tw_string* text) {
  const Value* v = value == nullptr ? nullptr : from_c(value);
  if (v == nullptr || text == nullptr || !v->type.is_strings() || index < 0 || index >= v->count)
    return fail_in_thread(TW_INVALID_ARGUMENT, "there is no string of this index");
  const std::string_view s = PackedStrings::at(v->data, v->count, index);
  *text = {s.data(), s.size()};
  return TW_OK;
}

const tw_value* tw_value_item(const tw_value* value, int64_t index) {
  const Value* v = from_c(value);
  return !v->is_array() && index >= 0 && index < v->count ? to_c(v->items()[index]) : nullptr;
}

}  // extern "C"
