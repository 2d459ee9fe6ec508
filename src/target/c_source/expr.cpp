// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "support/str.h"
#include "target/c_source/emitter.h"
#include "target/c_source/ops.h"

namespace tilewright::target::c_source {

using ir::BinaryOp;
using ir::Elem;
using ir::Expr;

Text Emitter::expr(const Expr& e) {
  if (!e.type().is_float()) {
    const Range r = range(e);
    if (r.is_constant()) return literal(e.type().elem, r.lo);
  }
  return ir::visit(e, [&](const auto& node) { return emit(node); });
}

Text Emitter::emit(const ir::IntImm& e) { return literal(e.of.elem, e.value); }

Text Emitter::emit(const ir::FloatImm& e) { return float_literal(e.of.elem, e.value); }

Text Emitter::emit(const ir::VarNode& e) {
  const std::string& name = name_of(ir::Var::of(e));
  return {e.of.is_vector() ? str(name, "[", kLane, "]") : name};
}

Text Emitter::emit(const ir::Unary& e) {
  const Elem elem = e.type.elem;
  if (ir::is_float(elem)) return float_unary(e.op, elem, expr(e.a));
  return int_unary(e.op, elem, {expr(e.a), range(e.a)});
}

Text Emitter::emit(const ir::Binary& e) {
  const Elem elem = e.a.type().elem;
  const Text a = expr(e.a), b = expr(e.b);
  if (ir::is_float(elem)) return float_binary(e.op, elem, a, b);
  return int_binary(e.op, elem, {a, range(e.a)}, {b, range(e.b)});
}

Text Emitter::emit(const ir::Call& e) {
  const Elem elem = e.args[0].type().elem;
  std::vector<Text> args;
  for (const Expr& arg : e.args) args.push_back(expr(arg));
  return ir::is_float(elem) ? float_call(e.fn, elem, args) : int_call(e.fn, elem, args[0]);
}

Text Emitter::emit(const ir::Cast& e) { return convert(e.value.type().elem, e.to, expr(e.value)); }

Text Emitter::emit(const ir::Reinterpret& e) {
  return reinterpret(e.value.type().elem, e.to, expr(e.value));
}

namespace {

/// Two literals would make an int of what has 64 bits.
Text choice(Elem elem, const Text& cond, const Text& yes, const Text& no) {
  const Text typed =
      ir::is_int(elem) && ir::bits(elem) == 64 ? cast_to(value_type(elem), yes) : yes;
  return {str(cond.in(Bind::Or), " ? ", typed.in(Bind::Or), " : ", no.in(Bind::Or)), Bind::Choice};
}

}  // namespace

Text Emitter::emit(const ir::Select& e) {
  const bool literals =
      e.yes.type().is_int() && range(e.yes).is_constant() && range(e.no).is_constant();
  const Text cond = expr(e.cond), yes = expr(e.yes), no = expr(e.no);
  return choice(literals ? e.type.elem : Elem::Bool, cond, yes, no);
}

Text Emitter::emit(const ir::Guard& e) {
  const bool literals =
      e.yes.type().is_int() && range(e.yes).is_constant() && range(e.no).is_constant();
  const Text cond = expr(e.cond);
  guards_.push_back(cond.in(Bind::Equal));
  const Text yes = expr(e.yes);
  guards_.back() = "!" + cond.in(Bind::Unary);
  const Text no = expr(e.no);
  guards_.pop_back();
  return choice(literals ? e.type.elem : Elem::Bool, cond, yes, no);
}

Text Emitter::emit(const ir::Load& e) {
  if (e.rank)
    unsupported(e.span, str("a load from another block's `", e.buffer->name, "`"),
                "schedule the function without clusters");
  Place& place = place_of(e.buffer);
  place.is_read = true;
  if (!e.mask) return load(place, e.indices);
  const Text mask = expr(e.mask), value = load(place, e.indices);
  const Elem elem = e.type.elem;
  const Text zero = ir::is_float(elem) ? float_literal(elem, 0) : literal(elem, 0);
  return choice(Elem::Bool, mask, value, zero);
}

Text Emitter::emit(const ir::Ramp& e) {
  const Elem elem = e.type.elem;
  const Range lanes{0, e.lanes - 1}, stride = range(e.stride);
  const Text lane = elem == Elem::I64 ? Text{std::string(kLane)}
                                      : cast_to(value_type(elem), {std::string(kLane)});
  const Text steps = int_binary(BinaryOp::Mul, elem, {lane, lanes}, {expr(e.stride), stride});
  const Range all = range_of(elem), exact_steps = exact(BinaryOp::Mul, lanes, stride);
  return int_binary(BinaryOp::Add, elem, {expr(e.base), range(e.base)},
                    {steps, exact_steps.within(all) ? exact_steps : all});
}

Text Emitter::emit(const ir::Broadcast& e) { return expr(e.value); }

namespace {

/// The value that changes nothing: -0 for a sum of floats, where 0 would turn -0 into 0.
Text identity(BinaryOp op, Elem elem) {
  const bool is_float = ir::is_float(elem);
  switch (op) {
    case BinaryOp::Add: return is_float ? float_literal(elem, -0.0) : literal(elem, 0);
    case BinaryOp::Mul: return is_float ? float_literal(elem, 1) : literal(elem, 1);
    case BinaryOp::Min: return is_float ? Text{"TW_INFINITY"} : literal(elem, range_of(elem).hi);
    case BinaryOp::Max:
      return is_float ? Text{"-TW_INFINITY", Bind::Unary} : literal(elem, range_of(elem).lo);
    default: return literal(Elem::Bool, op == BinaryOp::And);
  }
}

std::string_view word(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "sum";
    case BinaryOp::Mul: return "product";
    case BinaryOp::Min: return "least";
    case BinaryOp::Max: return "greatest";
    case BinaryOp::And: return "all";
    default: return "any";
  }
}

}  // namespace

/// Combines the lanes in a variable before the statement, under the guards around.
Text Emitter::emit(const ir::VectorReduce& e) {
  const Elem elem = e.type.elem;
  const std::string name = frame_->names.take(word(e.op));
  const Lines lines = lines_of([&] {
    for_lanes(e.value.type().lanes, [&] {
      const Text value = expr(e.value), so_far{name};
      const Text next = ir::is_float(elem) ? float_binary(e.op, elem, so_far, value)
                                           : int_binary(e.op, elem, {so_far, range_of(elem)},
                                                        {value, range(e.value)});
      return str(name, " = ", next.s, ";");
    });
  });
  out_->line(str(value_type(elem), " ", name, " = ", identity(e.op, elem).s, ";"));
  if (guards_.empty()) {
    out_->append(lines);
  } else {
    std::string all;
    for (const std::string& guard : guards_) all += (all.empty() ? "" : " && ") + guard;
    out_->wrap("if (" + all + ")", lines);
  }
  return {name};
}

}  // namespace tilewright::target::c_source
