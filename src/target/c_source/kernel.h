// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"
#include "target/backend.h"
#include "target/c_source/c_source.h"
#include "target/c_source/emitter.h"

namespace tilewright::target::c_source {

extern const Dialect kC11;

/// One function of the loop IR as a CPU kernel of include/tilewright/kernel.h. Small allocations
/// are arrays on the stack, large ones lie in the workspace; each outermost parallel loop becomes a
/// function of its own:
///   parallel for i in 0..n { S }
///     ->  struct f_i { what S mentions };
///         static void f_i(void* closure, int64_t begin, int64_t end, int32_t worker) { … S … }
///         …  host->parallel_for(host->context, n, f_i, &i_task);
/// In the form of steps there is no host: a static function with a parameter for each buffer.
class KernelEmitter final : public Emitter {
 public:
  /// `globals` are the names of the file, `entry` one of them.
  KernelEmitter(const ir::LoopFunc& func, std::string entry, Names& globals, Form form)
      : Emitter(kC11), func_(func), entry_(std::move(entry)), globals_(globals), form_(form) {}

  std::string run();
  const Workspace& workspace() const { return workspace_; }

 private:
  void alloc(const ir::Alloc& s) override;
  void parallel(const ir::For& s) override;
  void atomic(const ir::Atomic& s) override;

  void declare_parameters(Lines& lines) const;
  void open_step(Lines& lines) const;

  // alloc.cpp
  int64_t bound_of(const ir::Alloc& s, const ir::Expr& elements);
  bool only_symbols(const ir::Expr& e) const;
  std::string workspace_pointer(const ir::Expr& offset);
  void declare_after_body(const ir::Alloc& s, FunctionRef<std::string()> declaration);

  const ir::LoopFunc& func_;
  std::string entry_;
  Names& globals_;
  Form form_;
  std::string functions_;  // of the parallel loops
  Workspace workspace_;
  ir::Expr shared_used_ = 0, per_worker_used_ = 0;
};

}  // namespace tilewright::target::c_source
