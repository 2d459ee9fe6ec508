// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/emitter.h"

#include "support/str.h"

namespace tilewright::target::llvm {

Emitter::Emitter(ll::Module& module, const ir::LoopFunc& func, const ir::TargetSpec& spec,
                 const EmitOptions& options)
    : module_(module), func_(func), options_(options), b_(module.getContext(), spec) {
  ll::FastMathFlags flags;
  flags.setAllowContract(options.numerics != Numerics::Ieee);
  b_.setFastMathFlags(flags);
  b_.subnormals = options.subnormals;
}

ll::Function* Emitter::add_function(const std::string& name, ll::FunctionType* type,
                                    bool exported) {
  ll::Function* f = ll::Function::Create(
      type, exported ? ll::Function::ExternalLinkage : ll::Function::InternalLinkage, name,
      module_);
  f->setDSOLocal(true);
  f->addFnAttr(ll::Attribute::NoUnwind);
  if (b_.spec.isa.has(ir::Isa::Avx512)) {
    f->addFnAttr("prefer-vector-width", "512");
    f->addFnAttr("min-legal-vector-width", "512");
  }
  b_.SetInsertPoint(ll::BasicBlock::Create(module_.getContext(), "entry", f));
  return f;
}

void Emitter::run() {
  if (func_.stage != ir::Stage::Final)
    throw Error({.code = "target.llvm.stage",
                 .at = func_.span,
                 .message = str("`", func_.name, "` is not ready for code generation"),
                 .notes = {str("it is at stage `", ir::name(func_.stage), "`")},
                 .help = "run the lowering pipeline of the target first"});
  make_scopes();
  ll::Type* p = b_.getPtrTy();
  frame_.function =
      add_function(func_.name, ll::FunctionType::get(b_.getInt32Ty(), {p, p, p}, false), true);
  for (unsigned i = 0; i < 3; ++i) frame_.function->addParamAttr(i, ll::Attribute::NoAlias);
  frame_.host = frame_.function->getArg(2);
  bind_parameters(frame_.function->getArg(0), frame_.function->getArg(1));
  if (uses_tiles(func_.body)) configure_tiles();
  stmt(func_.body);
  release_tiles();
  b_.CreateRet(b_.getInt32(0));
}

}  // namespace tilewright::target::llvm
