// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/scan.h"

#include <algorithm>
#include <memory>

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"

#include "support/diagnostic.h"
#include "target/llvm/machine.h"

namespace tilewright::target::llvm {
namespace {

struct Decoded {
  uint64_t at = 0;
  uint64_t size = 0;
  uint64_t branch_to = 0;  // when `branches`
  bool branches = false;
  bool is_call = false;
  std::string text;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// How registers and the stack are written in a target's assembler.
struct Syntax {
  virtual ~Syntax() = default;
  virtual bool names_vector(const std::string& text) const = 0;
  virtual bool names_stack(const std::string& text, bool has_frame_pointer) const = 0;
  virtual bool is_vector_move(const std::string& text) const = 0;
  virtual bool sets_frame_pointer(const std::string& text) const = 0;
};

struct X86Syntax final : Syntax {
  bool names_vector(const std::string& t) const override {
    return has(t, "%zmm") || has(t, "%ymm") || has(t, "%xmm") || has(t, "%tmm");
  }
  // A slot of its own has no index; an array on the stack that a loop runs through has one.
  bool names_stack(const std::string& t, bool has_frame_pointer) const override {
    return has(t, "(%rsp)") || (has_frame_pointer && has(t, "(%rbp)"));
  }
  bool is_vector_move(const std::string& t) const override {
    return has(t, "vmov") && !has(t, "(") && !has(t, "vmovd\t") && !has(t, "vmovq\t") &&
           names_vector(t);
  }
  bool sets_frame_pointer(const std::string& t) const override {
    return has(t, "movq\t%rsp, %rbp");
  }
};

struct Aarch64Syntax final : Syntax {
  bool names_vector(const std::string& t) const override {
    for (size_t i = 0; i + 1 < t.size(); ++i)
      if ((t[i] == '\t' || t[i] == ' ' || t[i] == '{') && (t[i + 1] == 'q' || t[i + 1] == 'v') &&
          i + 2 < t.size() && t[i + 2] >= '0' && t[i + 2] <= '9')
        return true;
    return false;
  }
  bool names_stack(const std::string& t, bool has_frame_pointer) const override {
    return has(t, "[sp") || (has_frame_pointer && has(t, "[x29"));
  }
  bool is_vector_move(const std::string& t) const override {
    return has(t, "mov\tv") && !has(t, "[") && has(t, ".16b, v");
  }
  bool sets_frame_pointer(const std::string& t) const override { return has(t, "mov\tx29, sp"); }
};

struct RiscvSyntax final : Syntax {
  // Vector spills are whole-register accesses through an address made from sp.
  bool names_vector(const std::string& t) const override { return has(t, "\tv"); }
  bool names_stack(const std::string& t, bool) const override {
    return has(t, "(sp)") || has(t, "vs1r.v") || has(t, "vs2r.v") || has(t, "vs4r.v") ||
           has(t, "vs8r.v") || has(t, "vl1r") || has(t, "vl2r") || has(t, "vl4r") || has(t, "vl8r");
  }
  bool is_vector_move(const std::string& t) const override {
    return has(t, "vmv.v.v") || has(t, "vmv1r.v");
  }
  bool sets_frame_pointer(const std::string&) const override { return false; }
};

const Syntax& syntax_of(const ll::Triple& triple) {
  static const X86Syntax x86;
  static const Aarch64Syntax aarch64;
  static const RiscvSyntax riscv;
  if (triple.isAArch64()) return aarch64;
  if (triple.isRISCV()) return riscv;
  return x86;
}

class Scanner {
 public:
  explicit Scanner(const ll::TargetMachine& machine)
      : triple_(machine.getTargetTriple()),
        info_(*machine.getMCInstrInfo()),
        subtarget_(*machine.getMCSubtargetInfo()),
        context_(triple_, machine.getMCAsmInfo(), machine.getMCRegisterInfo(), &subtarget_),
        disassembler_(machine.getTarget().createMCDisassembler(subtarget_, context_)),
        analysis_(machine.getTarget().createMCInstrAnalysis(&info_)),
        printer_(machine.getTarget().createMCInstPrinter(
            triple_, machine.getMCAsmInfo()->getAssemblerDialect(), *machine.getMCAsmInfo(), info_,
            *machine.getMCRegisterInfo())) {}

