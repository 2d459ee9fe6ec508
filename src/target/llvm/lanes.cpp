// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/lanes.h"

#include "llvm/Analysis/VectorUtils.h"

namespace tilewright::target::llvm {

ll::Type* Lanes::element(ir::Elem e) {
  switch (e) {
    case ir::Elem::Bool: return getInt1Ty();
    case ir::Elem::F32: return getFloatTy();
    case ir::Elem::F64: return getDoubleTy();
    default: return getIntNTy(static_cast<unsigned>(ir::bits(e)));
  }
}

ll::Value* Lanes::some_lanes(ll::Value* v, int first, int count) {
  ll::SmallVector<int> places;
  for (int i = 0; i < count; ++i) places.push_back(first + i);
  return CreateShuffleVector(v, places);
}

ll::Value* Lanes::some_of_mask(ll::Value* mask, int first, int count) {
  if (count == lanes_of(mask)) return mask;
  if (ll::Value* all = ll::getSplatValue(mask))
    return CreateVectorSplat(static_cast<unsigned>(count), all);
  const auto some = [&](ll::Value* v) { return some_of_mask(v, first, count); };
  if (auto* op = ll::dyn_cast<ll::BinaryOperator>(mask)) {
    ll::Value *a = some(op->getOperand(0)), *b = some(op->getOperand(1));
    if (op->getOpcode() == ll::Instruction::And)
      for (ll::Value* known : {a, b})
        if (const auto* constant = ll::dyn_cast<ll::Constant>(known)) {
          if (constant->isNullValue()) return known;
          if (constant->isAllOnesValue()) return known == a ? b : a;
        }
    return CreateBinOp(op->getOpcode(), a, b);
  }
  if (auto* compare = ll::dyn_cast<ll::ICmpInst>(mask))
    return CreateICmp(compare->getPredicate(), some(compare->getOperand(0)),
                      some(compare->getOperand(1)));
  return some_lanes(mask, first, count);
}

}  // namespace tilewright::target::llvm
