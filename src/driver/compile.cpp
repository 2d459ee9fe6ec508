// SPDX-License-Identifier: Apache-2.0
// The whole path of the data, in the order the data takes. Before there is a front end, a `.tw`
// text is the model: its tensor programs and functions, and the traces that schedule them.
#include "driver/compile.h"

#include "driver/kernel.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/pipeline.h"
#include "lower/to_blocks.h"
#include "support/str.h"
#include "target/c_source/c_source.h"
#include "target/host.h"
#include "te/print.h"

namespace tilewright::driver {
namespace {

constexpr std::string_view kStages[] = {"te", "loops", "scheduled", "final", "code", "c"};

/// A trace may name the file's own instructions and those of the target.
ir::LoopFunc scheduled(const TextFile& file, const ir::LoopFunc& func,
                       const ir::TargetSpec& target) {
  std::vector<ir::Instruction> instructions = file.unit.instructions;
  instructions.insert(instructions.end(), target.instructions.begin(), target.instructions.end());
  for (const schedule::Trace& trace : file.traces)
    if (trace.name == func.name) return schedule::apply(trace, func, instructions);
  return func;
}

ir::LoopFunc lowered(const ir::LoopFunc& func, const CompileOptions& options) {
  lower::PassContext context;
  context.limits.max_lanes = options.target.vector_bits / 8;
  context.skip = options.skip;
#ifdef TILEWRIGHT_LLVM
  if (options.emit != Stage::C)
    context.limits.instructions = target::llvm::instruction_names(options.target);
#endif
  return lower::run(lower::cpu_pipeline(), func, context);
}

std::string code(const ir::LoopFunc& func, const ir::TargetSpec& target) {
#ifdef TILEWRIGHT_LLVM
  return target::llvm::emit_assembly(func, target);
#else
  throw Error({.code = "driver.code.llvm",
               .at = func.span,
               .message = str("cannot make machine code of `", func.name, "` for ", target.name),
               .notes = {"this build has no LLVM back end"},
               .help = "use `--emit c`, or build with -DTILEWRIGHT_LLVM=ON"});
#endif
}

}  // namespace

Stage stage_from_name(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < std::size(kStages); ++i) {
    if (kStages[i] == name) return static_cast<Stage>(i);
    known += str(known.empty() ? "" : ", ", kStages[i]);
  }
  throw Error({.code = "driver.emit.stage",
               .at = {},
               .message = str("there is no stage `", name, "`"),
               .notes = {},
               .help = str("use one of ", known)});
}

std::string compile(const TextFile& file, const CompileOptions& options) {
  std::string out;
  std::vector<ir::LoopFunc> functions = file.unit.functions;
  for (const te::Program& program : file.programs) {
    if (options.emit == Stage::Te) out += te::print(program);
    functions.push_back(lower::to_blocks(program));
  }
  if (options.emit == Stage::Te) return out;
  std::vector<ir::LoopFunc> lowered_functions;
  for (const ir::LoopFunc& plain : functions) {
    ir::verify(plain);
    ir::LoopFunc func = plain;
    if (options.emit >= Stage::Scheduled) func = scheduled(file, func, options.target);
    if (options.emit >= Stage::Final) func = lowered(func, options);
    if (options.emit == Stage::C)
      lowered_functions.push_back(func);
    else
      out += options.emit == Stage::Code ? code(func, options.target)
                                         : ir::print(ir::Unit{{}, {}, {func}});
  }
  if (options.emit == Stage::C) out = target::c_source::emit(lowered_functions, {}).text;
  return out;
}

std::string run_passes(const TextFile& file, const std::vector<std::string>& passes) {
  std::vector<lower::Pass> list;
  for (const std::string& name : passes) {
    const lower::Pass* pass = lower::find_pass(name);
    if (!pass)
      throw Error({.code = "driver.opt.pass",
                   .at = {},
                   .message = str("there is no pass `", name, "`"),
                   .notes = {},
                   .help = "`tilewright opt --list` names them all"});
    list.push_back(*pass);
  }
  ir::Unit out = file.unit;
  for (const te::Program& program : file.programs)
    out.functions.push_back(lower::to_blocks(program));
  for (ir::LoopFunc& func : out.functions) {
    lower::PassContext context;
    ir::verify(func);
    func = lower::run(list, scheduled(file, func, target::host_target()), context);
  }
  return ir::print(out);
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const lower::Pass& pass : lower::all_passes()) names.emplace_back(pass.name);
  return names;
}

ir::TargetSpec target_from_name(std::string_view name) { return target::parse_target(name); }

std::string describe_targets() {
  std::string out;
  for (const std::string& name : target::target_names()) {
    const ir::TargetSpec spec = target::parse_target(name);
    out += str(name, std::string(name.size() < 12 ? 12 - name.size() : 1, ' '), spec.triple, ", ",
               spec.vector_bits, "-bit vectors, ", spec.vector_registers, " registers",
               target::runs_on_host(spec) ? ", runs on this machine" : "", "\n");
  }
  return out;
}

}  // namespace tilewright::driver
