// SPDX-License-Identifier: Apache-2.0
// Atomics on whole bytes. Floats are compared and exchanged as bits; what the CPU cannot do in one
// instruction becomes a compare-exchange loop.
#include "support/str.h"
#include "target/llvm/convert.h"
#include "target/llvm/emitter.h"
#include "target/llvm/float_ops.h"
#include "target/llvm/int_ops.h"

namespace tilewright::target::llvm {
namespace {

ll::AtomicOrdering ordering(ir::MemoryOrder order) {
  switch (order) {
    case ir::MemoryOrder::Relaxed: return ll::AtomicOrdering::Monotonic;
    case ir::MemoryOrder::Acquire: return ll::AtomicOrdering::Acquire;
    case ir::MemoryOrder::Release: return ll::AtomicOrdering::Release;
    case ir::MemoryOrder::AcquireRelease: return ll::AtomicOrdering::AcquireRelease;
  }
  __builtin_unreachable();
}

ll::AtomicOrdering failure_ordering(ir::MemoryOrder order) {
  return order == ir::MemoryOrder::Acquire || order == ir::MemoryOrder::AcquireRelease
             ? ll::AtomicOrdering::Acquire
             : ll::AtomicOrdering::Monotonic;
}

}  // namespace

void Emitter::emit(const ir::Atomic& s) {
  const ir::Elem elem = s.buffer->elem;
  const Place& place = place_of(s.buffer);
  if (ir::bits(elem) < 8 || elem == ir::Elem::Bool || !place.pointer)
    throw Error(
        {.code = "target.llvm.atomic",
         .at = s.span,
         .message = str("cannot update `", s.buffer->name, "` atomically"),
         .notes = {str("its elements are ", ir::name(elem), " in ", ir::print(s.buffer->scope))},
         .help = "use a buffer in memory whose elements are numbers of at least 8 bits"});
  ll::Value* index = s.indices.empty() ? b_.getInt64(0) : expr(s.indices[0]);
  ll::Value* pointer = address(place, elem, index);
  ll::Type* bits = b_.getIntNTy(static_cast<unsigned>(ir::bits(elem)));
  ll::Type* type = b_.element(elem);
  const ll::MaybeAlign align(alignment(elem));
  ll::Value* value = expr(s.value);
  ll::Value* old = nullptr;
  const bool is_float = ir::is_float(elem);
  if (s.op == ir::AtomicOp::CompareExchange) {
    ll::Value* pair = b_.CreateAtomicCmpXchg(pointer, b_.CreateBitCast(expr(s.expected), bits),
                                             b_.CreateBitCast(value, bits), align,
                                             ordering(s.order), failure_ordering(s.order));
    old = b_.CreateBitCast(b_.CreateExtractValue(pair, 0), type);
  } else if (s.op == ir::AtomicOp::Exchange || !is_float) {
    const bool is_signed = ir::is_signed(elem);
    using Rmw = ll::AtomicRMWInst;
    const Rmw::BinOp op = s.op == ir::AtomicOp::Exchange ? Rmw::Xchg
                          : s.op == ir::AtomicOp::Add    ? Rmw::Add
                          : s.op == ir::AtomicOp::Min    ? (is_signed ? Rmw::Min : Rmw::UMin)
                                                         : (is_signed ? Rmw::Max : Rmw::UMax);
    old = b_.CreateBitCast(
        b_.CreateAtomicRMW(op, pointer, b_.CreateBitCast(value, bits), align, ordering(s.order)),
        type);
  } else {
    const ir::BinaryOp op = s.op == ir::AtomicOp::Add   ? ir::BinaryOp::Add
                            : s.op == ir::AtomicOp::Min ? ir::BinaryOp::Min
                                                        : ir::BinaryOp::Max;
    // A failed exchange gives the value to try again with.
    ll::LLVMContext& context = module_.getContext();
    auto* again = ll::BasicBlock::Create(context, "atomic", frame_.function);
    auto* done = ll::BasicBlock::Create(context, "atomic.done", frame_.function);
    auto* first = b_.CreateAlignedLoad(bits, pointer, alignment(elem));
    first->setAtomic(ll::AtomicOrdering::Monotonic);
    ll::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    ll::PHINode* seen = b_.CreatePHI(bits, 2);
    seen->addIncoming(first, before);
    old = b_.CreateBitCast(seen, type);
    ll::Value* next = float_binary(b_, op, elem, old, value);
    ll::Value* pair = b_.CreateAtomicCmpXchg(pointer, seen, b_.CreateBitCast(next, bits), align,
                                             ordering(s.order), failure_ordering(s.order));
    seen->addIncoming(b_.CreateExtractValue(pair, 0), again);
    b_.CreateCondBr(b_.CreateExtractValue(pair, 1), done, again);
    b_.SetInsertPoint(done);
  }
  if (s.old) store({s.old, {}, {}, 1}, old);
}

}  // namespace tilewright::target::llvm
