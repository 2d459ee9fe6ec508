// SPDX-License-Identifier: Apache-2.0
// A model all the way to a module.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/build_kernels.h"
#include "graph/graph.h"
#include "graph/pipeline.h"
#include "ir/target_spec.h"
#include "module/module.h"
#include "target/backend.h"

namespace tilewright::driver {

class KernelCache;

struct ModelOptions {
  ir::TargetSpec target;
  std::vector<ir::TargetSpec> more_targets;  // further machines that the same module is for
  target::EmitOptions emit;
  std::vector<std::string> skip;             // graph passes and the like that are left out
  ir::Elem precision = ir::Elem::F32;        // of the factors of products of f32
  int threads = 0;                           // of the compiler; 0: as many as there are CPUs
  std::shared_ptr<const KernelCache> cache;  // of compiled kernels; may be null
  Schedules schedules;                       // from tuning; may be empty
  bool require_schedules = false;            // untuned kernels are an Error
  std::function<void(size_t done, size_t all)> progress;
  std::function<void(const std::string&)> warn;  // what is slower than it should be, a line each
};

/// f32 or bf16; an Error for another name.
ir::Elem precision_from_name(std::string_view name);

/// Do values share places in the arena? Not when `memory_plan` is left out.
bool shares_memory(const ModelOptions& options);

/// A point of the path as text: graph, fused, te, loops, scheduled, final, code or c.
std::string emit_model(const graph::Graph& model, const ModelOptions& options,
                       std::string_view stage);

/// The model after all graph passes, its nodes in groups that are one kernel each.
graph::Graph optimized(const graph::Graph& model, const ModelOptions& options);

/// A compiled model, and what there is to tell of it.
struct CompiledModel {
  graph::Graph graph;             // after all passes
  BuiltKernels kernels;           // for the first target
  std::vector<KernelCall> calls;  // in the order of the plan
  graph::FusionReport fusion;
  graph::LayoutReport layouts;
  Module module;
};
CompiledModel compile_with_report(const graph::Graph& model, const ModelOptions& options);

Module compile_model(const graph::Graph& model, const ModelOptions& options);

}  // namespace tilewright::driver
