// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/elem.h"
#include "runtime/blocks.h"

namespace tilewright::runtime {

/// Strings one after the other in one piece of memory: n + 1 offsets, then the characters.
struct PackedStrings {
  static std::string_view at(const void* data, int64_t count, int64_t i) {
    const auto* offsets = static_cast<const uint64_t*>(data);
    const auto* characters = reinterpret_cast<const char*>(offsets + count + 1);
    return {characters + offsets[i], offsets[i + 1] - offsets[i]};
  }
};

/// A runtime value that is counted and immutable: what sequences and optionals hold and what the C
/// ABI calls tw_value. (Tensors of a plan are slots of its context; they become values when
/// somebody keeps them.)
struct Value {
  std::atomic<int32_t> refs;
  ValueType type;
  int32_t rank;   // of tensors and strings
  int64_t count;  // elements; items of a sequence; 0 or 1 of an optional
  int64_t dims[kMaxRank];
  void* data;  // of tensors and strings: in `storage`
  int64_t bytes;
  Block* storage;
  Block* home;  // where this object lies, with its items behind it

  bool is_array() const { return type.is_tensor() || type.is_strings(); }
  std::span<const int64_t> shape() const { return {dims, static_cast<size_t>(rank)}; }
  Value** items() { return reinterpret_cast<Value**>(this + 1); }
  Value* const* items() const { return reinterpret_cast<Value* const*>(this + 1); }
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();
};

/// Makers return one reference, or nullptr when there is no memory.
/// A tensor or strings in `storage`, of which it takes a reference of its own.
Value* make_array(BlockPool& pool, ValueType type, std::span<const int64_t> dims, void* data,
                  int64_t bytes, Block* storage);
/// A sequence or optional of `count` items that are still nullptr; the caller fills them in with
/// references.
Value* make_container(BlockPool& pool, ValueType type, int64_t count);

int64_t element_count(std::span<const int64_t> dims);

}  // namespace tilewright::runtime
