// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "ir/build.h"
#include "ir/interpret/compiler.h"
#include "ir/interpret/field.h"
#include "ir/scalar.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

constexpr size_t kLookBack = 64;  // more would cost a long program more than it saves

template <class T>
uint8_t code(T v) {
  return static_cast<uint8_t>(v);
}

/// The specialised operation for an operator, or IntBinary and its kin.
Op fast_op(BinaryOp op, Elem elem, bool exact) {
  if (elem == Elem::I64) {
    switch (op) {
      case BinaryOp::Add: return Op::I64Add;
      case BinaryOp::Sub: return Op::I64Sub;
      case BinaryOp::Mul: return Op::I64Mul;
      case BinaryOp::Div: return Op::I64Div;
      case BinaryOp::Mod: return Op::I64Mod;
      case BinaryOp::Lt: return Op::I64Lt;
      case BinaryOp::Le: return Op::I64Le;
      case BinaryOp::Eq: return Op::I64Eq;
      case BinaryOp::Ne: return Op::I64Ne;
      default: return Op::IntBinary;
    }
  }
  if (!is_float(elem)) return Op::IntBinary;
  if (is_compare(op)) return exact ? Op::ExactCompare : Op::FloatCompare;
  const int arithmetic = static_cast<int>(op);  // Add, Sub, Mul, Div
  if (exact) {
    if (arithmetic > static_cast<int>(BinaryOp::Mul)) return Op::ExactBinary;
    return static_cast<Op>(static_cast<int>(Op::ExactAdd) + arithmetic);
  }
  if (arithmetic > static_cast<int>(BinaryOp::Div)) return Op::FloatBinary;
  if (elem == Elem::F32) return static_cast<Op>(static_cast<int>(Op::F32Add) + arithmetic);
  if (elem == Elem::F64) return static_cast<Op>(static_cast<int>(Op::F64Add) + arithmetic);
  return Op::FloatBinary;
}

bool same(const Inst& a, const Inst& b) {
  return a.op == b.op && a.x == b.x && a.y == b.y && a.a == b.a && a.b == b.b && a.c == b.c;
}

uint8_t strides_of(std::initializer_list<Value> operands) {
  uint8_t strides = 0, bit = 1;
  for (const Value& v : operands) {
    if (v.lanes > 1) strides |= bit;
    bit = static_cast<uint8_t>(bit << 1);
  }
  return strides;
}

}  // namespace

int32_t Compiler::emit(const Inst& inst) {
  program_.code.push_back(inst);
  program_.origin.push_back(origin_);
  return here() - 1;
}

Reg Compiler::reserve(int lanes) {
  const Reg reg = next_reg_;
  next_reg_ += lanes;
  program_.registers = std::max(program_.registers, next_reg_);
  return reg;
}

Reg Compiler::constant(uint64_t bits) {
  const auto [at, added] = constants_.try_emplace(bits, 0);
  if (added) {
    program_.constants.push_back(bits);
    at->second = -static_cast<Reg>(program_.constants.size());
  }
  return at->second;
}

void Compiler::release(const Mark& m) {
  known_.resize(m.known);
  next_reg_ = m.reg;
  next_slot_ = m.slot;
}

Value Compiler::known_or_emit(Inst inst, int lanes, uint8_t strides) {
  const size_t oldest = known_.size() > kLookBack ? known_.size() - kLookBack : 0;
  for (size_t i = known_.size(); i > oldest; --i) {
    const Known& k = known_[i - 1];
    if (same(k.inst, inst) && k.lanes == lanes && k.strides == strides) return {k.inst.dst, lanes};
  }
  inst.dst = reserve(lanes);
  if (lanes > 1) emit({.op = Op::Lanes, .x = strides, .dst = lanes});
  emit(inst);
  known_.push_back({inst, lanes, strides});
  return {inst.dst, lanes};
}

Value Compiler::variable(const VarNode& var) {
  const auto at = vars_.find(&var);
  if (at != vars_.end()) return at->second;
  throw Error({.code = "ir.run.unbound",
               .at = var.span,
               .message = str("`", var.name, "` has no value here"),
               .help = "use the variable inside the loop, `let` or block that binds it"});
}

Value Compiler::binary_op(BinaryOp op, Type type, Value a, Value b) {
  const Op o = fast_op(op, type.elem, exact());
  return known_or_emit({.op = o, .x = code(op), .y = code(type.elem), .a = a.reg, .b = b.reg},
                       std::max(a.lanes, b.lanes), strides_of({a, b}));
}

Value Compiler::cast(const Cast& c) {
  const Value v = expr(c.value);
  const Elem from = c.value.type().elem, to = c.to;
  if (from == to) return v;
  Inst inst{.x = code(from), .y = code(to), .a = v.reg};
  if (is_float(from) && is_float(to)) {
    if (exact()) return v;
    inst.op = Op::FloatToFloat;
  } else if (is_float(from)) {
    inst.op = exact() ? Op::ExactToInt : Op::FloatToInt;
  } else if (is_float(to)) {
    inst.op = exact() ? Op::ExactFromInt : Op::IntToFloat;
  } else if (to == Elem::Bool) {
    inst.op = Op::NotZero;
  } else {
    // i64 and u64 are the same bits, and a type that holds all values of `from` needs no change.
    const bool kept = from == Elem::Bool || (bits(from) == 64 && bits(to) == 64) ||
                      (bits(to) > bits(from) && (is_signed(to) || !is_signed(from))) ||
                      bits(to) == 64;
    if (kept) return v;
    inst.op = Op::WrapInt;
  }
  return known_or_emit(inst, v.lanes, strides_of({v}));
}

