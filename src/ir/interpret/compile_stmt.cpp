// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "ir/interpret/compiler.h"
#include "ir/rewrite.h"

namespace tilewright::ir::run {
namespace {

bool runs_tasks(const For& l) {
  return l.loop == ForKind::Parallel || l.loop == ForKind::Bound || l.loop == ForKind::VThread;
}

}  // namespace

bool has_concurrency(const Stmt& s) {
  bool found = false;
  walk(
      s, [&](const For& l) { return !(found = found || runs_tasks(l)); },
      [&](const Agents&) { return !(found = true); },
      [&](const Async&) { return !(found = true); });
  return found;
}

Compiler::Compiler(const LoopFunc& f, Arithmetic arithmetic, bool check)
    : func_(f), check_(check), concurrent_(has_concurrency(f.body)) {
  program_.arithmetic = arithmetic;
}

Program Compiler::compile() {
  for (const Symbol& s : func_.symbols) {
    const Reg reg = reserve();
    bind(s.var, {reg, 1});
    program_.symbol_regs.push_back(reg);
  }
  program_.root_activation = reserve();
  next_slot_ = program_.slots = static_cast<int32_t>(func_.params.size());
  for (size_t i = 0; i < func_.params.size(); ++i) {
    const Param& p = func_.params[i];
    Storage s;
    s.buffer = p.buffer.get();
    s.slot = static_cast<int32_t>(i);
    for (const Expr& extent : p.buffer->shape) s.shape.push_back(scalar(extent));
    s.read_only = p.access == Access::In;
    s.race_checked = check_ && concurrent_ && !s.read_only;
    program_.param_shapes.push_back(s.shape);
    buffers_[s.buffer] = std::move(s);
  }
  emit({.op = Op::TaskEnd});
  program_.body = here();
  if (func_.body) stmt(func_.body);
  emit({.op = Op::TaskEnd});
  return std::move(program_);
}

void Compiler::bind(const Var& var, Value value) { vars_[var.get()] = value; }

void Compiler::mark_thread_var(const Var& var, bool depends) {
  if (depends) thread_vars_.insert(var.get());
}

void Compiler::stmt(const Stmt& s) {
  const StmtNode* const outer = origin_;
  origin_ = s.get();
  const Mark m = mark();
  visit(s, [&]<class T>(const T& node) {
    if constexpr (std::is_same_v<T, Store>) {
      store(node);
    } else if constexpr (std::is_same_v<T, Update>) {
      update(node);
    } else if constexpr (std::is_same_v<T, Seq>) {
      for (const Stmt& part : node.stmts) stmt(part);
    } else if constexpr (std::is_same_v<T, Let>) {
      // A splat is kept as one register; its users see the lanes in the types they combine it with.
      bind(node.var, expr(node.value));
      mark_thread_var(node.var, names_thread(node.value));
      stmt(node.body);
    } else if constexpr (std::is_same_v<T, Alloc>) {
      alloc(node);
    } else if constexpr (std::is_same_v<T, For>) {
      if (runs_tasks(node))
        fork(node);
      else
        loop(node);
    } else if constexpr (std::is_same_v<T, While>) {
      while_loop(node);
    } else if constexpr (std::is_same_v<T, If>) {
      if_else(node);
    } else if constexpr (std::is_same_v<T, Block>) {
      block(node);
    } else if constexpr (std::is_same_v<T, InstrCall>) {
      instr_call(node);
    } else if constexpr (std::is_same_v<T, Agents>) {
      agents(node);
    } else if constexpr (std::is_same_v<T, ChannelScope>) {
      channel_scope(node);
    } else if constexpr (std::is_same_v<T, ChannelOp>) {
      channel_op(node);
    } else if constexpr (std::is_same_v<T, Async>) {
      async(node);
    } else if constexpr (std::is_same_v<T, Barrier>) {
      barrier(node);
    } else if constexpr (std::is_same_v<T, Atomic>) {
      atomic(node);
    } else {
      static_assert(std::is_same_v<T, Prefetch>);  // has no effect on any value
    }
  });
  release(m);
  origin_ = outer;
}

void Compiler::loop(const For& l) {
  const Reg min = scalar(l.min), extent = scalar(l.extent);
  const Reg var = reserve(2);  // the variable, then its end
  bind(l.var, {var, 1});
  mark_thread_var(l.var, names_thread(l.min) || names_thread(l.extent));
  const int32_t begin = emit({.op = Op::ForBegin, .a = var, .b = min, .c = extent});
  const int32_t top = here();
  const Mark m = mark();
  stmt(l.body);
  release(m);
  emit({.op = Op::ForNext, .dst = top, .a = var, .c = here() - top + 1});
  set_target(begin);
}

void Compiler::fork(const For& l) {
  const Reg min = scalar(l.min), extent = scalar(l.extent);
  const Reg var = reserve();
  bind(l.var, {var, 1});
  const bool thread = l.loop == ForKind::Bound && l.axis >= ThreadAxis::ThreadX;
  mark_thread_var(l.var, thread || names_thread(l.min) || names_thread(l.extent));
  const auto index = static_cast<Reg>(program_.forks.size());
  program_.forks.push_back({&l, var});
  const int32_t at = emit({.op = Op::Fork, .a = index, .b = min, .c = extent});
  const bool outer_threads = in_threads_;
  in_threads_ = l.loop == ForKind::Bound;  // an iteration of another kind owns what it allocates
  stmt(l.body);
  in_threads_ = outer_threads;
  emit({.op = Op::TaskEnd});
  set_target(at);
}

void Compiler::while_loop(const While& w) {
  const int32_t top = here();
  const Mark m = mark();
  const int32_t out = emit({.op = Op::JumpIfNot, .a = scalar(w.cond)});
  stmt(w.body);
  release(m);
  emit({.op = Op::Back, .dst = top, .c = here() - top + 1});
  set_target(out);
}

void Compiler::if_else(const If& i) {
  const int32_t to_no = emit({.op = Op::JumpIfNot, .a = scalar(i.cond)});
  stmt(i.yes);
  if (!i.no) {
    set_target(to_no);
    return;
  }
  const int32_t to_end = emit({.op = Op::Jump});
  set_target(to_no);
  stmt(i.no);
  set_target(to_end);
}

Program compile(const LoopFunc& f, Arithmetic arithmetic, bool check) {
  return Compiler(f, arithmetic, check).compile();
}

}  // namespace tilewright::ir::run
