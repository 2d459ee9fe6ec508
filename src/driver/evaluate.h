// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ir/target_spec.h"
#include "target/llvm/compile.h"

namespace tilewright::driver {

class KernelCache;

/// The results of nodes whose inputs are constants, for graph::Services::evaluate: small ones by
/// the interpreter, others by code compiled for this machine, once for all nodes that are alike. No
/// results where neither will do.
class Evaluator {
 public:
  /// `host` is a target that this machine can run.
  explicit Evaluator(ir::TargetSpec host, std::shared_ptr<const KernelCache> cache = nullptr)
      : host_(std::move(host)), cache_(std::move(cache)) {}

  std::vector<graph::Constant> operator()(const graph::Graph& graph, const graph::Node& node);

 private:
  const target::llvm::JitKernel& kernel(const ir::LoopFunc& blocks);

  ir::TargetSpec host_;
  std::shared_ptr<const KernelCache> cache_;                // may be null
  std::map<std::string, target::llvm::JitKernel> kernels_;  // by the text of their blocks
};

}  // namespace tilewright::driver
