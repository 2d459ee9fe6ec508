// SPDX-License-Identifier: Apache-2.0
// Statements: structured control flow becomes basic blocks; a For is one block with an i64
// induction variable when its body has no control flow of its own.
#include "ir/build.h"
#include "support/str.h"
#include "target/llvm/emitter.h"

namespace tilewright::target::llvm {

namespace {

std::string_view describe(const ir::StmtNode& s) {
  switch (s.kind) {
    case ir::StmtKind::Agents: return "`agents`";
    case ir::StmtKind::ChannelScope:
    case ir::StmtKind::ChannelOp: return "a channel";
    case ir::StmtKind::Async: return "`async`";
    case ir::StmtKind::Barrier: return "a barrier";
    case ir::StmtKind::Block: return "a block";
    case ir::StmtKind::Update: return "an update";
    default: return "this statement";
  }
}

[[noreturn]] void unsupported(const Span& at, std::string_view what, const std::string& help) {
  throw Error(
      {.code = "target.llvm.unsupported",
       .at = at,
       .message = str("a CPU kernel cannot contain ", what),
       .notes = {"code is generated from stage `final`, for threads that share nothing but memory"},
       .help = help});
}

}  // namespace

void Emitter::stmt(const ir::Stmt& s) {
  memo_.clear();
  ir::visit(s, [&](const auto& node) { emit(node); });
}

template <class T>
void Emitter::emit(const T& s) {
  unsupported(s.span, describe(s),
              s.kind == ir::StmtKind::Block || s.kind == ir::StmtKind::Update
                  ? "lower the function to stage `final` first"
                  : "use a target that has them, or schedule the function without them");
}

void Emitter::emit(const ir::Store& s) {
  if (s.rank) unsupported(s.span, "a store into another block's memory", "remove the rank");
  const int lanes = s.value.type().lanes;
  ll::Value* value = expr(s.value);
  store({s.buffer, s.indices, s.mask, lanes}, value);
}

void Emitter::emit(const ir::Seq& s) {
  for (const ir::Stmt& one : s.stmts) stmt(one);
}

void Emitter::emit(const ir::Let& s) {
  frame_.vars[s.var] = expr(s.value);
  stmt(s.body);
  frame_.vars.erase(s.var);
}

void Emitter::emit(const ir::For& s) {
  switch (s.loop) {
    case ir::ForKind::Parallel:
      if (!frame_.worker && !ir::is_const(s.extent, 1)) return parallel(s);
      break;
    case ir::ForKind::Bound:
      unsupported(s.span, str("the thread-bound loop `", s.var.name(), "`"),
                  "use `parallel` on a CPU");
    case ir::ForKind::VThread:
      unsupported(s.span, str("the virtual threads of `", s.var.name(), "`"),
                  "lower the function to stage `final` first");
    default: break;
  }
  ll::Value* begin = expr(s.min);
  ll::Value* end = b_.CreateAdd(begin, expr(s.extent));
  const std::optional<int64_t> extent = ir::const_int(s.extent);
  loop(s.var, begin, end, !extent || *extent <= 0, s.body);
}

/// body for var = begin … end − 1.
///   before:  br (begin < end), loop, done        only where it may be empty
///   loop:    var = phi [begin], [next]; body; next = var + 1; br (next == end), done, loop
void Emitter::loop(const ir::Var& var, ll::Value* begin, ll::Value* end, bool may_be_empty,
                   const ir::Stmt& body) {
  ll::LLVMContext& context = module_.getContext();
  auto* first = ll::BasicBlock::Create(context, var.name(), frame_.function);
  auto* done = ll::BasicBlock::Create(context, var.name() + ".done", frame_.function);
  if (may_be_empty)
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), first, done);
  else
    b_.CreateBr(first);
  ll::BasicBlock* before = b_.GetInsertBlock();
  b_.SetInsertPoint(first);
  ll::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, var.name());
  i->addIncoming(begin, before);
  frame_.vars[var] = i;
  stmt(body);
  frame_.vars.erase(var);
  ll::Value* next = b_.CreateNSWAdd(i, b_.getInt64(1));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(next, end), done, first);
  b_.SetInsertPoint(done);
}

void Emitter::emit(const ir::While& s) {
  ll::LLVMContext& context = module_.getContext();
  auto* test = ll::BasicBlock::Create(context, "while", frame_.function);
  auto* body = ll::BasicBlock::Create(context, "while.body", frame_.function);
  auto* done = ll::BasicBlock::Create(context, "while.done", frame_.function);
  b_.CreateBr(test);
  b_.SetInsertPoint(test);
  memo_.clear();
  b_.CreateCondBr(expr(s.cond), body, done);
  b_.SetInsertPoint(body);
  stmt(s.body);
  b_.CreateBr(test);
  b_.SetInsertPoint(done);
}

void Emitter::emit(const ir::If& s) {
  ll::LLVMContext& context = module_.getContext();
  auto* yes = ll::BasicBlock::Create(context, "if", frame_.function);
  auto* no = s.no ? ll::BasicBlock::Create(context, "else", frame_.function) : nullptr;
  auto* end = ll::BasicBlock::Create(context, "if.end", frame_.function);
  b_.CreateCondBr(expr(s.cond), yes, no ? no : end);
  b_.SetInsertPoint(yes);
  stmt(s.yes);
  b_.CreateBr(end);
  if (no) {
    b_.SetInsertPoint(no);
    stmt(s.no);
    b_.CreateBr(end);
  }
  b_.SetInsertPoint(end);
}

void Emitter::emit(const ir::Prefetch& s) {
  const Place& place = place_of(s.buffer);
  if (!place.pointer) return;  // registers need no fetching
  ll::Value* index = s.indices.empty() ? b_.getInt64(0) : expr(s.indices[0]);
  if (ir::bits(s.buffer->elem) < 8)
    index = b_.CreateLShr(
        b_.CreateMul(index, b_.getInt64(static_cast<uint64_t>(ir::bits(s.buffer->elem)))), 3);
  // A prefetch may point outside of the buffer.
  ll::Type* unit =
      ir::bits(s.buffer->elem) < 8 ? b_.getInt8Ty() : b_.memory_type({s.buffer->elem, 1});
  ll::Value* pointer = b_.CreateGEP(unit, place.pointer, index);
  // LLVM counts locality, 3 being the nearest cache.
  tag(b_.CreateIntrinsic(ll::Intrinsic::prefetch, {b_.getPtrTy()},
                         {pointer, b_.getInt32(s.for_write),
                          b_.getInt32(static_cast<uint32_t>(4 - s.level)), b_.getInt32(1)}),
      place);
}

}  // namespace tilewright::target::llvm
