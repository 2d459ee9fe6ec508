// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/pure.h"

namespace tilewright::ir::run {
namespace {

/// a / b or a % b of i64; constants and divisors > 0 are the common case.
int64_t divide(BinaryOp op, int64_t a, int64_t b) {
  if (b <= 0) return int_binary(op, Elem::I64, a, b);
  const int64_t q = a / b, rest = a % b;
  if (op == BinaryOp::Div) return rest < 0 ? q - 1 : q;
  return rest < 0 ? rest + b : rest;
}

uint64_t reinterpret(Elem from, Elem to, uint64_t v) {
  if (is_float(from)) v = float_to_bits(from, as_double(v));
  if (is_float(to)) {
    const int unused = 64 - bits(to);
    return as_cell(float_from_bits(to, (v << unused) >> unused));
  }
  return static_cast<uint64_t>(wrap_int(to, as_int(v)));
}

}  // namespace

void execute_pure(const Inst& i, uint64_t* r) {
  const uint64_t a = r[i.a];
  const auto x = static_cast<Elem>(i.x), y = static_cast<Elem>(i.y);
  const auto op = static_cast<BinaryOp>(i.x);
  const auto from_int = [](int64_t v) { return static_cast<uint64_t>(v); };
  uint64_t& dst = r[i.dst];
  switch (i.op) {
    case Op::I64Div: dst = from_int(divide(BinaryOp::Div, as_int(a), as_int(r[i.b]))); break;
    case Op::I64Mod: dst = from_int(divide(BinaryOp::Mod, as_int(a), as_int(r[i.b]))); break;
    case Op::IntBinary: dst = from_int(int_binary(op, y, as_int(a), as_int(r[i.b]))); break;
    case Op::IntUnary: dst = from_int(int_unary(static_cast<UnaryOp>(i.x), y, as_int(a))); break;
    case Op::IntCall: dst = from_int(int_call(static_cast<MathFn>(i.x), y, as_int(a))); break;
    case Op::WrapInt: dst = from_int(wrap_int(y, as_int(a))); break;
    case Op::FloatBinary:
      dst = as_cell(float_binary(op, y, as_double(a), as_double(r[i.b])));
      break;
    case Op::FloatCompare: dst = float_compare(op, as_double(a), as_double(r[i.b])); break;
    case Op::FloatUnary:
      dst = as_cell(float_unary(static_cast<UnaryOp>(i.x), y, as_double(a)));
      break;
    case Op::FloatCall: {
      const auto fn = static_cast<MathFn>(i.x);
      const double args[3] = {as_double(a), as_double(r[i.b]), as_double(r[i.c])};
      const double v = float_call(fn, y, args);
      dst = fn == MathFn::IsNan || fn == MathFn::IsInf ? v != 0 : as_cell(v);
      break;
    }
    case Op::IntToFloat: dst = as_cell(int_to_float(x, y, as_int(a))); break;
    case Op::FloatToInt: dst = from_int(float_to_int(y, as_double(a))); break;
    case Op::FloatToFloat: dst = as_cell(round_to(y, as_double(a))); break;
    case Op::Reinterpret: dst = reinterpret(x, y, a); break;
    case Op::ExactBinary: dst = field::binary(op, a, r[i.b]); break;
    case Op::ExactCompare: dst = field::compare(op, a, r[i.b]); break;
    case Op::ExactUnary: dst = field::unary(static_cast<UnaryOp>(i.x), a); break;
    case Op::ExactCall: {
      const uint64_t args[3] = {a, r[i.b], r[i.c]};
      dst = field::call(static_cast<MathFn>(i.x), args);
      break;
    }
    case Op::ExactFromInt: dst = field::from_int(x, as_int(a)); break;
    case Op::ExactToInt: dst = from_int(field::to_int(y, a)); break;
    case Op::ExactReinterpret: dst = field::reinterpret(x, y, a); break;
    default: throw InternalError("execute_pure: not a pure operation");
  }
}

}  // namespace tilewright::ir::run
