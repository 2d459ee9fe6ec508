// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/functions.h"
#include "target/llvm/math/slow_lanes.h"

namespace tilewright::target::llvm {
namespace {

/// 2^e as a double, -1022 <= e <= 1023.
ll::Value* power(Lanes& b, ll::Value* e) {
  return b.CreateBitCast(b.CreateShl(b.CreateAdd(e, b.getInt64(1023)), 52), b.getDoubleTy());
}

/// Positive finite doubles, the first the larger: long division by their mantissas, eleven bits at
/// a time.
std::vector<ll::Value*> long_division(Lanes& b, ll::Function* function) {
  ll::Type* i64 = b.getInt64Ty();
  struct Parts {
    ll::Value *mantissa, *exponent;  // the number is mantissa * 2^exponent
  };
  const auto parts = [&](ll::Value* x) -> Parts {
    ll::Value* bits = b.CreateBitCast(x, i64);
    ll::Value* field = b.CreateLShr(bits, 52);
    ll::Value* subnormal = b.CreateICmpEQ(field, b.getInt64(0));
    ll::Value* low = b.CreateAnd(bits, b.getInt64(0xfffffffffffff));
    return {b.CreateSelect(subnormal, low, b.CreateOr(low, b.getInt64(uint64_t{1} << 52))),
            b.CreateSub(b.CreateSelect(subnormal, b.getInt64(1), field), b.getInt64(1075))};
  };
  const Parts x = parts(function->getArg(0)), y = parts(function->getArg(1));
  ll::BasicBlock* before = b.GetInsertBlock();
  auto* loop = ll::BasicBlock::Create(b.getContext(), "loop", function);
  auto* done = ll::BasicBlock::Create(b.getContext(), "done", function);
  ll::Value* first = b.CreateURem(x.mantissa, y.mantissa);
  ll::Value* places = b.CreateSub(x.exponent, y.exponent);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  ll::PHINode* rest = b.CreatePHI(i64, 2);
  ll::PHINode* left = b.CreatePHI(i64, 2);
  ll::Value* step = b.CreateBinaryIntrinsic(ll::Intrinsic::smin, left, b.getInt64(11));
  ll::Value* next = b.CreateURem(b.CreateShl(rest, step), y.mantissa);
  ll::Value* still = b.CreateSub(left, step);
  rest->addIncoming(first, before);
  rest->addIncoming(next, loop);
  left->addIncoming(places, before);
  left->addIncoming(still, loop);
  b.CreateCondBr(b.CreateICmpEQ(still, b.getInt64(0)), done, loop);
  b.SetInsertPoint(done);
  // In two steps, as 2^exponent may be subnormal; the result is exact.
  ll::Value* half = b.CreateAShr(y.exponent, 1);
  ll::Value* value = b.CreateFMul(b.CreateUIToFP(next, b.getDoubleTy()), power(b, half));
  return {b.CreateFMul(value, power(b, b.CreateSub(y.exponent, half)))};
}

}  // namespace

Num fmod_of(Num x, Num y) {
  const Num a = abs(x), d = abs(y);
  const Num t = a / d;
  // The quotient may be rounded up to the next integer; either way the remainder is a double.
  const Num near = fma(-trunc(t), d, a);
  Num r = select(near < 0.0, near + d, near);
  r = select(d == d.inf(), a, r);
  const Mask proper = (a < a.inf()) & (d > 0.0);
  const Mask far = proper & (t >= 0x1p52);
  Lanes& b = *x.b;
  ll::Type* f64 = b.getDoubleTy();
  ll::Function* slow = slow_function(b, "tw.long_division", {f64, f64}, {f64}, long_division);
  r = {&b, replace_lanes(b, far.v, slow, {a.v, d.v}, {r.v})[0]};
  return select(proper, copysign(r, x), x.nan());
}

}  // namespace tilewright::target::llvm
