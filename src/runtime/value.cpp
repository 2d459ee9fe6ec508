// SPDX-License-Identifier: Apache-2.0
#include "runtime/value.h"

#include <new>

namespace tilewright::runtime {
namespace {

Value* make(BlockPool& pool, ValueType type, int64_t items) {
  int64_t bytes = 0;
  if (items < 0 || __builtin_mul_overflow(items, int64_t{sizeof(Value*)}, &bytes) ||
      __builtin_add_overflow(bytes, int64_t{sizeof(Value)}, &bytes))
    return nullptr;
  Block* home = pool.get(bytes);
  if (home == nullptr) return nullptr;
  auto* value = new (home->data()) Value();
  value->refs.store(1, std::memory_order_relaxed);
  value->type = type;
  value->count = items;
  value->home = home;
  return value;
}

}  // namespace

void Value::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (storage != nullptr) storage->release();
  if (!is_array())
    for (int64_t i = 0; i < count; ++i)
      if (items()[i] != nullptr) items()[i]->release();
  home->release();
}

Value* make_array(BlockPool& pool, ValueType type, std::span<const int64_t> dims, void* data,
                  int64_t bytes, Block* storage) {
  Value* value = make(pool, type, 0);
  if (value == nullptr) return nullptr;
  value->rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) value->dims[i] = dims[i];
  value->count = element_count(dims);
  value->data = data;
  value->bytes = bytes;
  value->storage = storage;
  storage->retain();
  return value;
}

Value* make_container(BlockPool& pool, ValueType type, int64_t count) {
  Value* value = make(pool, type, count);
  if (value == nullptr) return nullptr;
  for (int64_t i = 0; i < count; ++i) value->items()[i] = nullptr;
  return value;
}

int64_t element_count(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  return count;
}

}  // namespace tilewright::runtime
