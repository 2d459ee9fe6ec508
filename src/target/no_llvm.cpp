// SPDX-License-Identifier: Apache-2.0
// Stands in for target/llvm/ in a build without it (TILEWRIGHT_LLVM=OFF): machine code is refused,
// what can be told without making any is told.
#include "support/str.h"
#include "target/llvm/compile.h"

namespace tilewright::target::llvm {
namespace {

[[noreturn]] void refuse(const ir::TargetSpec& spec) {
  throw Error({.code = "target.llvm.missing",
               .at = {},
               .message = str("cannot make machine code for ", spec.name),
               .notes = {"this build has no LLVM back end"},
               .help =
                   "write C of a kernel's text (`--emit c`), or build with -DTILEWRIGHT_LLVM=ON: "
                   "a model's constants are computed by machine code"});
}

}  // namespace

Kernel emit_object(const ir::LoopFunc&, const ir::TargetSpec& spec, const EmitOptions&) {
  refuse(spec);
}
std::string emit_assembly(const ir::LoopFunc&, const ir::TargetSpec& spec, const EmitOptions&) {
  refuse(spec);
}
std::string emit_llvm_ir(const ir::LoopFunc&, const ir::TargetSpec& spec, const EmitOptions&,
                         bool) {
  refuse(spec);
}
JitKernel compile(const ir::LoopFunc&, const ir::TargetSpec& spec, const EmitOptions&) {
  refuse(spec);
}
std::string feature_list(const ir::TargetSpec& spec) { refuse(spec); }
std::string code_generator(const ir::TargetSpec&) { return "none"; }
std::vector<std::string> instruction_names(const ir::TargetSpec&) { return {}; }

// There are no objects and no kernels without the functions above.
void link_shared_library(std::span<const Kernel>, const std::string&) {
  throw InternalError("objects without LLVM");
}
std::string link_shared_object(std::span<const Kernel>) {
  throw InternalError("objects without LLVM");
}
JitKernel load(Kernel, std::vector<ir::Var>) { throw InternalError("objects without LLVM"); }
void JitKernel::call(std::span<void* const>, std::span<const int64_t>, tw_host) const {
  throw InternalError("a kernel without LLVM");
}
void JitKernel::call(std::span<void* const>, std::span<const int64_t>) const {
  throw InternalError("a kernel without LLVM");
}

}  // namespace tilewright::target::llvm
