// SPDX-License-Identifier: Apache-2.0
#include "driver/build_kernels.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "driver/kernel.h"
#include "graph/op_def.h"
#include "ir/print.h"
#include "lower/to_blocks.h"
#include "runtime/thread_pool.h"
#include "support/str.h"
#include "tune/choose/choose.h"

namespace tilewright::driver {
namespace {

using namespace graph;

/// Nodes of one kernel: the members of a group, or the operator itself.
const std::vector<Node> members_of(const Node& node) {
  return node.op->special == Special::Group ? node.bodies.at(0).nodes : std::vector<Node>{node};
}

std::string name_of(const std::vector<Node>& members) {
  std::string name;
  for (const Node& m : members) {
    if (name.size() > 40) return name + "_etc";
    name += str(name.empty() ? "" : "_", m.op->name);
  }
  return name;
}

/// Scheduled and lowered. The plain loops are always an answer: a schedule that a later pass cannot
/// follow costs speed, never the model; `plain` then says why.
ir::LoopFunc lowered(const ir::LoopFunc& blocks, const ir::TargetSpec& target, std::string& plain) {
  try {
    return lower_for_cpu(tune::choose(blocks, target), target);
  } catch (const Error& e) {
    plain = e.diagnostic.message;
    return lower_for_cpu(blocks, target);
  }
}

class Collector {
 public:
  explicit Collector(Graph& graph) : graph_(graph) {}

  void function(const Function& f) {
    for (const Node& node : f.nodes) {
      if (node.op->special == Special::Control)
        for (const Function& body : node.bodies) function(body);
      if (node.op->special == Special::Group ||
          (node.op->special == Special::None && ops::is_computed(*node.op)))
        add(node);
    }
  }

  std::vector<PlainKernel> tasks;
  std::map<const Node*, KernelUse> uses;

 private:
  void add(const Node& node) {
    const std::vector<Node> members = members_of(node);
    std::vector<ValueId> outputs;
    for (const ValueId id : node.outputs)
      if (id != kNoValue) outputs.push_back(id);
    const ops::KernelProgram program =
        ops::program_of(graph_, members, outputs, str("k", tasks.size()));
    const std::string name = name_of(members);
    ir::LoopFunc blocks = program.loops ? *program.loops : lower::to_blocks(*program.program);
    blocks.name = "kernel";
    const std::string text = ir::print(ir::Unit{{}, {}, {blocks}});
    const auto [place, is_new] = kernels_.emplace(text, tasks.size());
    if (is_new) {
      blocks.name = str("k", tasks.size());
      tasks.push_back({name, program.program, std::move(blocks)});
    }
    uses[&node] = {place->second, program.inputs, program.outputs, program.symbols};
  }

  Graph& graph_;
  std::unordered_map<std::string, size_t> kernels_;  // by their text
};

}  // namespace

std::vector<PlainKernel> plain_kernels(Graph& graph) {
  Collector collector(graph);
  for (const Function& f : graph.functions) collector.function(f);
  return std::move(collector.tasks);
}

BuiltKernels build_kernels(Graph& graph, const BuildOptions& options) {
  Collector collector(graph);
  for (const Function& f : graph.functions) collector.function(f);
  BuiltKernels out;
  out.uses = std::move(collector.uses);
  out.kernels.resize(collector.tasks.size());

  std::atomic<size_t> next = 0, done = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t i = next++; i < collector.tasks.size(); i = next++) {
      try {
        const PlainKernel& task = collector.tasks[i];
        std::string plain;
        const ir::LoopFunc final = lowered(task.blocks, options.target, plain);
        out.kernels[i] = {task.name, target::llvm::emit_object(final, options.target, options.emit),
                          final, std::move(plain)};
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
      const size_t finished = ++done;
      if (options.progress) options.progress(finished, collector.tasks.size());
    }
  };
  const int threads = options.threads > 0 ? options.threads : runtime::available_cpus();
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  if (failure) std::rethrow_exception(failure);
  return out;
}

}  // namespace tilewright::driver
