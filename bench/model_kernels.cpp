// SPDX-License-Identifier: Apache-2.0
// The kernels of a model where they stand, on one core: time, and what the machine would take at
// least.
//   model_kernels MODEL.onnx JSON [--inputs FILE.npz] [--skip NAME]
//                 [--slices N] [--seconds N]
//
// The roof of a kernel is the slower of two times: its floating-point operations at the rate of
// FMAs on registers in the same run; and its bytes, each at the rate of the cache that would still
// hold it when least recently used lines go first (lib/reuse.h), as driver/roofs.h measures them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/kernel_cache.h"
#include "driver/roofs.h"
#include "driver/run_model.h"
#include "frontend/onnx/import.h"
#include "kernel_facts.h"
#include "kernel_times.h"
#include "module/writer.h"
#include "runtime/api.h"
#include "target/host.h"

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
  out.options.target = target::parse_target("host");
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

/// The best of some measurements: a disturbed one only makes rates lower.
driver::Roofs best_roofs() {
  driver::Roofs out = driver::measure_roofs(1);
  for (int i = 0; i < 4; ++i) {
    const driver::Roofs again = driver::measure_roofs(1);
    for (size_t m = 0; m < out.memory.size(); ++m)
      out.memory[m].rate = std::max(out.memory[m].rate, again.memory[m].rate);
  }
  return out;
}

double memory_seconds(const std::vector<bench::Reuse>& reuse, const driver::Roofs& roofs) {
  double out = 0;
  for (const bench::Reuse& r : reuse) {
    const auto level = std::ranges::find_if(
        roofs.memory, [&](const auto& m) { return r.distance <= static_cast<double>(m.bytes); });
    out += r.bytes / (level == roofs.memory.end() ? roofs.memory.back() : *level).rate;
  }
  return out;
}

nlohmann::json run(const Arguments& arguments) {
  const graph::Graph graph = frontend::onnx::read_model(std::filesystem::path(arguments.model), {});
  const driver::CompiledModel compiled = driver::compile_with_report(graph, arguments.options);
  driver::LoadedModule module(module_bytes(compiled.module), 1);
  if (arguments.inputs.empty())
    module.set_random_inputs(1);
  else
    module.set_inputs(frontend::read_npz(arguments.inputs));
  const runtime::LoadedModule& loaded = *runtime::from_c(module.module().get());
  std::vector<std::vector<int64_t>> shapes;
  for (const graph::Constant& input : module.inputs()) shapes.push_back(input->shape);

  const std::vector<bench::KernelFacts> facts =
      bench::facts_of(compiled, driver::plan_steps(loaded.view(), loaded.variant(), shapes));
  std::vector<std::vector<bench::Touch>> touches;
  for (const bench::KernelFacts& f : facts) touches.push_back(f.touches);
  const std::vector<std::vector<bench::Reuse>> reuse = bench::reuse_of(touches);
  const bench::KernelTimes times =
      bench::time_kernels(module.module(), module.inputs(), arguments.slices, arguments.seconds);
  const driver::Roofs roofs = best_roofs();

  nlohmann::json kernels = nlohmann::json::array();
  double known = 0, all = 0;
  for (const auto& [instruction, t] : times.kernels) all += t.seconds;
  for (size_t i = 0; i < facts.size(); ++i) {
    const bench::KernelFacts& f = facts[i];
    const auto found = times.kernels.find(static_cast<int32_t>(f.instruction));
    if (found == times.kernels.end()) continue;  // not on the way that these inputs took
    const bench::KernelTime& t = found->second;
    known += t.seconds;
    double bytes = 0;
    for (const bench::Reuse& r : reuse[i]) bytes += r.bytes;
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
                       {"memory_seconds", memory_seconds(reuse[i], roofs) * t.calls}});
  }
  nlohmann::json memory = nlohmann::json::array();
  for (const driver::Roofs::Memory& m : roofs.memory)
    memory.push_back({{"bytes", m.bytes}, {"rate", m.rate}});
  return {{"fma_rate", times.fma_rate}, {"memory", memory},  {"runs", times.runs}, {"seconds", all},
          {"other", all - known},       {"kernels", kernels}};
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
