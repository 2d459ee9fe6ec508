// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/machine.h"
#include "ir/interpret/pure.h"

namespace tilewright::ir::run {

uint64_t Machine::combine(const AtomicInfo& info, uint64_t old, uint64_t value,
                          uint64_t expected) const {
  const Elem elem = info.atomic->buffer->elem;
  const bool exact = program_.arithmetic == Arithmetic::Exact;
  const auto apply = [&](BinaryOp op) -> uint64_t {
    if (!is_float(elem))
      return static_cast<uint64_t>(int_binary(op, elem, as_int(old), as_int(value)));
    if (exact) return field::binary(op, old, value);
    return as_cell(float_binary(op, elem, as_double(old), as_double(value)));
  };
  const auto equal = [&] {
    if (!is_float(elem)) return old == expected;
    if (exact) return field::compare(BinaryOp::Eq, old, expected);
    return float_to_bits(elem, as_double(old)) == float_to_bits(elem, as_double(expected));
  };
  switch (info.atomic->op) {
    case AtomicOp::Add: return apply(BinaryOp::Add);
    case AtomicOp::Min: return apply(BinaryOp::Min);
    case AtomicOp::Max: return apply(BinaryOp::Max);
    case AtomicOp::Exchange: return value;
    case AtomicOp::CompareExchange: return equal() ? value : old;
  }
  __builtin_unreachable();
}

void Machine::atomic(Task& t, const AtomicInfo& info) {
  const AccessInfo& a = program_.accesses[static_cast<size_t>(info.access)];
  const auto [m, at] = locate(t, a, 0);
  if (!a.in_instruction) check_lane(t, m, at, true);
  if (m.written && !m.written[at]) note_unwritten(t, m, at, false);
  if (a.race_checked && concurrent_ > 0) {
    note_atomic(t, m, at, info.atomic->order);
    if (bits(m.buffer->elem) < 8) note_packed_write(t, m, at);
  }
  const uint64_t old = m.cells[at];
  m.cells[at] =
      combine(info, old, t.r[info.value], info.expected == kNoReg ? 0 : t.r[info.expected]);
  if (a.delivers && t.async->bytes == kNoReg) t.bits += bits(m.buffer->elem);
  if (info.old_access >= 0)
    store(t, program_.accesses[static_cast<size_t>(info.old_access)], 0, old);
}

}  // namespace tilewright::ir::run
