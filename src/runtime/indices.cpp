// SPDX-License-Identifier: Apache-2.0
// Whether indices that a tensor holds lie in range.
#include <cinttypes>

#include "runtime/context.h"

namespace tilewright::runtime {
namespace {

/// Elements first, first + step, … of `count`.
struct Indices {
  const void* data;
  int64_t count, first, step;
};

/// Is one of the elements begin, begin + step, … not in -extent … extent - 1?
template <class T>
bool any_outside(const Indices& all, int64_t begin, int64_t end, int64_t extent) {
  const T* const data = static_cast<const T*>(all.data);
  // Sums that wrap: one of them is negative just where the index is out of range. Nothing jumps, so
  // that vectors of them are computed.
  const auto n = static_cast<uint64_t>(extent);
  uint64_t any = 0;
  const auto add = [&](int64_t at) {
    const auto i = static_cast<uint64_t>(static_cast<int64_t>(data[at]));
    any |= (i + n) | (n - 1 - i);
  };
  if (all.step == 1)
    for (int64_t i = begin; i < end; ++i) add(i);
  else
    for (int64_t i = begin; i < end; i += all.step) add(i);
  return any >> 63 != 0;
}

using AnyOutside = bool (*)(const Indices& all, int64_t begin, int64_t end, int64_t extent);

AnyOutside function_of(ElemType elem) {
  switch (elem) {
    case ElemType::I8: return any_outside<int8_t>;
    case ElemType::I16: return any_outside<int16_t>;
    case ElemType::I32: return any_outside<int32_t>;
    case ElemType::U8: return any_outside<uint8_t>;
    case ElemType::U16: return any_outside<uint16_t>;
    case ElemType::U32: return any_outside<uint32_t>;
    // Of a u64 beyond 2^63 kernels see the same bits as i64.
    default: return any_outside<int64_t>;
  }
}

/// Many indices are read by all threads, a block at a time.
struct Search {
  static constexpr int64_t kBlock = 1 << 14;
  const Indices& all;
  const AnyOutside function;
  const int64_t extent;
  bool found = false;

  int64_t blocks() const {
    return (all.count - all.first + all.step * kBlock - 1) / (all.step * kBlock);
  }
  static void run(void* self, int64_t begin, int64_t end, int32_t) {
    auto* const s = static_cast<Search*>(self);
    const int64_t block = s->all.step * kBlock;
    const int64_t first = s->all.first + begin * block;
    const int64_t last = end == s->blocks() ? s->all.count : s->all.first + end * block;
    if (s->function(s->all, first, last, s->extent))
      __atomic_store_n(&s->found, true, __ATOMIC_RELAXED);
  }
};

}  // namespace

tw_status Context::check_indices(const uint32_t* words) {
  const ValueId id = words[1];
  const Slot* slot = live(id);
  if (slot == nullptr) return undefined(id);
  const PlanValue& v = plan_.values[id];
  const int64_t count = element_count({slot->dims, v.rank});
  const int64_t extent = registers_[words[2]];
  const Indices all{slot->data, count, words[3], words[4]};
  Search search{all, function_of(v.type.elem), extent};
  if (count <= Search::kBlock)
    search.found = search.function(all, all.first, count, extent);
  else
    host_.parallel_for(host_.context, search.blocks(), Search::run, &search);
  if (!search.found) return TW_OK;
  // Where the caller writes to the indices during the run, none may be wrong by now.
  int64_t at = all.first;
  while (at < count && !search.function(all, at, at + 1, extent)) at += all.step;
  if (at >= count)
    return fail(TW_RUN_FAILED, "%s: the indices were written to during the run",
                module_.name(words[5]));
  int64_t index = 0;
  if (const tw_status s = load_element(id, at, index); s != TW_OK) return s;
  if (extent == 0)
    return fail(TW_RUN_FAILED, "%s: index %" PRId64 " is out of range: the dimension is empty",
                module_.name(words[5]), index);
  return fail(TW_RUN_FAILED,
              "%s: index %" PRId64 " is out of range: the dimension has %" PRId64
              " elements, give indices from %" PRId64 " to %" PRId64,
              module_.name(words[5]), index, extent, -extent, extent - 1);
}

}  // namespace tilewright::runtime
