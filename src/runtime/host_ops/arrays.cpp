// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_ops/arrays.h"

#include <cstring>

#include "module/shape.h"

namespace tilewright::runtime {
namespace {

/// An array as [outer, axis, inner].
struct Split {
  int64_t outer = 1, axis = 1, inner = 1;

  Split(std::span<const int64_t> dims, size_t at) {
    for (size_t i = 0; i < dims.size(); ++i) (i < at ? outer : i == at ? axis : inner) *= dims[i];
  }
};

/// Characters of the strings begin … end − 1.
int64_t characters_in(const ArrayView& array, int64_t begin, int64_t end) {
  const auto* offsets = static_cast<const uint64_t*>(array.data);
  return static_cast<int64_t>(offsets[end] - offsets[begin]);
}

}  // namespace

Value* slice_of(HostCall& call, const ArrayView& array, size_t axis, int64_t begin, int64_t end,
                bool drop) {
  const Split split(array.dims, axis);
  int64_t dims[kMaxRank];
  size_t rank = 0;
  for (size_t i = 0; i < array.dims.size(); ++i)
    if (i != axis)
      dims[rank++] = array.dims[i];
    else if (!drop)
      dims[rank++] = end - begin;
  const std::span<const int64_t> shape{dims, rank};
  const int64_t run = (end - begin) * split.inner, step = split.axis * split.inner;
  const int64_t first = begin * split.inner;

  const bool strings = array.type.is_strings();
  const int bits = bits_of(array.type.elem);
  int64_t bytes = strings ? 8 * (element_count(shape) + 1) : tensor_bytes(array.type.elem, shape);
  if (strings)
    for (int64_t o = 0; o < split.outer; ++o)
      bytes += characters_in(array, o * step + first, o * step + first + run);
  if (!strings && bits < 8 &&
      (run * bits % 8 != 0 || first * bits % 8 != 0 || step * bits % 8 != 0)) {
    call.fail("elements of %s cannot be cut between bytes", name_of(array.type.elem));
    return nullptr;
  }
  Block* block = call.pool().get(bytes);
  if (block == nullptr) {
    call.fail("there is no memory for a tensor of %lld bytes", static_cast<long long>(bytes));
    return nullptr;
  }
  if (strings) {
    StringsWriter out(block->data(), element_count(shape));
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < run; ++i) out.add(array.string(o * step + first + i));
  } else if (bytes > 0) {
    const auto* from = static_cast<const std::byte*>(array.data);
    auto* to = static_cast<std::byte*>(block->data());
    const int64_t run_bytes = run * bits / 8;
    for (int64_t o = 0; o < split.outer; ++o)
      std::memcpy(to + o * run_bytes, from + (o * step + first) * bits / 8,
                  static_cast<size_t>(run_bytes));
  }
  Value* value = make_array(call.pool(), array.type, shape, block->data(), bytes, block);
  block->release();
  if (value == nullptr) call.fail("there is no memory for a value");
  return value;
}

tw_status concat_to_output(HostCall& call, std::span<const ArrayView> parts, size_t axis,
                           std::span<const int64_t> dims) {
  const Split all(dims, axis);
  const auto inner = [&](const ArrayView& p) {
    return p.count() / (all.outer == 0 ? 1 : all.outer);
  };
  if (call.output_type(0).is_strings()) {
    int64_t characters = 0;
    for (const ArrayView& p : parts) characters += characters_in(p, 0, p.count());
    StringsWriter out = call.output_strings(0, dims, characters);
    if (!out) return call.status();
    for (int64_t o = 0; o < all.outer; ++o)
      for (const ArrayView& p : parts)
        for (int64_t i = 0; i < inner(p); ++i) out.add(p.string(o * inner(p) + i));
    return TW_OK;
  }
  auto* to = static_cast<std::byte*>(call.output(0, dims));
  if (to == nullptr) return call.status();
  const int bits = bits_of(call.output_type(0).elem);
  for (const ArrayView& p : parts)
    if (inner(p) * bits % 8 != 0)
      return call.fail("elements of %s cannot be joined between bytes", name_of(p.type.elem));
  for (int64_t o = 0; o < all.outer; ++o)
    for (const ArrayView& p : parts) {
      const int64_t bytes = inner(p) * bits / 8;
      if (bytes > 0)
        std::memcpy(to, static_cast<const std::byte*>(p.data) + o * bytes,
                    static_cast<size_t>(bytes));
      to += bytes;
    }
  return TW_OK;
}

}  // namespace tilewright::runtime
