// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/int_ops.h"

#include "support/diagnostic.h"

namespace tilewright::target::llvm {
namespace {

using ir::BinaryOp;

/// The one value in all lanes of a constant, or null.
const ll::ConstantInt* uniform_constant(ll::Value* v) {
  if (const auto* scalar = ll::dyn_cast<ll::ConstantInt>(v)) return scalar;
  const auto* constant = ll::dyn_cast<ll::Constant>(v);
  return constant && v->getType()->isVectorTy()
             ? ll::dyn_cast_or_null<ll::ConstantInt>(constant->getSplatValue())
             : nullptr;
}

struct Quotient {
  ll::Value* div;
  ll::Value* mod;
};

/// Floor division of signed x by y, which is neither 0 nor -1.
Quotient floor_signed(Lanes& b, ll::Value* x, ll::Value* y) {
  ll::Type* t = x->getType();
  ll::Value* zero = ll::Constant::getNullValue(t);
  ll::Value* q = b.CreateSDiv(x, y);
  ll::Value* r = b.CreateSub(x, b.CreateMul(q, y));
  // Truncation went the wrong way when there is a rest of the other sign than the divisor's.
  ll::Value* down = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, y), zero));
  return {b.CreateSelect(down, b.CreateSub(q, b.integer(t, 1)), q),
          b.CreateSelect(down, b.CreateAdd(r, y), r)};
}

ll::Value* divide_signed(Lanes& b, BinaryOp op, ll::Value* x, ll::Value* y) {
  ll::Type* t = x->getType();
  const bool mod = op == BinaryOp::Mod;
  ll::Value* zero = ll::Constant::getNullValue(t);
  if (const ll::ConstantInt* c = uniform_constant(y)) {
    const ll::APInt& d = c->getValue();
    if (d.isZero()) return zero;
    if (d.isAllOnes()) return mod ? zero : b.CreateNeg(x);
    if (d.isPowerOf2() && !d.isNegative())
      return mod ? b.CreateAnd(x, b.CreateSub(y, b.integer(t, 1)))
                 : b.CreateAShr(x, b.integer(t, d.logBase2()));
    const Quotient q = floor_signed(b, x, y);
    return mod ? q.mod : q.div;
  }
  ll::Value* is_zero = b.CreateICmpEQ(y, zero);
  ll::Value* is_minus = b.CreateICmpEQ(y, ll::Constant::getAllOnesValue(t));
  ll::Value* safe = b.CreateSelect(b.CreateOr(is_zero, is_minus), b.integer(t, 1), y);
  const Quotient q = floor_signed(b, x, safe);
  // With the divisor 1 the rest is 0 already, which is what `mod` wants for 0 and -1.
  if (mod) return q.mod;
  return b.CreateSelect(is_zero, zero, b.CreateSelect(is_minus, b.CreateNeg(x), q.div));
}

ll::Value* divide_unsigned(Lanes& b, BinaryOp op, ll::Value* x, ll::Value* y) {
  ll::Type* t = x->getType();
  ll::Value* zero = ll::Constant::getNullValue(t);
  const ll::ConstantInt* c = uniform_constant(y);
  if (c && c->isZero()) return zero;
  const auto divide = [&](ll::Value* d) {
    return op == BinaryOp::Mod ? b.CreateURem(x, d) : b.CreateUDiv(x, d);
  };
  if (c) return divide(y);
  ll::Value* is_zero = b.CreateICmpEQ(y, zero);
  return b.CreateSelect(is_zero, zero, divide(b.CreateSelect(is_zero, b.integer(t, 1), y)));
}

/// A negative amount is a huge one when its bits are read as unsigned.
ll::Value* shift(Lanes& b, BinaryOp op, bool is_signed, ll::Value* x, ll::Value* amount) {
  ll::Type* t = x->getType();
  const unsigned width = t->getScalarSizeInBits();
  const bool sign_fills = op == BinaryOp::Shr && is_signed;
  const auto shifted = [&](ll::Value* n) {
    if (op == BinaryOp::Shl) return b.CreateShl(x, n);
    return is_signed ? b.CreateAShr(x, n) : b.CreateLShr(x, n);
  };
  if (const ll::ConstantInt* c = uniform_constant(amount)) {
    if (c->getValue().ult(width)) return shifted(amount);
    return sign_fills ? shifted(b.integer(t, width - 1)) : ll::Constant::getNullValue(t);
  }
  ll::Value* last = b.integer(t, width - 1);
  if (sign_fills) return shifted(b.CreateBinaryIntrinsic(ll::Intrinsic::umin, amount, last));
  return b.CreateSelect(b.CreateICmpULE(amount, last), shifted(amount),
                        ll::Constant::getNullValue(t));
}

}  // namespace

ll::Value* int_binary(Lanes& b, BinaryOp op, ir::Elem elem, ll::Value* x, ll::Value* y) {
  const bool is_signed = ir::is_signed(elem);
  const auto pick = [&](ll::Intrinsic::ID s, ll::Intrinsic::ID u) {
    return b.CreateBinaryIntrinsic(is_signed ? s : u, x, y);
  };
  switch (op) {
    case BinaryOp::Add: return b.CreateAdd(x, y);
    case BinaryOp::Sub: return b.CreateSub(x, y);
    case BinaryOp::Mul: return b.CreateMul(x, y);
    case BinaryOp::Div:
    case BinaryOp::Mod:
      return is_signed ? divide_signed(b, op, x, y) : divide_unsigned(b, op, x, y);
    case BinaryOp::Min: return pick(ll::Intrinsic::smin, ll::Intrinsic::umin);
    case BinaryOp::Max: return pick(ll::Intrinsic::smax, ll::Intrinsic::umax);
    case BinaryOp::BitAnd:
    case BinaryOp::And: return b.CreateAnd(x, y);
    case BinaryOp::BitOr:
    case BinaryOp::Or: return b.CreateOr(x, y);
    case BinaryOp::BitXor: return b.CreateXor(x, y);
    case BinaryOp::Shl:
    case BinaryOp::Shr: return shift(b, op, is_signed, x, y);
    case BinaryOp::Eq: return b.CreateICmpEQ(x, y);
    case BinaryOp::Ne: return b.CreateICmpNE(x, y);
    case BinaryOp::Lt: return is_signed ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
    case BinaryOp::Le: return is_signed ? b.CreateICmpSLE(x, y) : b.CreateICmpULE(x, y);
  }
  __builtin_unreachable();
}

ll::Value* int_unary(Lanes& b, ir::UnaryOp op, ir::Elem elem, ll::Value* x) {
  switch (op) {
    case ir::UnaryOp::Neg: return b.CreateNeg(x);
    case ir::UnaryOp::Not:
    case ir::UnaryOp::BitNot: return b.CreateNot(x);
    case ir::UnaryOp::Abs:
      if (!ir::is_signed(elem)) return x;
      return b.CreateBinaryIntrinsic(ll::Intrinsic::abs, x, b.getFalse());
  }
  __builtin_unreachable();
}

ll::Value* int_call(Lanes& b, ir::MathFn fn, ir::Elem, ll::Value* x) {
  if (fn == ir::MathFn::Popcount) return b.CreateUnaryIntrinsic(ll::Intrinsic::ctpop, x);
  require(fn == ir::MathFn::Clz, "int_call: not a function of integers");
  return b.CreateBinaryIntrinsic(ll::Intrinsic::ctlz, x, b.getFalse());
}

}  // namespace tilewright::target::llvm
