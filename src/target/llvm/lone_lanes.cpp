// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/lone_lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace tilewright::target::llvm {

namespace ll = ::llvm;

namespace {

/// The only lane of a constant mask that is on; -1 when there are others, or none.
int only_lane(const ll::Value* mask) {
  const auto* constant = ll::dyn_cast<ll::Constant>(mask);
  const auto* type = ll::dyn_cast<ll::FixedVectorType>(mask->getType());
  int only = -1;
  for (unsigned lane = 0; constant && type && lane < type->getNumElements(); ++lane) {
    const ll::Constant* on = constant->getAggregateElement(lane);
    if (!on) return -1;
    if (on->isNullValue()) continue;
    if (only >= 0) return -1;
    only = static_cast<int>(lane);
  }
  return only;
}

}  // namespace

ll::PreservedAnalyses LoneLanes::run(ll::Function& f, ll::FunctionAnalysisManager&) {
  bool changed = false;
  for (ll::Instruction& instruction : ll::make_early_inc_range(ll::instructions(f))) {
    auto* call = ll::dyn_cast<ll::IntrinsicInst>(&instruction);
    if (!call || call->getIntrinsicID() != ll::Intrinsic::masked_store) continue;
    ll::Value *value = call->getArgOperand(0), *to = call->getArgOperand(1);
    const int lane = only_lane(call->getArgOperand(call->arg_size() - 1));
    if (lane < 0) continue;
    ll::IRBuilder<> b(call);
    ll::Type* type = value->getType()->getScalarType();
    ll::StoreInst* store =
        b.CreateAlignedStore(b.CreateExtractElement(value, static_cast<uint64_t>(lane)),
                             b.CreateConstGEP1_64(type, to, static_cast<uint64_t>(lane)),
                             ll::Align(std::max<uint64_t>(1, type->getPrimitiveSizeInBits() / 8)));
    store->setAAMetadata(call->getAAMetadata());
    call->eraseFromParent();
    changed = true;
  }
  return changed ? ll::PreservedAnalyses::none() : ll::PreservedAnalyses::all();
}

}  // namespace tilewright::target::llvm
