// SPDX-License-Identifier: Apache-2.0
// Atomics by <stdatomic.h>: what it has no operation for is a loop of compare-and-exchange.
#include "ir/build.h"
#include "support/str.h"
#include "target/c_source/kernel.h"
#include "target/c_source/ops.h"

namespace tilewright::target::c_source {

using ir::AtomicOp;
using ir::Elem;
using ir::MemoryOrder;

namespace {

std::string_view order_name(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::Relaxed: return "memory_order_relaxed";
    case MemoryOrder::Acquire: return "memory_order_acquire";
    case MemoryOrder::Release: return "memory_order_release";
    case MemoryOrder::AcquireRelease: return "memory_order_acq_rel";
  }
  __builtin_unreachable();
}

/// Of an exchange that did not happen: only a read.
MemoryOrder failed(MemoryOrder order) {
  return order == MemoryOrder::Acquire || order == MemoryOrder::AcquireRelease
             ? MemoryOrder::Acquire
             : MemoryOrder::Relaxed;
}

Text updated(AtomicOp op, Elem elem, const Text& old, const Text& value) {
  const ir::BinaryOp binary = op == AtomicOp::Add   ? ir::BinaryOp::Add
                              : op == AtomicOp::Min ? ir::BinaryOp::Min
                                                    : ir::BinaryOp::Max;
  if (ir::is_float(elem)) return float_binary(binary, elem, old, value);
  return int_binary(binary, elem, {old, range_of(elem)}, {value, range_of(elem)});
}

}  // namespace

void KernelEmitter::atomic(const ir::Atomic& s) {
  const Elem elem = s.buffer->elem;
  Place& place = place_of(s.buffer);
  place.is_read = place.is_written = true;
  if (is_packed(elem) || elem == Elem::Bool)
    unsupported(
        s.span, str("an atomic operation on `", s.buffer->name, "`"),
        str("use a buffer whose elements are numbers of at least 8 bits, not ", ir::name(elem)));
  const NameScope scope(frame_->names);
  const bool bits = is_small_float(elem) && !place.holds_values;
  const std::string type = place.holds_values ? value_type(elem) : memory_type(elem);
  const std::string at = frame_->names.take("at"), value = frame_->names.take("value");
  const std::string old = frame_->names.take("old");
  const std::string order(order_name(s.order)), if_not(order_name(failed(s.order)));
  // Between a value and what memory holds of it.
  const auto stored = [&](const Text& v) {
    return bits ? call_of(str("tw_bits_", ir::name(elem)), {v}) : v;
  };
  const Text seen = bits ? call_of(str("tw_value_", ir::name(elem)), {{old}}) : Text{old};
  const auto result_of = [&](const std::string& call) {
    out_->line(s.old ? str("const ", type, " ", old, " = ", call, ";") : call + ";");
  };
  const Lines lines = lines_of([&] {
    out_->line(str("_Atomic(", type, ")* ", at, " = (_Atomic(", type, ")*)&",
                   element(place, s.indices).s, ";"));
    out_->line(str("const ", type, " ", value, " = ", stored(expr(s.value)).s, ";"));
    if (s.op == AtomicOp::Exchange) {
      result_of(str("atomic_exchange_explicit(", at, ", ", value, ", ", order, ")"));
    } else if (s.op == AtomicOp::Add && ir::is_int(elem)) {
      result_of(str("atomic_fetch_add_explicit(", at, ", ", value, ", ", order, ")"));
    } else if (s.op == AtomicOp::CompareExchange) {
      out_->line(str(type, " ", old, " = ", stored(expr(s.expected)).s, ";"));
      out_->line(str("atomic_compare_exchange_strong_explicit(", at, ", &", old, ", ", value, ", ",
                     order, ", ", if_not, ");"));
    } else {
      const Text operand =
          bits ? call_of(str("tw_value_", ir::name(elem)), {{value}}) : Text{value};
      const Text next = stored(updated(s.op, elem, seen, operand));
      out_->line(str(type, " ", old, " = atomic_load_explicit(", at, ", memory_order_relaxed);"));
      out_->line(str("while (!atomic_compare_exchange_weak_explicit(", at, ", &", old, ", ", next.s,
                     ", ", order, ", ", if_not, ")) {"));
      out_->line("}");
    }
    if (s.old) {
      Place& target = place_of(s.old);
      target.is_written = true;
      out_->line(store(target, {}, seen));
    }
  });
  out_->open("");
  out_->append(lines);
  out_->close();
}

}  // namespace tilewright::target::c_source
