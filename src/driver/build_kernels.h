// SPDX-License-Identifier: Apache-2.0
// The kernels of a graph: every fused group becomes machine code once, however often it occurs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/schedules.h"
#include "graph/graph.h"
#include "graph/parts.h"
#include "ir/target_spec.h"
#include "ops/program_of.h"
#include "target/backend.h"

namespace tilewright::driver {

struct KernelVariant;

/// How one node of the graph uses a kernel.
struct KernelUse {
  size_t kernel = 0;  // in BuiltKernels::kernels
  std::vector<graph::ValueId> inputs, outputs;
  size_t packed = 0;  // the last so many inputs are constants that were packed for the kernel
  std::vector<ir::Expr> scalars;  // of the kernel, in the order of its symbols, by the graph's
  std::vector<KernelVariant> variants;
  std::vector<ir::Expr> positive;  // where one of these is not, nothing is to be computed
};

/// The kernel for sizes that have one of their own.
struct KernelVariant {
  ir::Expr when;  // over the graph's symbols
  KernelUse use;  // without variants
};

/// A kernel that a plan calls, and the node that it computes.
struct KernelCall {
  const graph::Node* node = nullptr;
  const KernelUse* use = nullptr;  // in BuiltKernels::uses: the node's, or that of a variant
};

struct BuiltKernel {
  std::string name;     // for people: "conv_add_relu"
  target::Kernel code;  // empty with BuildOptions::code off
  ir::LoopFunc func;    // stage `final`; from the cache, it has no body
  std::string plain;    // why it has no schedule and is slow; empty when it has one
  ScheduleOrigin origin = ScheduleOrigin::Untuned;  // of its schedule
  std::string tuned;                                // what tuning has found; empty: it is untuned
  std::string refused;  // why a tuned schedule is not used; empty: it is, or there is none
  ir::LoopFunc blocks;  // before its schedule
  std::vector<std::string> constants;  // parameters of `blocks` that never change
  std::vector<size_t> taken;  // its first inputs, as places among the parameters of `blocks`
};

struct BuiltKernels {
  std::vector<BuiltKernel> kernels;
  std::map<const graph::Node*, KernelUse> uses;
  graph::Parts parts;  // values that lie inside of others, and the nodes that need no kernel so
};

class KernelCache;

struct BuildOptions {
  ir::TargetSpec target;
  target::EmitOptions emit;
  bool code = true;                    // machine code; off: the functions alone
  int threads = 0;                     // 0: as many as there are CPUs
  const KernelCache* cache = nullptr;  // null: everything is made anew
  Schedules schedules;                 // from tuning; may be empty
  /// Called from any thread with the number of finished kernels; may be empty.
  std::function<void(size_t done, size_t all)> progress;
};

/// A kernel before its schedule.
struct PlainKernel {
  std::string name;
  std::optional<te::Program> program;  // of tensor expressions
  ir::LoopFunc blocks;
  size_t inputs = 0;                               // parameters that it reads; they come first
  std::vector<std::string> constants;              // names of those that never change
  std::string key;                                 // equal for kernels that do the same
  std::shared_ptr<const ir::LoopFunc> variant_of;  // of which it is the one for certain sizes
};
/// The kernel of a node that one computes, its values laid out as their types say.
PlainKernel plain_kernel(graph::Graph& graph, const graph::Node& node, KernelUse& use);

/// The kernels of the graph, each once.
std::vector<PlainKernel> plain_kernels(graph::Graph& graph);

/// Every node that a kernel computes, in all functions. The graph gets the symbols that definitions
/// ask for, and constants in the layouts that kernels want; its nodes stay where they are.
BuiltKernels build_kernels(graph::Graph& graph, const BuildOptions& options);

}  // namespace tilewright::driver
