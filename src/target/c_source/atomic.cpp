// SPDX-License-Identifier: Apache-2.0
// Atomics by <stdatomic.h>: an addition of integers is one operation, all others a loop of
// compare-and-exchange.
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
  if (op == AtomicOp::Exchange || op == AtomicOp::CompareExchange) return value;
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
  const std::string type = place.holds_values ? value_type(elem) : memory_type(elem);
  const std::string at = frame_->names.take("at"), value = frame_->names.take("value");
  const std::string old = frame_->names.take("old"), order(order_name(s.order));
  const bool bits = is_small_float(elem) && !place.holds_values;
  const auto stored = [&](const Text& v) {
    return bits ? reinterpret(elem, elem == Elem::F16 || elem == Elem::BF16 ? Elem::U16 : Elem::U8,
                              v)
                : v;
  };
  const Text seen = bits ? call_of(str("tw_value_", ir::name(elem)), {{old}}) : Text{old};
  const Lines lines = lines_of([&] {
    out_->line(str("_Atomic(", type, ")* ", at, " = (_Atomic(", type, ")*)&",
                   element(place, s.indices).s, ";"));
    out_->line(str("const ", value_type(elem), " ", value, " = ", expr(s.value).s, ";"));
    if (s.op == AtomicOp::Add && ir::is_int(elem)) {
      const std::string add = str("atomic_fetch_add_explicit(", at, ", ", value, ", ", order, ");");
      out_->line(s.old ? str("const ", type, " ", old, " = ", add) : add);
    } else {
      const std::string exchanged = str("atomic_compare_exchange_weak_explicit(", at, ", &", old,
                                        ", ", stored(updated(s.op, elem, seen, {value})).s, ", ",
                                        order, ", ", order_name(failed(s.order)), ")");
      out_->line(str(type, " ", old, " = atomic_load_explicit(", at, ", ",
                     order_name(failed(s.order)), ");"));
      std::string condition = "!" + exchanged;
      if (s.expected) {
        const std::string expected = frame_->names.take("expected");
        out_->line(str("const ", value_type(elem), " ", expected, " = ", expr(s.expected).s, ";"));
        condition = str(seen.s, " == ", expected, " && ", condition);
      }
      out_->line("while (" + condition + ") {");
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
