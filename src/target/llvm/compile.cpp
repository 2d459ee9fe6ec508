// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/compile.h"

#include <algorithm>
#include <climits>

#include "llvm/IR/LLVMContext.h"

#include "support/str.h"
#include "target/host.h"
#include "target/llvm/emitter.h"
#include "target/llvm/machine.h"
#include "target/llvm/scan.h"

namespace tilewright::target::llvm {
namespace {

/// A module with the kernel in it; its context lives as long.
struct Emitted {
  std::unique_ptr<ll::LLVMContext> context;
  std::unique_ptr<ll::Module> module;
  Workspace workspace;
};

Emitted emit_module(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                    const EmitOptions& options, const Machine& machine, Scheduling scheduling) {
  Emitted out;
  out.context = std::make_unique<ll::LLVMContext>();
  out.module = std::make_unique<ll::Module>(func.name, *out.context);
  machine.prepare(*out.module);
  Emitter emitter(*out.module, func, spec, options);
  emitter.run();
  machine.set_cpu(*out.module, scheduling);
  out.workspace = emitter.workspace();
  return out;
}

/// `work` on a machine and a module with the kernel.
template <class Work>
auto with_module(const ir::LoopFunc& func, const ir::TargetSpec& spec, const EmitOptions& options,
                 Scheduling scheduling, Work&& work) {
  MachineLease machine(spec);
  Emitted emitted = emit_module(func, spec, options, *machine, scheduling);
  try {
    return work(*machine, emitted);
  } catch (const GivenUp& e) {
    machine.leak();
    (void)emitted.module.release();
    (void)emitted.context.release();
    throw Error(
        {.code = "target.llvm.given_up",
         .at = func.span,
         .message = str("LLVM makes no code of `", func.name, "` for `", spec.name, "`"),
         .notes = {e.what()},
         .help = "choose another target or schedule; as no input should lead here, report it"});
  }
}

std::string print(const ll::Module& module) {
  std::string text;
  ll::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace

Kernel emit_object(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                   const EmitOptions& options) {
  Kernel best;
  int fewest = INT_MAX;
  for (const Scheduling scheduling : {Scheduling::OfTheCpu, Scheduling::Generic}) {
    with_module(func, spec, options, scheduling, [&](Machine& machine, const Emitted& emitted) {
      machine.optimize(*emitted.module);
      std::string code = machine.generate(*emitted.module, Machine::Output::Object);
      // No one scheduler keeps every tile in registers: where vectors were spilled, try the other.
      const int spills = spills_in_hot_loops(code, machine);
      if (spills >= fewest) return;
      fewest = spills;
      best = {.entry = func.name,
              .format = CodeFormat::Object,
              .code = std::move(code),
              .triple = spec.triple,
              .needs = spec.isa,
              .numerics = options.numerics,
              .workspace = emitted.workspace};
    });
    if (fewest == 0) break;
  }
  return best;
}

std::string emit_assembly(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                          const EmitOptions& options) {
  return with_module(func, spec, options, Scheduling::OfTheCpu,
                     [](Machine& machine, const Emitted& emitted) {
                       machine.optimize(*emitted.module);
                       return machine.generate(*emitted.module, Machine::Output::Assembly);
                     });
}

std::string emit_llvm_ir(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                         const EmitOptions& options, bool optimized) {
  return with_module(func, spec, options, Scheduling::OfTheCpu,
                     [&](Machine& machine, const Emitted& emitted) {
                       if (optimized) machine.optimize(*emitted.module);
                       return print(*emitted.module);
                     });
}

JitKernel compile(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                  const EmitOptions& options) {
  if (!runs_on_host(spec))
    throw Error(
        {.code = "target.llvm.host",
         .at = func.span,
         .message = str("this machine cannot run code for `", spec.name, "`"),
         .notes = {str("`", func.name, "` was to be compiled and called here")},
         .help = "use the target `host`, or write an object file and take it to such a machine"});
  std::vector<ir::Var> symbols;
  for (const ir::Symbol& symbol : func.symbols) symbols.push_back(symbol.var);
  return load(emit_object(func, spec, options), std::move(symbols));
}

const Backend& backend() {
  static const Backend llvm{.name = "llvm",
                            .supports =
                                [](const ir::TargetSpec& spec) {
                                  const std::vector<std::string> names = target_names();
                                  return std::find(names.begin(), names.end(), spec.name) !=
                                         names.end();
                                },
                            .emit = emit_object};
  return llvm;
}

}  // namespace tilewright::target::llvm
