// SPDX-License-Identifier: Apache-2.0
// Running a module on files of tensors, and measuring it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "frontend/npz.h"
#include "module/in_memory.h"
#include "tilewright/runtime.hpp"

namespace tilewright::driver {

/// A module with a context to run it, from a `.twm` file or in memory of its own.
class LoadedModule {
 public:
  LoadedModule(const std::filesystem::path& path, int threads);
  LoadedModule(PagedMemory bytes, int threads);

  /// Inputs by name; what is missing and has no default is an Error that lists what the module
  /// wants.
  void set_inputs(const std::vector<frontend::NamedTensor>& inputs);
  /// Seeded values for every input without a default; dimensions that are not constant take their
  /// least value, or 1.
  void set_random_inputs(uint64_t seed);
  void run();
  std::vector<frontend::NamedTensor> outputs();

  /// Of what is set, or of the default.
  std::vector<std::vector<int64_t>> input_shapes() const;

  /// Null: the default.
  const std::vector<graph::Constant>& inputs() const { return inputs_; }
  tw::Module& module() { return module_; }
  tw::Context& context() { return context_; }

 private:
  void set(int32_t i, graph::Constant value);

  PagedMemory bytes_;  // nothing where it is a file
  tw::Module module_;
  tw::Context context_;
  std::vector<graph::Constant> inputs_;  // kept while the context looks at them
};

/// Times of runs in milliseconds, and what each kernel takes of them.
struct BenchResult {
  std::vector<double> runs;  // sorted
  struct Kernel {
    std::string name;
    double ms = 0;  // of the median run
    int calls = 0;  // in one run
  };
  std::vector<Kernel> kernels;  // the most expensive first
  struct Call {
    uint32_t instruction = 0;  // of the plan
    double ms = 0;             // of all of its calls in the median run
    int count = 0;
  };
  std::vector<Call> calls;
  int64_t constant_bytes = 0, context_bytes = 0;

  double quantile(double q) const;
};
/// Runs for about `seconds`, and at least five times. `trace` gets a Chrome trace of one run.
BenchResult bench(LoadedModule& module, double seconds, const std::filesystem::path& trace = {});
std::string print(const BenchResult& result);
std::string json(const BenchResult& result);

}  // namespace tilewright::driver
