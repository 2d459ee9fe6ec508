// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/slow_lanes.h"

#include "llvm/IR/Module.h"

namespace tilewright::target::llvm {

ll::Function* slow_function(Lanes& b, const std::string& name, const std::vector<ll::Type*>& args,
                            const std::vector<ll::Type*>& results,
                            FunctionRef<std::vector<ll::Value*>(Lanes&, ll::Function*)> body) {
  ll::Module& module = *b.GetInsertBlock()->getModule();
  if (ll::Function* made = module.getFunction(name)) return made;
  ll::LLVMContext& context = module.getContext();
  ll::StructType* result = ll::StructType::get(context, results);
  auto* function = ll::Function::Create(ll::FunctionType::get(result, args, false),
                                        ll::Function::InternalLinkage, name, module);
  function->addFnAttr(ll::Attribute::NoUnwind);
  function->addFnAttr(ll::Attribute::NoInline);
  Lanes inner(context, b.spec);
  inner.SetInsertPoint(ll::BasicBlock::Create(context, "entry", function));
  const std::vector<ll::Value*> values = body(inner, function);
  ll::Value* all = ll::PoisonValue::get(result);
  for (unsigned i = 0; i < values.size(); ++i) all = inner.CreateInsertValue(all, values[i], i);
  inner.CreateRet(all);
  return function;
}

///   before:  br any(mask), loop, done
///   loop:    i; state; br mask[i], call, next
///   call:    one = slow(args[i]…); changed = state with lane i = one
///   next:    state' = phi; i' = i + 1; br i' == lanes, done, loop
std::vector<ll::Value*> replace_lanes(Lanes& b, ll::Value* mask, ll::Function* slow,
                                      const std::vector<ll::Value*>& args,
                                      const std::vector<ll::Value*>& near) {
  ll::Function* function = b.GetInsertBlock()->getParent();
  ll::LLVMContext& context = function->getContext();
  const int lanes = Lanes::lanes_of(mask);
  const auto block = [&](const char* name) {
    return ll::BasicBlock::Create(context, name, function);
  };
  ll::BasicBlock *before = b.GetInsertBlock(), *loop = block("slow"), *call = block("slow.call"),
                 *next = block("slow.next"), *done = block("slow.done");
  b.CreateCondBr(lanes == 1 ? mask : b.CreateOrReduce(mask), loop, done);

  b.SetInsertPoint(loop);
  ll::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(b.getInt64(0), before);
  std::vector<ll::PHINode*> state;
  for (ll::Value* v : near) {
    state.push_back(b.CreatePHI(v->getType(), 2));
    state.back()->addIncoming(v, before);
  }
  const auto lane = [&](ll::Value* v) { return lanes == 1 ? v : b.CreateExtractElement(v, i); };
  b.CreateCondBr(lane(mask), call, next);

  b.SetInsertPoint(call);
  std::vector<ll::Value*> one_args, changed;
  for (ll::Value* v : args) one_args.push_back(lane(v));
  ll::Value* one = b.CreateCall(slow, one_args);
  for (unsigned k = 0; k < near.size(); ++k) {
    ll::Value* v = b.CreateExtractValue(one, k);
    changed.push_back(lanes == 1 ? v : b.CreateInsertElement(state[k], v, i));
  }
  b.CreateBr(next);

  b.SetInsertPoint(next);
  std::vector<ll::PHINode*> after;
  for (unsigned k = 0; k < near.size(); ++k) {
    after.push_back(b.CreatePHI(near[k]->getType(), 2));
    after[k]->addIncoming(state[k], loop);
    after[k]->addIncoming(changed[k], call);
    state[k]->addIncoming(after[k], next);
  }
  ll::Value* following = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(following, next);
  b.CreateCondBr(b.CreateICmpEQ(following, b.getInt64(static_cast<uint64_t>(lanes))), done, loop);

  b.SetInsertPoint(done);
  std::vector<ll::Value*> result;
  for (unsigned k = 0; k < near.size(); ++k) {
    ll::PHINode* phi = b.CreatePHI(near[k]->getType(), 2);
    phi->addIncoming(near[k], before);
    phi->addIncoming(after[k], next);
    result.push_back(phi);
  }
  return result;
}

}  // namespace tilewright::target::llvm