  std::vector<HotLoop> scan(const std::string& name, ll::ArrayRef<uint8_t> code) const {
    const std::vector<Decoded> all = decode(code);
    const Syntax& syntax = syntax_of(triple_);
    const bool frame_pointer = std::any_of(all.begin(), all.end(), [&](const Decoded& d) {
      return syntax.sets_frame_pointer(d.text);
    });
    std::vector<HotLoop> loops;
    for (const Decoded& d : all)
      if (d.branches && d.branch_to <= d.at) loops.push_back({name, d.branch_to, d.at + d.size});
    const auto contains = [](const HotLoop& a, const HotLoop& b) {
      return a.begin <= b.begin && b.end <= a.end && (a.begin != b.begin || a.end != b.end);
    };
    std::vector<HotLoop> innermost;
    for (HotLoop& loop : loops) {
      if (std::any_of(loops.begin(), loops.end(),
                      [&](const HotLoop& other) { return contains(loop, other); }))
        continue;
      for (const Decoded& d : all) {
        if (d.at < loop.begin || d.at >= loop.end) continue;
        ++loop.instructions;
        loop.calls += d.is_call;
        if (!syntax.names_vector(d.text)) continue;
        ++loop.vector_instructions;
        loop.vector_stack_accesses += syntax.names_stack(d.text, frame_pointer);
        loop.vector_moves += syntax.is_vector_move(d.text);
      }
      innermost.push_back(loop);
    }
    return innermost;
  }

 private:
  std::vector<Decoded> decode(ll::ArrayRef<uint8_t> code) const {
    std::vector<Decoded> all;
    for (uint64_t at = 0; at < code.size();) {
      ll::MCInst inst;
      uint64_t size = 0;
      const auto status =
          disassembler_->getInstruction(inst, size, code.slice(at), at, ll::nulls());
      if (status != ll::MCDisassembler::Success) {
        at += std::max<uint64_t>(size, 1);
        continue;
      }
      Decoded d{.at = at, .size = size};
      const ll::MCInstrDesc& desc = info_.get(inst.getOpcode());
      d.is_call = desc.isCall();
      if (desc.isBranch()) d.branches = analysis_->evaluateBranch(inst, at, size, d.branch_to);
      ll::raw_string_ostream stream(d.text);
      printer_->printInst(&inst, at, "", subtarget_, stream);
      all.push_back(std::move(d));
      at += size;
    }
    return all;
  }

  const ll::Triple& triple_;
  const ll::MCInstrInfo& info_;
  const ll::MCSubtargetInfo& subtarget_;
  mutable ll::MCContext context_;
  std::unique_ptr<ll::MCDisassembler> disassembler_;
  std::unique_ptr<ll::MCInstrAnalysis> analysis_;
  std::unique_ptr<ll::MCInstPrinter> printer_;
};

template <class T>
T check(ll::Expected<T> value) {
  if (!value) throw InternalError("reading an object of ours: " + ll::toString(value.takeError()));
  return std::move(*value);
}

}  // namespace

namespace {

std::vector<HotLoop> scan_object(const std::string& object, const Machine& machine) {
  const Scanner scanner(machine.target());
  const auto file =
      check(ll::object::ObjectFile::createObjectFile(ll::MemoryBufferRef(object, "kernel")));
  std::vector<HotLoop> loops;
  for (const ll::object::SymbolRef& symbol : file->symbols()) {
    if (check(symbol.getType()) != ll::object::SymbolRef::ST_Function) continue;
    const auto section = check(symbol.getSection());
    if (section == file->section_end()) continue;
    const ll::StringRef bytes = check(section->getContents());
    const uint64_t start = check(symbol.getAddress()) - section->getAddress();
    const uint64_t size = ll::object::ELFSymbolRef(symbol).getSize();
    const ll::ArrayRef<uint8_t> code(reinterpret_cast<const uint8_t*>(bytes.data()) + start, size);
    const std::vector<HotLoop> found = scanner.scan(check(symbol.getName()).str(), code);
    loops.insert(loops.end(), found.begin(), found.end());
  }
  return loops;
}

}  // namespace

std::vector<HotLoop> scan_hot_loops(const std::string& object, const ir::TargetSpec& spec) {
  const MachineLease machine(spec);
  return scan_object(object, *machine);
}

int spills_in_hot_loops(const std::string& object, const Machine& machine) {
  int sum = 0;
  for (const HotLoop& loop : scan_object(object, machine)) sum += loop.vector_stack_accesses;
  return sum;
}

}  // namespace tilewright::target::llvm