Value Compiler::math(const Call& c) {
  Value args[3];
  int lanes = 1;
  for (size_t i = 0; i < 3; ++i) {
    args[i] = i < c.args.size() ? expr(c.args[i]) : args[0];
    lanes = std::max(lanes, args[i].lanes);
  }
  const Elem elem = c.args[0].type().elem;
  const Op op = !is_float(elem) ? Op::IntCall : exact() ? Op::ExactCall : Op::FloatCall;
  return known_or_emit({.op = op,
                        .x = code(c.fn),
                        .y = code(elem),
                        .a = args[0].reg,
                        .b = args[1].reg,
                        .c = args[2].reg},
                       lanes, strides_of({args[0], args[1], args[2]}));
}

Value Compiler::guarded(const Guard& g) {
  const Value cond = expr(g.cond);
  if (cond.lanes > 1) {  // a scalar reducer applied to lanes; it reads no memory
    const Value yes = expr(g.yes), no = expr(g.no);
    return known_or_emit({.op = Op::Select, .a = cond.reg, .b = yes.reg, .c = no.reg}, cond.lanes,
                         strides_of({cond, yes, no}));
  }
  // What one side computes does not exist on the other: neither leaves anything known.
  const Expr* sides[2] = {&g.yes, &g.no};
  Value result{kNoReg, g.type.lanes};
  const int32_t to_no = emit({.op = Op::JumpIfNot, .a = cond.reg});
  int32_t to_end = 0;
  // The result must outlive both sides' registers and hold lanes found only while compiling them.
  const Reg first = reserve(std::max(1, static_cast<int>(g.type.lanes)));
  result.reg = first;
  for (int side = 0; side < 2; ++side) {
    const size_t known = known_.size();
    const Value v = expr(*sides[side]);
    if (result.lanes > 1) emit({.op = Op::Lanes, .x = strides_of({v}), .dst = result.lanes});
    emit({.op = Op::Move, .dst = result.reg, .a = v.reg});
    known_.resize(known);
    if (side == 0) {
      to_end = emit({.op = Op::Jump});
      set_target(to_no);
    }
  }
  set_target(to_end);
  return result;
}

Value Compiler::vector_reduce(const VectorReduce& v) {
  Value all = expr(v.value);
  const int lanes = v.value.type().lanes;
  const auto lane = [&](int l) { return Value{all.lanes > 1 ? all.reg + l : all.reg, 1}; };
  Value sum = lane(0);
  for (int l = 1; l < lanes; ++l) sum = binary_op(v.op, v.type, sum, lane(l));
  return sum;
}

Value Compiler::load(const Load& l) {
  const Storage& s = storage(*l.buffer, l.span);
  const int32_t a = access(s, indices(l.indices), l.mask, l.rank, false, false);
  const Value v{reserve(l.type.lanes), l.type.lanes};
  emit_load(v.reg, a);
  return v;
}

Value Compiler::expr(const Expr& e) {
  switch (e->kind) {
    case ExprKind::IntImm:
      return {constant(static_cast<uint64_t>(static_cast<const IntImm&>(*e).value)), 1};
    case ExprKind::FloatImm: {
      const double v = static_cast<const FloatImm&>(*e).value;
      return {constant(exact() ? field::from_double(v) : std::bit_cast<uint64_t>(v)), 1};
    }
    case ExprKind::VarNode: return variable(static_cast<const VarNode&>(*e));
    case ExprKind::Unary: {
      const auto& u = static_cast<const Unary&>(*e);
      const Value a = expr(u.a);
      const Elem elem = u.type.elem;
      const Op op = !is_float(elem) ? Op::IntUnary : exact() ? Op::ExactUnary : Op::FloatUnary;
      return known_or_emit({.op = op, .x = code(u.op), .y = code(elem), .a = a.reg}, a.lanes,
                           strides_of({a}));
    }
    case ExprKind::Binary: {
      const auto& b = static_cast<const Binary&>(*e);
      const Value x = expr(b.a);
      return binary_op(b.op, b.a.type(), x, expr(b.b));
    }
    case ExprKind::Call: return math(static_cast<const Call&>(*e));
    case ExprKind::Cast: return cast(static_cast<const Cast&>(*e));
    case ExprKind::Reinterpret: {
      const auto& c = static_cast<const Reinterpret&>(*e);
      const Value v = expr(c.value);
      return known_or_emit({.op = exact() ? Op::ExactReinterpret : Op::Reinterpret,
                            .x = code(c.value.type().elem),
                            .y = code(c.to),
                            .a = v.reg},
                           v.lanes, strides_of({v}));
    }
    case ExprKind::Select: {
      const auto& s = static_cast<const Select&>(*e);
      const Value cond = expr(s.cond), yes = expr(s.yes), no = expr(s.no);
      return known_or_emit({.op = Op::Select, .a = cond.reg, .b = yes.reg, .c = no.reg},
                           std::max({cond.lanes, yes.lanes, no.lanes}),
                           strides_of({cond, yes, no}));
    }
    case ExprKind::Guard: return guarded(static_cast<const Guard&>(*e));
    case ExprKind::Load: return load(static_cast<const Load&>(*e));
    case ExprKind::Ramp: {
      const auto& r = static_cast<const Ramp&>(*e);
      const Value base = expr(r.base), stride = expr(r.stride);
      const Reg dst = reserve(r.lanes);
      emit({.op = Op::Ramp,
            .y = code(r.type.elem),
            .dst = dst,
            .a = base.reg,
            .b = stride.reg,
            .c = r.lanes});
      return {dst, r.lanes};
    }
    case ExprKind::Broadcast: return expr(static_cast<const Broadcast&>(*e).value);
    case ExprKind::VectorReduce: return vector_reduce(static_cast<const VectorReduce&>(*e));
  }
  __builtin_unreachable();
}

}  // namespace tilewright::ir::run
