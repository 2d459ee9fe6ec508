// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/float_ops.h"

#include "support/diagnostic.h"
#include "target/llvm/convert.h"

namespace tilewright::target::llvm {
namespace {

using ir::BinaryOp;
using ir::Elem;

/// min(x, y) is x when x is NaN, y when y is NaN, else y < x ? y : x; max alike. One compare and
/// select, which x86 does in one instruction, covers all but a NaN in the operand that loses an
/// unordered compare.
ll::Value* min_max(Lanes& b, BinaryOp op, Elem elem, ll::Value* x, ll::Value* y, Known x_known,
                   Known y_known) {
  const bool small = is_small_float(elem);
  ll::Value* fx = small ? widen(b, elem, x) : x;
  ll::Value* fy = small ? widen(b, elem, y) : y;
  const auto less = [&](ll::Value* p, ll::Value* q) {
    return op == BinaryOp::Min ? b.CreateFCmpOLT(p, q) : b.CreateFCmpOLT(q, p);
  };
  // Unordered gives y, so a NaN of y survives; of two equal values it takes y, which is x unless
  // they are zeros.
  if (x_known.not_nan && (x_known.not_zero || y_known.not_zero) && !y_known.not_nan)
    return b.CreateSelect(less(fx, fy), x, y);
  ll::Value* first = b.CreateSelect(less(fy, fx), y, x);  // unordered gives x
  if (y_known.not_nan) return first;
  ll::Value* nan = y;
  if (!small) {
    // The same NaN, made quiet. Two selections of y would be joined into one over a mask, which
    // takes longer than the instruction for min or max.
    ll::Type* bits = b.like(y, b.getIntNTy(y->getType()->getScalarSizeInBits()));
    const uint64_t quiet = elem == Elem::F64 ? uint64_t{1} << 51 : uint64_t{1} << 22;
    nan =
        b.CreateBitCast(b.CreateOr(b.CreateBitCast(y, bits), b.integer(bits, quiet)), y->getType());
  }
  return b.CreateSelect(b.CreateFCmpORD(fy, fy), first, nan);
}

ll::Value* arithmetic(Lanes& b, BinaryOp op, ll::Value* x, ll::Value* y) {
  switch (op) {
    case BinaryOp::Add: return b.CreateFAdd(x, y);
    case BinaryOp::Sub: return b.CreateFSub(x, y);
    case BinaryOp::Mul: return b.CreateFMul(x, y);
    case BinaryOp::Div: return b.CreateFDiv(x, y);
    case BinaryOp::Eq: return b.CreateFCmpOEQ(x, y);
    case BinaryOp::Ne: return b.CreateFCmpUNE(x, y);
    case BinaryOp::Lt: return b.CreateFCmpOLT(x, y);
    case BinaryOp::Le: return b.CreateFCmpOLE(x, y);
    default: throw InternalError("float_binary: not an operator of floats");
  }
}

}  // namespace

ll::Value* float_binary(Lanes& b, BinaryOp op, Elem elem, ll::Value* x, ll::Value* y, Known x_known,
                        Known y_known) {
  if (op == BinaryOp::Min || op == BinaryOp::Max)
    return min_max(b, op, elem, x, y, x_known, y_known);
  if (!is_small_float(elem)) return arithmetic(b, op, x, y);
  // A float has more than twice the bits of a small float: rounding twice is rounding once. Each
  // result is rounded, so nothing may be contracted over it.
  ll::IRBuilder<>::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  ll::Value* result = arithmetic(b, op, widen(b, elem, x), widen(b, elem, y));
  return ir::is_compare(op) ? result : narrow(b, elem, result);
}

ll::Value* float_unary(Lanes& b, ir::UnaryOp op, Elem elem, ll::Value* x) {
  const auto apply = [&](ll::Value* v) {
    return op == ir::UnaryOp::Neg ? b.CreateFNeg(v)
                                  : b.CreateUnaryIntrinsic(ll::Intrinsic::fabs, v);
  };
  return is_small_float(elem) ? narrow(b, elem, apply(widen(b, elem, x))) : apply(x);
}

ll::Value* float_fma(Lanes& b, Elem elem, ll::Value* x, ll::Value* y, ll::Value* z) {
  if (!is_small_float(elem))
    return b.CreateIntrinsic(ll::Intrinsic::fma, {x->getType()}, {x, y, z});
  ll::IRBuilder<>::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  // The product is exact in double. The sum is rounded to odd there, by the error of the addition,
  // so that the later roundings to float and to the small type come out as one.
  const auto wide = [&](ll::Value* v) {
    return b.CreateFPExt(widen(b, elem, v), b.like(v, b.getDoubleTy()));
  };
  ll::Value* p = b.CreateFMul(wide(x), wide(y));
  ll::Value* c = wide(z);
  ll::Value* sum = b.CreateFAdd(p, c);
  ll::Value* pp = b.CreateFSub(sum, c);
  ll::Value* error = b.CreateFAdd(b.CreateFSub(p, pp), b.CreateFSub(c, b.CreateFSub(sum, pp)));
  ll::Type* i64 = b.like(sum, b.getInt64Ty());
  ll::Value* bits = b.CreateBitCast(sum, i64);
  ll::Value* zero = ll::Constant::getNullValue(sum->getType());
  ll::Value* inexact = b.CreateFCmpONE(error, zero);
  // Toward zero when the error points there, then the last bit says "more follows".
  ll::Value* same_sign =
      b.CreateICmpSGE(b.CreateXor(bits, b.CreateBitCast(error, i64)), b.integer(i64, 0));
  ll::Value* cut = b.CreateSub(bits, b.CreateZExt(b.CreateNot(same_sign), i64));
  ll::Value* odd = b.CreateOr(cut, b.integer(i64, 1));
  ll::Value* exact = b.CreateBitCast(b.CreateSelect(inexact, odd, bits), sum->getType());
  return narrow(b, elem, round_to_odd_f32(b, exact));
}

}  // namespace tilewright::target::llvm
