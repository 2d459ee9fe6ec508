// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/reduce.h"

#include <bit>
#include <numeric>
#include <vector>

#include "support/diagnostic.h"
#include "target/llvm/convert.h"
#include "target/llvm/float_ops.h"

namespace tilewright::target::llvm {
namespace {

using ir::BinaryOp;
using ir::Elem;

ll::Value* reduce_ints(Lanes& b, BinaryOp op, Elem elem, ll::Value* v) {
  const bool is_signed = ir::is_signed(elem);
  switch (op) {
    case BinaryOp::Add: return b.CreateAddReduce(v);
    case BinaryOp::Mul: return b.CreateMulReduce(v);
    case BinaryOp::Min: return b.CreateIntMinReduce(v, is_signed);
    case BinaryOp::Max: return b.CreateIntMaxReduce(v, is_signed);
    case BinaryOp::And: return b.CreateAndReduce(v);
    case BinaryOp::Or: return b.CreateOrReduce(v);
    default: throw InternalError("reduce_lanes: not a reduction");
  }
}

ll::Value* in_order(Lanes& b, BinaryOp op, Elem elem, ll::Value* v) {
  ll::Value* result = b.CreateExtractElement(v, uint64_t{0});
  for (int i = 1; i < Lanes::lanes_of(v); ++i)
    result = float_binary(b, op, elem, result, b.CreateExtractElement(v, static_cast<uint64_t>(i)));
  return result;
}

/// min and max are associative but of two zeros the first wins: neighbours are combined, which
/// keeps the order, or the two halves, which takes fewer shuffles. NaN is looked for once, beside
/// the steps.
ll::Value* by_pairs(Lanes& b, BinaryOp op, Elem elem, ll::Value* v, bool halves) {
  int lanes = Lanes::lanes_of(v);
  if (!std::has_single_bit(static_cast<unsigned>(lanes))) return in_order(b, op, elem, v);
  const Known known = {.not_nan = true};
  ll::Value* any_nan = nullptr;
  while (lanes > 1) {
    lanes /= 2;
    std::vector<int> first, second;
    for (int i = 0; i < lanes; ++i) {
      first.push_back(halves ? i : 2 * i);
      second.push_back(halves ? lanes + i : 2 * i + 1);
    }
    ll::Value* x = b.CreateShuffleVector(v, first);
    ll::Value* y = b.CreateShuffleVector(v, second);
    if (!any_nan) any_nan = b.CreateOrReduce(b.CreateFCmpUNO(x, y));
    v = float_binary(b, op, elem, x, y, known, known);
  }
  ll::Value* best = b.CreateExtractElement(v, uint64_t{0});
  return !any_nan ? best : b.CreateSelect(any_nan, ll::ConstantFP::getNaN(best->getType()), best);
}

}  // namespace

ll::Value* reduce_lanes(Lanes& b, BinaryOp op, Elem elem, ll::Value* v, bool reassociate) {
  if (!ir::is_float(elem)) return reduce_ints(b, op, elem, v);
  if (op == BinaryOp::Min || op == BinaryOp::Max) {
    if (!is_small_float(elem)) return by_pairs(b, op, elem, v, reassociate);
    // Exact in f32. Pairs of 16 bits or less also end in types that LLVM cannot select code for.
    return narrow(b, elem, by_pairs(b, op, Elem::F32, widen(b, elem, v), reassociate));
  }
  if (is_small_float(elem) || !reassociate) {
    // Each step rounds: nothing may be contracted into it.
    ll::IRBuilder<>::FastMathFlagGuard guard(b);
    if (!reassociate) b.clearFastMathFlags();
    return in_order(b, op, elem, v);
  }
  ll::IRBuilder<>::FastMathFlagGuard guard(b);
  ll::FastMathFlags flags = b.getFastMathFlags();
  flags.setAllowReassoc();
  b.setFastMathFlags(flags);
  ll::Type* scalar = v->getType()->getScalarType();
  return op == BinaryOp::Add ? b.CreateFAddReduce(ll::ConstantFP::getNegativeZero(scalar), v)
                             : b.CreateFMulReduce(b.real(scalar, 1.0), v);
}

}  // namespace tilewright::target::llvm
