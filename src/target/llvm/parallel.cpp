// SPDX-License-Identifier: Apache-2.0
// A parallel loop becomes a function of its own, called through the host:
//
//   parallel for i in a..b { S }
//     ->  closure = {host, a, what S mentions}; host->parallel_for(context, b - a, name.parallelN,
//     &closure)
//   name.parallelN(closure, begin, end, worker):  for i in a+begin..a+end { S }
#include "ir/build.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "target/llvm/emitter.h"
#include "target/llvm/visit_once.h"

namespace tilewright::target::llvm {

ll::Value* Emitter::host_field(HostField field) {
  // The layout of tw_host.
  ll::Type* p = b_.getPtrTy();
  ll::Type* i64 = b_.getInt64Ty();
  ll::StructType* host =
      ll::StructType::get(module_.getContext(), {p, p, p, p, i64, b_.getInt32Ty()});
  const auto index = static_cast<unsigned>(field);
  auto* value =
      b_.CreateLoad(host->getElementType(index), b_.CreateStructGEP(host, frame_.host, index));
  value->setMetadata(ll::LLVMContext::MD_invariant_load, ll::MDNode::get(module_.getContext(), {}));
  return value;
}

void Emitter::parallel(const ir::For& s) {
  // What the body uses of what is known here; sorted by first mention, so that the code is always
  // the same.
  std::vector<ir::Var> vars;
  std::vector<ir::Buffer> buffers;
  std::unordered_set<ir::Var> seen_vars;
  std::unordered_set<ir::Buffer> seen_buffers;
  const auto add_var = [&](const ir::Var& var) {
    if (frame_.vars.contains(var) && seen_vars.insert(var).second) vars.push_back(var);
  };
  const auto add_buffer = [&](const ir::Buffer& buffer) {
    if (buffer && frame_.places.contains(buffer) && seen_buffers.insert(buffer).second)
      buffers.push_back(buffer);
  };
  visit_once(
      s.body,
      [&](const ir::Stmt& stmt) {
        if (const auto* st = stmt.as<ir::Store>()) add_buffer(st->buffer);
        if (const auto* p = stmt.as<ir::Prefetch>()) add_buffer(p->buffer);
        if (const auto* c = stmt.as<ir::InstrCall>())
          for (const ir::Region& r : c->operands) add_buffer(r.buffer);
        if (const auto* a = stmt.as<ir::Atomic>()) {
          add_buffer(a->buffer);
          add_buffer(a->old);
        }
        if (const auto* a = stmt.as<ir::Alloc>())
          for (const ir::Expr& extent : a->buffer->shape)
            for (const ir::Var& var : ir::vars_of(extent)) add_var(var);
        return true;
      },
      [&](const ir::Expr& e) {
        if (const auto* l = e.as<ir::Load>()) add_buffer(l->buffer);
        if (const auto* v = e.as<ir::VarNode>()) add_var(ir::Var::of(*v));
      });
  // The sizes of earlier allocations decide where the next one starts.
  for (const ir::Symbol& symbol : func_.symbols)
    if (seen_vars.insert(symbol.var).second) vars.push_back(symbol.var);

  ll::Value* min = expr(s.min);
  ll::Value* extent = expr(s.extent);
  std::vector<ll::Value*> captured{frame_.host, min};
  for (const ir::Var& var : vars) captured.push_back(frame_.vars.at(var));
  for (const ir::Buffer& buffer : buffers) {
    captured.push_back(place_of(buffer).pointer);
    if (!captured.back())
      throw Error(
          {.code = "target.llvm.tiles",
           .at = s.span,
           .message = str("the parallel loop `", s.var.name(), "` cannot use `", buffer->name, "`"),
           .notes = {"it is in tile registers, which every thread has for itself"},
           .help = "allocate it inside the loop"});
  }
  std::vector<ll::Type*> types;
  for (ll::Value* v : captured) types.push_back(v->getType());
  ll::StructType* closure_type = ll::StructType::get(module_.getContext(), types);
  // Captured vectors are stored and loaded with the alignment of their type.
  ll::Value* closure =
      stack_slot(closure_type, "closure", module_.getDataLayout().getABITypeAlign(closure_type));
  for (unsigned i = 0; i < captured.size(); ++i)
    b_.CreateStore(captured[i], b_.CreateStructGEP(closure_type, closure, i));

  ll::Function* task = outline(s, vars, buffers, closure_type);
  ll::FunctionType* parallel_for = ll::FunctionType::get(
      b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(parallel_for, host_field(HostField::ParallelFor),
                {host_field(HostField::Context), extent, task, closure});
}

ll::Function* Emitter::outline(const ir::For& s, const std::vector<ir::Var>& vars,
                               const std::vector<ir::Buffer>& buffers,
                               ll::StructType* closure_type) {
  ll::Type* i64 = b_.getInt64Ty();
  ll::FunctionType* type =
      ll::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), i64, i64, b_.getInt32Ty()}, false);
  Frame outer = std::move(frame_);
  const auto outer_point = b_.saveIP();
  const auto outer_memo = std::move(memo_);
  frame_ = {};
  memo_.clear();
  frame_.function = add_function(str(func_.name, ".parallel", parallel_loops_++), type, false);
  ll::Value* closure = frame_.function->getArg(0);
  frame_.worker = frame_.function->getArg(3);

  unsigned next = 0;
  const auto captured = [&] {
    const unsigned i = next++;
    return b_.CreateLoad(closure_type->getElementType(i),
                         b_.CreateStructGEP(closure_type, closure, i));
  };
  frame_.host = captured();
  ll::Value* min = captured();
  for (const ir::Var& var : vars) frame_.vars[var] = captured();
  for (const ir::Buffer& buffer : buffers) {
    ll::LoadInst* pointer = captured();
    if (buffer->alignment > 1)
      pointer->setMetadata(
          ll::LLVMContext::MD_align,
          ll::MDNode::get(module_.getContext(), ll::ConstantAsMetadata::get(b_.getInt64(
                                                    static_cast<uint64_t>(buffer->alignment)))));
    bind_pointer(buffer, pointer);
  }
  if (uses_tiles(s.body)) configure_tiles();
  loop(s.var, b_.CreateAdd(min, frame_.function->getArg(1)),
       b_.CreateAdd(min, frame_.function->getArg(2)), /*may_be_empty=*/true, s.body);
  release_tiles();
  b_.CreateRetVoid();

  ll::Function* task = frame_.function;
  frame_ = std::move(outer);
  memo_ = outer_memo;
  b_.restoreIP(outer_point);
  return task;
}

}  // namespace tilewright::target::llvm
