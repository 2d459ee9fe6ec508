// SPDX-License-Identifier: Apache-2.0
#include "model_arguments.h"

#include <iostream>

#include "driver/compile.h"
#include "driver/kernel_cache.h"
#include "driver/machine.h"
#include "frontend/onnx/import.h"
#include "module/in_memory.h"
#include "progress.h"
#include "support/str.h"
#include "support/write_file.h"

namespace tilewright::cli {

void ModelArguments::add(CLI::App& command, Files& files) {
  files_ = files;
  files.input("MODEL", model, "an ONNX model, a graph as .tw text or, to run it, a .twm module")
      ->required();
  command
      .add_option("--target", targets,
                  "host, or a name that `targets` lists; several (v3,v4): one module for all")
      ->delimiter(',');
  command.add_option("--dim", dims,
                     "NAME=VALUE, NAME=LOW..HIGH, or with kernels of their own for some values "
                     "NAME=LOW..HIGH:V,V; may be repeated");
  command.add_option(
      "--skip", skip,
      "leave out a pass, or an algorithm such as winograd, by name; may be repeated");
  CLI::Option* from = files.input("--records", records,
                                  "schedules that `tune` has found, for the kernels they are for");
  command.add_flag("--require-records", require_records, "refuse kernels that were never tuned")
      ->needs(from);
  command
      .add_flag(
          "--transfer", transfer,
          "kernels without a record take the schedule of the nearest that has one, unmeasured")
      ->needs(from);
  command.add_flag("--no-shipped-records", no_shipped,
                   "leave out the schedules that the compiler has for some processors");
  command
      .add_option("--precision", precision,
                  "f32, or bf16: products of f32 multiply rounded factors, sums stay f32")
      ->check(CLI::IsMember({"f32", "bf16"}));
  command.add_flag("--no-cache", no_cache, "make every kernel anew, and keep none");
}

bool ModelArguments::is_text() const { return model.ends_with(".tw"); }
bool ModelArguments::is_module() const { return model.ends_with(".twm"); }

const graph::Graph& ModelArguments::read() const {
  const auto graph = [&] {
    if (is_text()) return driver::read_graph_file(model);
    frontend::onnx::ImportOptions import;
    import.on_file = [&](const std::filesystem::path& file) {
      files_->also_read(file,
                        str("the file `", file.filename().string(), "` of the model's tensors"));
    };
    import.dims = frontend::onnx::parse_dims(dims);
    return frontend::onnx::read_model(std::filesystem::path(model), import);
  };
  // Taking a large graph apart takes a fifth of the time of reading it, and the process ends with
  // it.
  return *new graph::Graph(graph());
}

driver::ModelOptions ModelArguments::options() const {
  driver::ModelOptions options;
  if (!no_cache) options.cache = std::make_shared<driver::KernelCache>();
  options.target = driver::target_with_rates(targets.at(0));
  for (size_t i = 1; i < targets.size(); ++i)
    options.more_targets.push_back(driver::target_with_rates(targets[i]));
  options.skip = skip;
  options.precision = driver::precision_from_name(precision);
  std::vector<ir::TargetSpec> machines = options.more_targets;
  machines.push_back(options.target);
  options.schedules = driver::schedules_of(
      {.records = records, .shipped = !no_shipped, .transfer = transfer}, machines);
  options.require_schedules = require_records;
  options.warn = [](const std::string& line) { std::cerr << "warning: " << line << "\n"; };
  options.progress = progress_bar("kernels");
  return options;
}

driver::LoadedModule load(const ModelArguments& a, int threads) {
  if (a.is_module()) return driver::LoadedModule(std::filesystem::path(a.model), threads);
  return driver::LoadedModule(module_in_memory(driver::compile_model(a.read(), a.options())),
                              threads);
}

void write_text(const std::string& text, const std::string& path) {
  if (path.empty()) {
    std::cout << text;
    return;
  }
  write_file(path, text);
}

std::vector<frontend::NamedTensor> read_inputs(const std::string& path) {
  return path.empty() ? std::vector<frontend::NamedTensor>{} : frontend::read_npz(path);
}

}  // namespace tilewright::cli
