// SPDX-License-Identifier: Apache-2.0
// Calls of kernels and host operators.
#include <algorithm>
#include <cinttypes>
#include <time.h>

#include "module/plan_ops.h"
#include "runtime/context.h"
#include "support/bare/large_pages.h"

namespace tilewright::runtime {
namespace {

int64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

constexpr int64_t kAlignment = 64;

}  // namespace

/// Memory that had to grow before may have to again: sizes that rise from run to run ask for it now
/// and then only.
tw_status Context::grow(Memory& memory, int64_t bytes, const char* what) {
  const auto before = static_cast<int64_t>(memory.bytes);
  if (bytes <= before) return TW_OK;
  if (before > 0 && bytes < before + before / 2 &&
      reserve(memory, before + before / 2, what) == TW_OK)
    return TW_OK;
  return reserve(memory, bytes, what);
}

tw_status Context::reserve(Memory& memory, int64_t bytes, const char* what) {
  if (bytes <= static_cast<int64_t>(memory.bytes)) return TW_OK;
  give_back(memory);
  const bool large = on_large_pages(bytes);
  if (!pool_->count(static_cast<size_t>(bytes))) return no_memory(what, nullptr, bytes);
  void* data = allocator_.get(static_cast<size_t>(bytes), large ? kLargePage : kAlignment);
  if (data == nullptr) {
    pool_->uncount(static_cast<size_t>(bytes));
    return no_memory(what, nullptr, bytes);
  }
  if (large) use_large_pages(data, bytes);
  memory = {data, static_cast<size_t>(bytes)};
  return TW_OK;
}

void Context::give_back(Memory& memory) {
  if (memory.data != nullptr) {
    pool_->uncount(memory.bytes);
    allocator_.put(memory.data, memory.bytes);
  }
  memory = {};
}

/// `name`: what the model calls it; may be nullptr.
tw_status Context::no_memory(const char* what, const char* name, int64_t bytes) {
  const auto held = static_cast<size_t>(held_bytes());
  const char *before = name != nullptr ? " `" : "", *after = name != nullptr ? "`" : "";
  if (name == nullptr) name = "";
  // A block is up to a quarter larger.
  const auto most = static_cast<size_t>(bytes) + static_cast<size_t>(bytes) / 4 + 256;
  if (most > pool_->limit() - std::min(held, pool_->limit()))
    return fail(TW_OUT_OF_MEMORY,
                "%s%s%s%s of %" PRId64
                " bytes does not fit: the context holds %zu bytes and may "
                "hold %zu (memory_limit)",
                what, before, name, after, bytes, held, pool_->limit());
  return fail(TW_OUT_OF_MEMORY, "no memory for %s%s%s%s of %" PRId64 " bytes", what, before, name,
              after, bytes);
}

/// What the verifier could not prove: the parameters are there, lie apart and are aligned.
tw_status Context::checked_buffers(const uint32_t* words) {
  const VariantView& variant = module_.variant();
  const format::KernelRecord& kernel = variant.kernels[words[1]];
  const KernelParam* params = variant.params.data() + kernel.first_param;
  const uint32_t count = words[4];
  const uint32_t* values = words + kCallHead;
  const auto address = [&](uint32_t i) {
    return reinterpret_cast<uintptr_t>(slots_[values[i]].data);
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (live(values[i]) == nullptr) return undefined(values[i]);
    if ((address(i) & ((uintptr_t{1} << params[i].log2_alignment) - 1)) != 0)
      return fail(TW_RUN_FAILED,
                  "the module's plan is broken: parameter %u of kernel `%s` is not aligned", i,
                  module_.name(kernel.name));
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (params[i].access == KernelParam::Access::Read) continue;
    if (const tw_status s = may_write(values[i]); s != TW_OK) return s;
    const auto bytes = static_cast<uintptr_t>(slots_[values[i]].bytes);
    for (uint32_t k = 0; k < count; ++k) {
      const auto others = static_cast<uintptr_t>(slots_[values[k]].bytes);
      if (k != i && bytes > 0 && others > 0 && address(i) < address(k) + others &&
          address(k) < address(i) + bytes)
        return fail(TW_RUN_FAILED,
                    "the module's plan is broken: parameters %u and %u of kernel `%s` overlap", i,
                    k, module_.name(kernel.name));
    }
  }
  return TW_OK;
}

tw_status Context::call(const uint32_t* words, bool checked) {
  if (checked)
    if (const tw_status s = checked_buffers(words); s != TW_OK) return s;
  const uint32_t n_buffers = words[4], n_scalars = words[5];
  const uint32_t* operands = words + kCallHead;
  void** const buffers = buffers_.data();
  int64_t* const scalars = scalars_.data();
  const Slot* const slots = slots_.data();
  const int64_t* const registers = registers_.data();
  for (uint32_t i = 0; i < n_buffers; ++i) buffers[i] = slots[operands[i]].data;
  for (uint32_t i = 0; i < n_scalars; ++i) scalars[i] = registers[operands[n_buffers + i]];

  const int64_t workspace = registers[words[2]], scratch = registers[words[3]];
  host_.workspace = nullptr;
  host_.scratch = nullptr;
  host_.scratch_bytes = 0;
  if ((workspace | scratch) != 0) {
    int64_t all = 0;
    if (workspace < 0 || scratch < 0 || scratch > INT64_MAX - kAlignment ||
        __builtin_mul_overflow((scratch + kAlignment - 1) / kAlignment * kAlignment,
                               int64_t{host_.workers}, &all))
      return fail(TW_RUN_FAILED, "a kernel's workspace would have %" PRId64 " bytes",
                  workspace < 0 ? workspace : scratch);
    if (const tw_status s = grow(workspace_, workspace, "a workspace"); s != TW_OK) return s;
    if (const tw_status s = grow(scratch_, all, "a workspace"); s != TW_OK) return s;
    if (workspace > 0) host_.workspace = workspace_.data;
    if (scratch > 0) {
      host_.scratch = scratch_.data;
      host_.scratch_bytes = all / host_.workers;
    }
  }

  const int64_t begin = observer_ != nullptr ? nanoseconds() : 0;
  const int32_t result = module_.kernels()[words[1]](buffers, scalars, &host_);
  if (result != 0)
    return fail(TW_RUN_FAILED, "kernel `%s` returned %d",
                module_.name(module_.variant().kernels[words[1]].name), result);
  if (observer_ != nullptr)
    tell(module_.name(module_.variant().kernels[words[1]].name), false, words, begin);
  return TW_OK;
}

tw_status Context::host_call(const uint32_t* words) {
  for (uint32_t i = 0; i < words[3]; ++i) {
    const ValueId id = words[kHostCallHead + i];
    if (id != kNone && live(id) == nullptr) return undefined(id);
  }
  const int64_t begin = observer_ != nullptr ? nanoseconds() : 0;
  const HostOp& op = *module_.host_ops()[words[1]];
  HostCall call(*this, words);
  const tw_status status = op.run(call);
  if (observer_ != nullptr && status == TW_OK) tell(op.name, true, words, begin);
  return status;
}

void Context::tell(const char* name, bool host_op, const uint32_t* words, int64_t begin) {
  const tw_event event{.name = name,
                       .is_host_op = host_op ? 1 : 0,
                       .instruction = static_cast<int32_t>(words - plan_.code.data()),
                       .begin_ns = begin,
                       .end_ns = nanoseconds()};
  observer_(observer_user_, &event);
}

}  // namespace tilewright::runtime
