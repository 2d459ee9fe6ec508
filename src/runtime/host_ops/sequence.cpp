// SPDX-License-Identifier: Apache-2.0
// Sequences. A sequence is immutable: insert and erase make a new one that shares the items.
#include "runtime/host_ops/arrays.h"

namespace tilewright::runtime {
namespace {

Value* new_sequence(HostCall& call, int64_t count) {
  if (!call.has_output(0) || !call.output_type(0).is_sequence()) {
    call.fail("output 0 must be a sequence");
    return nullptr;
  }
  Value* made = make_container(call.pool(), call.output_type(0), count);
  if (made == nullptr)
    call.fail("there is no memory for a sequence of %lld", static_cast<long long>(count));
  return made;
}

/// An input that becomes an item of a sequence of this type; nullptr: the call has failed. A tensor
/// whose rank only the run tells comes as an optional that holds it.
Value* item_of(HostCall& call, uint32_t input, const Value& sequence) {
  const ValueType item = sequence.type.inner();
  if (call.has_input(input) && call.input_type(input) == item) return call.keep(input);
  if (call.has_input(input) && call.input_type(input).is_optional() &&
      call.input_type(input).inner() == item && call.container(input).count == 1) {
    Value* held = call.container(input).items()[0];
    held->retain();
    return held;
  }
  call.fail("input %u is of another type than the sequence's items", input);
  return nullptr;
}

tw_status construct(HostCall& call) {
  Value* made = new_sequence(call, call.inputs());
  if (made == nullptr) return call.status();
  for (uint32_t i = 0; i < call.inputs(); ++i) {
    made->items()[i] = item_of(call, i, *made);
    if (made->items()[i] == nullptr) {
      made->release();
      return call.status();
    }
  }
  return call.output(0, made);
}

tw_status empty(HostCall& call) {
  Value* made = new_sequence(call, 0);
  return made == nullptr ? call.status() : call.output(0, made);
}

/// The position input, counted from the end when negative; `last` when it is not given.
bool position(HostCall& call, uint32_t input, int64_t count, int64_t last, int64_t& at) {
  at = last;
  if (call.has_input(input)) {
    if (!call.integer(input, at)) return false;
    const int64_t given = at;
    if (at < 0) at += count;
    if (at < 0 || at > last) {
      call.fail("position %lld is outside of a sequence of %lld", static_cast<long long>(given),
                static_cast<long long>(count));
      return false;
    }
  }
  if (at >= 0) return true;
  call.fail("the sequence is empty");
  return false;
}

tw_status insert(HostCall& call) {
  int64_t at = 0;
  if (!call.need_container(0)) return call.status();
  const Value& from = call.container(0);
  if (!position(call, 2, from.count, from.count, at)) return call.status();
  Value* item = item_of(call, 1, from);
  if (item == nullptr) return call.status();
  Value* made = new_sequence(call, from.count + 1);
  if (made == nullptr) {
    item->release();
    return call.status();
  }
  for (int64_t i = 0; i <= from.count; ++i) {
    Value* one = i == at ? item : from.items()[i < at ? i : i - 1];
    if (i != at) one->retain();
    made->items()[i] = one;
  }
  return call.output(0, made);
}

tw_status erase(HostCall& call) {
  int64_t at = 0;
  if (!call.need_container(0)) return call.status();
  const Value& from = call.container(0);
  if (!position(call, 1, from.count, from.count - 1, at)) return call.status();
  Value* made = new_sequence(call, from.count - 1);
  if (made == nullptr) return call.status();
  for (int64_t i = 0; i < from.count - 1; ++i) {
    made->items()[i] = from.items()[i < at ? i : i + 1];
    made->items()[i]->retain();
  }
  return call.output(0, made);
}

tw_status item_at(HostCall& call) {
  int64_t at = 0;
  if (!call.need_container(0) || !call.has_input(1)) return call.fail("inputs are missing");
  const Value& from = call.container(0);
  if (!position(call, 1, from.count, from.count - 1, at)) return call.status();
  Value* item = from.items()[at];
  item->retain();
  const bool any_rank = call.has_output(0) && call.output_type(0).is_optional() &&
                        call.output_type(0).inner() == item->type;
  if (!any_rank) return call.output(0, item);
  Value* made = make_container(call.pool(), call.output_type(0), 1);
  if (made == nullptr) {
    item->release();
    return call.fail("there is no memory for an item");
  }
  made->items()[0] = item;
  return call.output(0, made);
}

tw_status length(HostCall& call) {
  if (!call.need_container(0)) return call.status();
  if (call.has_output(0) && call.output_type(0).elem != ElemType::I64)
    return call.fail("a length is an i64");
  auto* out = static_cast<int64_t*>(call.output(0, std::span<const int64_t>()));
  if (out == nullptr) return call.status();
  *out = call.container(0).count;
  return TW_OK;
}

bool axis_of(HostCall& call, int64_t rank, size_t& axis) {
  int64_t a = call.attribute("axis", int64_t{0});
  if (a < 0) a += rank;
  axis = static_cast<size_t>(a);
  if (a >= 0 && a < rank) return true;
  call.fail("axis %lld of a tensor with %lld dimensions",
            static_cast<long long>(call.attribute("axis", int64_t{0})),
            static_cast<long long>(rank));
  return false;
}

int64_t length_in(const ArrayView& lengths, int64_t i) {
  return lengths.type.elem == ElemType::I64 ? lengths.as<int64_t>()[static_cast<size_t>(i)]
                                            : lengths.as<int32_t>()[static_cast<size_t>(i)];
}

/// Input 1: nothing (pieces of 1), one number (pieces of that length, the last one shorter), or all
/// lengths.
tw_status split_to_sequence(HostCall& call) {
  size_t axis = 0;
  if (!call.need_array(0)) return call.status();
  const ArrayView array = call.array(0);
  if (!axis_of(call, static_cast<int64_t>(array.dims.size()), axis)) return call.status();
  const int64_t extent = array.dims[axis];
  const bool drop = !call.has_input(1) && call.attribute("keepdims", int64_t{1}) == 0;
  int64_t count = extent, piece = 1;
  ArrayView lengths;
  if (call.has_input(1)) {
    if (!call.need_array(1)) return call.status();
    lengths = call.array(1);
    if (lengths.type.elem != ElemType::I64 && lengths.type.elem != ElemType::I32)
      return call.fail("input 1 must hold integers");
    if (lengths.dims.empty()) {
      piece = length_in(lengths, 0);
      if (piece <= 0) return call.fail("pieces of length %lld", static_cast<long long>(piece));
      count = (extent + piece - 1) / piece;
    } else {
      count = lengths.count();
    }
  }
  Value* made = new_sequence(call, count);
  if (made == nullptr) return call.status();
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool listed = call.has_input(1) && !lengths.dims.empty();
    const int64_t left = extent - begin;
    const int64_t size = listed ? length_in(lengths, i) : piece < left ? piece : left;
    if (size < 0 || size > left || (listed && i + 1 == count && size != left)) {
      made->release();
      return call.fail("the lengths of the pieces do not add up to %lld",
                       static_cast<long long>(extent));
    }
    made->items()[i] = slice_of(call, array, axis, begin, begin + size, drop);
    if (made->items()[i] == nullptr) {
      made->release();
      return call.status();
    }
    begin += size;
  }
  return call.output(0, made);
}

/// The shape of the joined items; false when they do not fit together.
bool joined_shape(HostCall& call, const Value& from, bool new_axis, size_t axis, int64_t* dims) {
  const Value& first = *from.items()[0];
  const auto rank = static_cast<size_t>(first.rank);
  for (size_t i = 0; i < rank + (new_axis ? 1 : 0); ++i)
    dims[i] = new_axis && i == axis ? from.count : first.dims[new_axis && i > axis ? i - 1 : i];
  int64_t sum = 0;
  for (int64_t k = 0; k < from.count; ++k) {
    const Value& item = *from.items()[k];
    bool fits = item.rank == first.rank;
    for (size_t i = 0; fits && i < rank; ++i)
      fits = item.dims[i] == first.dims[i] || (!new_axis && i == axis);
    if (!fits || (!new_axis && __builtin_add_overflow(sum, item.dims[axis], &sum))) {
      call.fail("item %lld has another shape than item 0", static_cast<long long>(k));
      return false;
    }
  }
  if (!new_axis) dims[axis] = sum;
  return true;
}

tw_status concat_from_sequence(HostCall& call) {
  if (!call.need_container(0)) return call.status();
  const Value& from = call.container(0);
  if (from.count == 0) return call.fail("the sequence is empty");
  if (!call.has_output(0) || call.output_type(0) != from.type.inner())
    return call.fail("output 0 is of another type than the sequence's items");
  const bool new_axis = call.attribute("new_axis", int64_t{0}) != 0;
  const int64_t rank = from.items()[0]->rank + (new_axis ? 1 : 0);
  size_t axis = 0;
  int64_t dims[kMaxRank + 1];
  if (rank > kMaxRank) return call.fail("the result has more than %d dimensions", kMaxRank);
  if (!axis_of(call, rank, axis) || !joined_shape(call, from, new_axis, axis, dims))
    return call.status();
  Block* block = call.pool().get(from.count * static_cast<int64_t>(sizeof(ArrayView)));
  if (block == nullptr)
    return call.fail("there is no memory to join %lld items", static_cast<long long>(from.count));
  auto* parts = static_cast<ArrayView*>(block->data());
  for (int64_t i = 0; i < from.count; ++i) {
    const Value& item = *from.items()[i];
    parts[i] = {item.type, item.shape(), item.data, item.bytes};
  }
  const tw_status status = concat_to_output(call, {parts, static_cast<size_t>(from.count)}, axis,
                                            {dims, static_cast<size_t>(rank)});
  block->release();
  return status;
}

tw_status identity(HostCall& call) {
  if (!call.has_input(0)) return call.fail("input 0 is missing");
  Value* value = call.keep(0);
  return value == nullptr ? call.status() : call.output(0, value);
}

}  // namespace

std::span<const HostOp> sequence_ops() {
  static constexpr HostOp ops[] = {
      {"sequence_construct", construct},
      {"sequence_empty", empty},
      {"sequence_insert", insert},
      {"sequence_erase", erase},
      {"sequence_at", item_at},
      {"sequence_length", length},
      {"sequence_identity", identity},
      {"split_to_sequence", split_to_sequence},
      {"concat_from_sequence", concat_from_sequence},
  };
  return ops;
}

}  // namespace tilewright::runtime
