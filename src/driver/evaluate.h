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
/// results where neither will do, or when a limit is reached: a small file could ask for hours and
/// for all memory. The limits grow with the constants that the model brings along.
///   time     4e9, and 50 for each byte of constants: about nanoseconds, as modelled, so that the
///            same model gives the same module on every machine
///   memory   256 MiB, and four times the constants
class Evaluator {
 public:
  /// `host` is a target that this machine can run.
  explicit Evaluator(ir::TargetSpec host, std::shared_ptr<const KernelCache> cache = nullptr,
                     int64_t constant_bytes = 0)
      : host_(std::move(host)),
        cache_(std::move(cache)),
        time_left_(4e9 + 50.0 * static_cast<double>(constant_bytes)),
        bytes_left_((int64_t{256} << 20) + 4 * constant_bytes) {}

  std::vector<graph::Constant> operator()(const graph::Graph& graph, const graph::Node& node);

 private:
  const target::llvm::JitKernel* kernel(const ir::LoopFunc& blocks);  // null: no time is left
  /// Takes that much of the time that is left, if there is enough.
  bool spend(double nanoseconds);

  ir::TargetSpec host_;
  std::shared_ptr<const KernelCache> cache_;                // may be null
  std::map<std::string, target::llvm::JitKernel> kernels_;  // by the text of their blocks
  double time_left_;
  int64_t bytes_left_;
};

}  // namespace tilewright::driver
