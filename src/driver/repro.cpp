// SPDX-License-Identifier: Apache-2.0
#include "driver/repro.h"

#include "driver/aligned_bytes.h"
#include "driver/check_model.h"
#include "driver/kernel.h"
#include "driver/reference.h"
#include "driver/run_model.h"
#include "graph/op_def.h"
#include "graph/print.h"
#include "module/in_memory.h"
#include "ops/program_of.h"
#include "support/str.h"
#include "support/write_file.h"
#include "tune/choose/canonical.h"
#include "tune/choose/choose.h"

namespace tilewright::driver {
namespace {

using graph::Constant;
using graph::ValueId;

/// Constants up to so many elements are written into the text; larger ones become inputs.
constexpr int64_t kWritten = 1 << 16;

std::vector<Constant> constants(const std::vector<frontend::NamedTensor>& tensors) {
  std::vector<Constant> out;
  for (const frontend::NamedTensor& t : tensors) out.push_back(t.value);
  return out;
}

bool close(const std::vector<frontend::NamedTensor>& want, const std::vector<Constant>& got,
           double tolerance) {
  for (size_t i = 0; i < want.size(); ++i)
    if (!(difference(*want[i].value, *got[i]) <= tolerance)) return false;
  return true;
}

/// The kernel after some of its schedule's steps, run on the values.
std::vector<Constant> run_kernel(const Repro& repro, const PlainKernel& kernel,
                                 const KernelUse& use, const ir::LoopFunc& scheduled,
                                 const ir::TargetSpec& target) {
  const target::llvm::JitKernel code = compile_kernel(scheduled, target);
  std::vector<AlignedBytes> memory;
  for (const ValueId id : use.inputs) {
    Constant c = repro.graph.value(id).constant;
    for (const frontend::NamedTensor& t : repro.inputs)
      if (t.name == repro.graph.value(id).name) c = t.value;
    memory.emplace_back(c->bytes);
  }
  for (const frontend::NamedTensor& t : repro.want)
    memory.emplace_back(static_cast<int64_t>(t.value->bytes.size()));
  std::vector<void*> buffers;
  for (AlignedBytes& m : memory) buffers.push_back(m.data());
  code.call(buffers);
  std::vector<Constant> out;
  for (size_t i = 0; i < repro.want.size(); ++i) {
    const Constant& like = repro.want[i].value;
    const std::byte* data = memory[kernel.inputs + i].data();
    out.push_back(graph::make_constant(like->elem, like->shape, {data, data + like->bytes.size()}));
  }
  return out;
}

std::string culprit_step(const Repro& repro, const ModelOptions& options, double tolerance) {
  graph::Graph graph = repro.graph;
  KernelUse use;
  const PlainKernel kernel = plain_kernel(graph, graph.main().nodes[0], use);
  if (!kernel.blocks.symbols.empty()) return "it is wrong alone, too";
  const schedule::Schedule chosen = tune::choose_schedule(kernel.blocks, options.target);
  schedule::Program program(tune::canonical(kernel.blocks), options.target.instructions);
  const auto right = [&] {
    return close(repro.want, run_kernel(repro, kernel, use, program.func(), options.target),
                 tolerance);
  };
  if (!right()) return "it is wrong without a schedule: lowering or code generation is at fault";
  for (size_t i = 0; i < chosen.trace().lines.size(); ++i) {
    schedule::apply(program, chosen.trace().lines[i]);
    try {
      if (!right())
        return str("it is wrong from step ", i + 1, " of its schedule on: `",
                   schedule::print(chosen.trace().lines[i]), "`");
    } catch (const Error&) {  // not every point of a schedule can be lowered
    }
  }
  return "its kernel alone is right; packed constants or the plan are at fault";
}

}  // namespace

std::optional<Repro> repro_of(const graph::Graph& model, const std::string& value,
                              const std::map<std::string, Constant>& values) {
  const graph::Node* node = nullptr;
  for (const graph::Node& n : model.main().nodes)
    for (const ValueId id : n.outputs)
      if (id != graph::kNoValue && model.value(id).name == value) node = &n;
  if (!node || !node->bodies.empty() || !ops::is_computed(*node->op)) return {};

  Repro out;
  out.graph.functions.emplace_back();
  out.graph.functions[0].name = "main";
  graph::Node alone = *node;
  std::map<ValueId, ValueId> now;  // numbers here by those in the model
  const auto known = [&](ValueId id) -> Constant {
    if (model.value(id).constant) return model.value(id).constant;
    const auto found = values.find(model.value(id).name);
    return found == values.end() ? Constant() : found->second;
  };
  const auto add = [&](ValueId id, const Constant& content, bool is_constant) {
    const auto [place, is_new] = now.emplace(id, static_cast<ValueId>(out.graph.values.size()));
    if (is_new)
      out.graph.values.push_back({.name = model.value(id).name,
                                  .type = content->type(),
                                  .constant = is_constant ? content : Constant()});
    return std::pair(place->second, is_new);
  };
  for (ValueId& id : alone.inputs) {
    if (id == graph::kNoValue) continue;
    const Constant content = known(id);
    if (!content) return {};
    const graph::Value& v = model.value(id);
    const bool is_constant = v.elements || v.wholes || (v.constant && content->count() <= kWritten);
    const auto [number, is_new] = add(id, content, is_constant);
    if (is_new && !is_constant) {
      out.graph.main().inputs.push_back(number);
      out.inputs.push_back({v.name, content});
    }
    id = number;
  }
  for (ValueId& id : alone.outputs) {
    if (id == graph::kNoValue) continue;
    const Constant content = known(id);
    if (!content) return {};
    out.want.push_back({model.value(id).name, content});
    id = add(id, content, false).first;
    out.graph.main().outputs.push_back(id);
    out.graph.output_names.push_back(out.want.back().name);
  }
  out.graph.main().nodes.push_back(std::move(alone));
  return out;
}

std::string culprit_of(const Repro& repro, const ModelOptions& options, double tolerance) {
  if (!close(repro.want, run_reference(repro.graph, constants(repro.inputs)), tolerance))
    return "the interpreter gives the same wrong value: the operator's definition or its import is "
           "at fault";
  LoadedModule module(module_in_memory(compile_model(repro.graph, options)), 1);
  module.set_inputs(repro.inputs);
  module.run();
  if (close(repro.want, constants(module.outputs()), tolerance))
    return "it is right alone: what it is fused with, or the plan, is at fault";
  return culprit_step(repro, options, tolerance);
}

std::vector<std::filesystem::path> repro_files(const std::string& name) {
  return {name + ".tw", name + ".npz"};
}

void write_repro(const Repro& repro, const std::string& name, const std::string& remark) {
  std::string comment = "// ";
  for (const char c : remark) comment += c == '\n' ? std::string("\n// ") : std::string(1, c);
  const std::vector<std::filesystem::path> files = repro_files(name);
  write_file(files[0], str(comment, "\n", graph::print(repro.graph, kWritten)));
  frontend::write_npz(files[1], repro.inputs);
}

}  // namespace tilewright::driver
