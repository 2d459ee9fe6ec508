// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/machine.h"

#include <map>
#include <mutex>
#include <vector>

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"

#include "support/build_id.h"
#include "support/diagnostic.h"
#include "support/str.h"
#include "target/llvm/lone_lanes.h"

namespace tilewright::target::llvm {

void initialize_llvm() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86Disassembler();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    LLVMInitializeAArch64Disassembler();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTarget();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVAsmPrinter();
    LLVMInitializeRISCVAsmParser();
    LLVMInitializeRISCVDisassembler();
    const auto give_up = [](void*, const char* reason, bool) { throw GivenUp(reason); };
    ll::install_fatal_error_handler(give_up);
    ll::install_bad_alloc_error_handler(give_up);
    return true;
  }();
  (void)done;
}

CpuName cpu_name(const ir::TargetSpec& spec) {
  if (spec.cpu != "native") return {spec.cpu, spec.features};
  CpuName host{ll::sys::getHostCPUName().str(), ""};
  for (const auto& [feature, have] : ll::sys::getHostCPUFeatures())
    host.features += str(host.features.empty() ? "" : ",", have ? "+" : "-", feature.str());
  return host;
}

struct Machine::Passes {
  ll::LoopAnalysisManager loops;
  ll::FunctionAnalysisManager functions;
  ll::CGSCCAnalysisManager calls;
  ll::ModuleAnalysisManager modules;
  ll::FunctionPassManager pipeline;
};

Machine::Machine(const ir::TargetSpec& spec) : passes_(std::make_unique<Passes>()) {
  initialize_llvm();
  const ll::Triple triple(spec.triple);
  std::string problem;
  const ll::Target* target = ll::TargetRegistry::lookupTarget(triple, problem);
  require(target != nullptr, "LLVM does not know the triple of a target of ours");
  const CpuName name = cpu_name(spec);
  ll::TargetOptions options;
  if (triple.isRISCV()) options.MCOptions.ABIName = "lp64d";
  target_.reset(target->createTargetMachine(triple, name.cpu, name.features, options,
                                            ll::Reloc::PIC_, std::nullopt,
                                            ll::CodeGenOptLevel::Default));

  ll::PassBuilder builder(target_.get());
  builder.registerModuleAnalyses(passes_->modules);
  builder.registerCGSCCAnalyses(passes_->calls);
  builder.registerFunctionAnalyses(passes_->functions);
  builder.registerLoopAnalyses(passes_->loops);
  builder.crossRegisterProxies(passes_->loops, passes_->functions, passes_->calls,
                               passes_->modules);
  ll::FunctionPassManager& p = passes_->pipeline;
  p.addPass(ll::SROAPass(ll::SROAOptions::PreserveCFG));
  p.addPass(ll::EarlyCSEPass(/*UseMemorySSA=*/true));
  p.addPass(ll::InstCombinePass());
  p.addPass(ll::createFunctionToLoopPassAdaptor(ll::LICMPass(ll::LICMOptions()),
                                                /*UseMemorySSA=*/true));
  p.addPass(ll::GVNPass(ll::GVNOptions().setPRE(false).setLoadPRE(false)));
  p.addPass(LoneLanes());
  p.addPass(ll::ADCEPass());
}

Machine::~Machine() = default;

std::string feature_list(const ir::TargetSpec& spec) {
  const MachineLease machine(spec);
  const ll::MCSubtargetInfo& info = *machine->target().getMCSubtargetInfo();
  std::string out;
  for (const auto& f : info.getEnabledProcessorFeatures())
    out += str(out.empty() ? "+" : ",+", f.Key);
  return out;
}

std::string code_generator(const ir::TargetSpec& spec) {
  const CpuName name = cpu_name(spec);
  const auto in_llvm = reinterpret_cast<const void*>(&LLVMInitializeX86Target);
  return str(LLVM_VERSION_STRING, " ", build_id(in_llvm), " ", name.cpu, " ", name.features);
}

void Machine::prepare(ll::Module& module) const {
  module.setTargetTriple(target_->getTargetTriple());
  module.setDataLayout(target_->createDataLayout());
  module.setPICLevel(ll::PICLevel::BigPIC);
}

void Machine::set_cpu(ll::Module& module, Scheduling scheduling) const {
  for (ll::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target_->getTargetCPU());
    f.addFnAttr("target-features", target_->getTargetFeatureString());
    if (scheduling == Scheduling::Generic)
      f.addFnAttr("tune-cpu", target_->getTargetTriple().isX86() ? "x86-64" : "generic");
  }
}

void Machine::optimize(ll::Module& module) {
  for (ll::Function& f : module)
    if (!f.isDeclaration()) passes_->pipeline.run(f, passes_->functions);
  passes_->loops.clear();
  passes_->functions.clear();
  passes_->calls.clear();
  passes_->modules.clear();
}

std::string Machine::generate(ll::Module& module, Output output) const {
  ll::SmallVector<char, 0> bytes;
  ll::raw_svector_ostream stream(bytes);
  auto passes = std::make_unique<ll::legacy::PassManager>();
  const bool failed =
      target_->addPassesToEmitFile(*passes, stream, nullptr,
                                   output == Output::Object ? ll::CodeGenFileType::ObjectFile
                                                            : ll::CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true);
  require(!failed, "LLVM cannot emit code for a target of ours");
  try {
    passes->run(module);
  } catch (const GivenUp&) {
    (void)passes.release();
    throw;
  }
  return {bytes.data(), bytes.size()};
}

namespace {

struct Kept {
  std::mutex mutex;
  std::map<std::string, std::vector<std::unique_ptr<Machine>>> machines;
};
Kept& kept() {
  static Kept all;
  return all;
}

}  // namespace

MachineLease::MachineLease(const ir::TargetSpec& spec)
    : key_(str(spec.triple, "|", spec.cpu, "|", spec.features)) {
  {
    const std::lock_guard lock(kept().mutex);
    auto& free = kept().machines[key_];
    if (!free.empty()) {
      machine_ = std::move(free.back());
      free.pop_back();
      return;
    }
  }
  machine_ = std::make_unique<Machine>(spec);
}

MachineLease::~MachineLease() {
  if (!machine_) return;
  const std::lock_guard lock(kept().mutex);
  kept().machines[key_].push_back(std::move(machine_));
}

}  // namespace tilewright::target::llvm
