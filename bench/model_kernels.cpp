// SPDX-License-Identifier: Apache-2.0
// The kernels of a model where they stand, on one core: time, and what the machine would take at
// least.
//   model_kernels MODEL.onnx JSON [--inputs FILE.npz] [--skip NAME]
//                 [--slices N] [--seconds N]
//
// The roof of a kernel is the slower of two times: its floating-point operations at the rate of
// FMAs on registers in the same run; and plain loads of its bytes at its place in the model
// (lib/replay.h).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/kernel_cache.h"
#include "driver/machine.h"
#include "driver/run_model.h"
#include "frontend/onnx/import.h"
#include "kernel_facts.h"
#include "kernel_times.h"
#include "module/in_memory.h"
#include "runtime/api.h"

using namespace tilewright;

namespace {

struct Arguments {
  std::string model, json, inputs;
  driver::ModelOptions options;
  int slices = 10;
  double seconds = 10;
};

Arguments parse(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: model_kernels MODEL.onnx JSON [--inputs FILE] [--skip NAME] "
                 "[--slices N] [--seconds N]\n");
    std::exit(1);
  }
  Arguments out{.model = argv[1], .json = argv[2]};
  out.options.target = driver::target_with_rates("host");  // as the command line does
  out.options.cache = std::make_shared<driver::KernelCache>();
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--inputs") out.inputs = value;
    if (name == "--skip") out.options.skip.push_back(value);
    if (name == "--slices") out.slices = std::atoi(value.c_str());
    if (name == "--seconds") out.seconds = std::atof(value.c_str());
  }
  return out;
}

nlohmann::json run(const Arguments& arguments) {
  const graph::Graph graph = frontend::onnx::read_model(std::filesystem::path(arguments.model), {});
  const driver::CompiledModel compiled = driver::compile_with_report(graph, arguments.options);
  driver::LoadedModule module(module_in_memory(compiled.module), 1);
  if (arguments.inputs.empty())
    module.set_random_inputs(1);
  else
    module.set_inputs(frontend::read_npz(arguments.inputs));
  const runtime::LoadedModule& loaded = *runtime::from_c(module.module().get());
  const std::vector<bench::KernelFacts> facts = bench::facts_of(
      compiled, driver::plan_steps(loaded.view(), loaded.variant(), module.input_shapes()));
  const bench::KernelTimes times =
      bench::time_kernels(module.module(), module.inputs(), arguments.slices, arguments.seconds);
  const auto time_of = [&](const bench::KernelFacts& f) -> const bench::KernelTime* {
    const auto found = times.kernels.find(static_cast<int32_t>(f.instruction));
    return found == times.kernels.end() ? nullptr : &found->second;
  };
  std::vector<bench::ReplayStep> steps;
  for (const bench::KernelFacts& f : facts)
    if (const bench::KernelTime* t = time_of(f))
      steps.push_back({f.touches, t->seconds / std::max(t->calls, 1)});
  const std::vector<double> loads = bench::replay(steps, arguments.slices, arguments.seconds / 2);

  nlohmann::json kernels = nlohmann::json::array();
  double known = 0, all = 0;
  for (const auto& [instruction, t] : times.kernels) all += t.seconds;
  size_t step = 0;
  for (const bench::KernelFacts& f : facts) {
    const bench::KernelTime* found = time_of(f);
    if (!found) continue;  // not on the way that these inputs took
    const bench::KernelTime& t = *found;
    known += t.seconds;
    double bytes = 0;
    for (const bench::Touch& touch : f.touches)
      bytes += static_cast<double>(touch.bytes) * touch.times;
    kernels.push_back({{"name", f.name},
                       {"origin", f.origin},
                       {"types", f.types},
                       {"seconds", t.seconds},
                       {"calls", t.calls},
                       {"pieces", t.pieces},
                       {"clean", t.clean},
                       {"flops", f.flops * t.calls},
                       {"product_flops", f.product_flops * t.calls},
                       {"bytes", bytes * t.calls},
                       {"fma_seconds", f.flops * t.calls / times.fma_rate},
                       {"memory_seconds", loads[step++] * t.calls}});
  }
  return {{"fma_rate", times.fma_rate},
          {"runs", times.runs},
          {"seconds", all},
          {"other", all - known},
          {"kernels", kernels}};
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  try {
    std::ofstream(arguments.json) << run(arguments).dump(1) << "\n";
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
