// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <iostream>
#include <optional>

#include "commands.h"
#include "driver/check_model.h"
#include "driver/onnx_runtime.h"
#include "driver/repro.h"
#include "model_arguments.h"

namespace tilewright::cli {
namespace {

/// A name that does not write over what is checked: that may be an earlier `repro`.
std::string free_repro(const Files& files) {
  for (const std::filesystem::path& file : driver::repro_files("repro"))
    if (files.is_input(file)) return "repro_of_repro";
  return "repro";
}

}  // namespace

Action add_run(CLI::App& app) {
  struct State {
    ModelArguments model;
    std::string inputs, outputs;
    int threads = 0;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand("run", "Run a model or a module on the arrays of a file");
  Files files(*c);
  s->model.add(*c, files);
  files.input("--inputs", s->inputs, "an .npz file with an array for each input")->required();
  files.output("--outputs", s->outputs, "the .npz file to write the results to");
  c->add_option("--threads", s->threads, "0: as many as there are CPUs");
  return [s] {
    driver::LoadedModule module = load(s->model, s->threads);
    module.set_inputs(read_inputs(s->inputs));
    module.run();
    const std::vector<frontend::NamedTensor> outputs = module.outputs();
    for (const frontend::NamedTensor& t : outputs)
      std::cout << t.name << ": " << graph::print(graph::Type(t.value->type())) << "\n";
    if (!s->outputs.empty()) frontend::write_npz(s->outputs, outputs);
    return 0;
  };
}

Action add_bench(CLI::App& app) {
  struct State {
    ModelArguments model;
    std::string inputs, json, trace;
    int threads = 1;
    double seconds = 3;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand(
      "bench", "Measure a model or a module: quantiles, memory, time per kernel");
  Files files(*c);
  s->model.add(*c, files);
  files.input("--inputs", s->inputs, "an .npz file; without it, seeded random values");
  c->add_option("--threads", s->threads, "0: as many as there are CPUs");
  c->add_option("--seconds", s->seconds, "how long to measure");
  files.output("--json", s->json, "write the result to this file");
  files.output("--trace", s->trace, "write a Chrome trace of one run to this file");
  return [s] {
    driver::LoadedModule module = load(s->model, s->threads);
    if (s->inputs.empty())
      module.set_random_inputs(1);
    else
      module.set_inputs(read_inputs(s->inputs));
    const driver::BenchResult result = driver::bench(module, s->seconds, s->trace);
    std::cout << driver::print(result);
    if (!s->json.empty()) write_text(driver::json(result), s->json);
    return 0;
  };
}

Action add_check(CLI::App& app) {
  struct State {
    ModelArguments model;
    std::string inputs, against = "reference", repro;
    std::optional<double> tolerance;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand(
      "check",
      "Compare a compiled model with another way to run it; on a difference, find the cause");
  Files files(*c);
  s->model.add(*c, files);
  files.input("--inputs", s->inputs, "an .npz file with an array for each input")->required();
  c->add_option("--against", s->against,
                "reference: the interpreter; onnxruntime: that of $TILEWRIGHT_PYTHON or python3")
      ->check(CLI::IsMember({"reference", "onnxruntime"}));
  c->add_option("--tolerance", s->tolerance,
                "greatest difference, relative to the greatest value: 1e-4, or 2^-7 with bf16");
  files.output("--repro", s->repro,
               "on a difference, write the first wrong operator to NAME.tw and NAME.npz "
               "(without it: repro)",
               driver::repro_files);
  return [s, files] {
    if (s->repro.empty()) s->repro = free_repro(files);
    const std::vector<frontend::NamedTensor> inputs = read_inputs(s->inputs);
    driver::CheckOptions options{
        .model = s->model.options(), .tolerance = 1e-4, .values = {}, .repro = s->repro};
    if (options.model.precision != ir::Elem::F32) options.tolerance = 0x1p-7;
    if (s->tolerance) options.tolerance = *s->tolerance;
    if (s->against == "onnxruntime")
      options.values = driver::run_onnx_runtime(s->model.model, inputs);
    const driver::CheckReport report =
        driver::check_model(s->model.read(), inputs, std::move(options));
    std::cout << driver::print(report);
    return report.equal ? 0 : 3;
  };
}

}  // namespace tilewright::cli
