// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "commands.h"
#include "driver/emit_c.h"
#include "driver/emit_library.h"
#include "model_arguments.h"
#include "module/writer.h"
#include "support/write_file.h"

namespace tilewright::cli {
namespace {

using std::filesystem::path;

/// `model.c` and `model.h`, or those in a folder, named after the model.
std::vector<path> c_files(const ModelArguments& model, path source) {
  if (source.extension() != ".c") source /= path(model.model).stem().concat(".c");
  return {source, path(source).replace_extension(".h")};
}

void write_c(const ModelArguments& model, const std::string& to, const std::string& compiler) {
  const std::vector<path> files = c_files(model, to);
  const std::string name = files[0].stem().string();
  const driver::CModel c = driver::emit_c(model.read(), model.options(), name);
  write_file(files[0], c.source);
  write_file(files[1], c.header);
  std::cout << driver::describe(c, driver::measure_c(c, name, compiler));
}

/// How good the plan of the memory is.
void describe(const Module& module) {
  for (const ModuleVariant& v : module.variants) {
    const Plan& plan = v.plan;
    char text[200];
    std::snprintf(text, sizeof text, "%s: arena %.3f MB, %.3f times what lives at once",
                  v.triple.c_str(), static_cast<double>(plan.laid_out_bytes) / 1e6,
                  plan.live_bytes > 0 ? static_cast<double>(plan.laid_out_bytes) /
                                            static_cast<double>(plan.live_bytes)
                                      : 1.0);
    std::cout << text;
    if (plan.arena_bytes >= plan.constants.size()) {
      std::snprintf(text, sizeof text, "; for the largest inputs %.3f MB",
                    static_cast<double>(plan.arena_max) / 1e6);
      std::cout << (plan.arena_max > 0 ? text : "; not bounded");
    }
    std::cout << "\n";
    for (const std::string& line : plan.arena_texts) std::cout << "  " << line << "\n";
  }
}

/// Where the schedules of the kernels come from.
void describe(const driver::BuiltKernels& built) {
  std::map<driver::ScheduleOrigin, size_t> counts;
  for (const driver::BuiltKernel& k : built.kernels) ++counts[k.origin];
  std::cout << built.kernels.size() << " kernels:";
  for (const auto& [origin, count] : counts)
    std::cout << (origin == counts.begin()->first ? " " : ", ") << count << " " << name(origin);
  std::cout << "\n";
}

}  // namespace

Action add_compile(CLI::App& app) {
  struct State {
    ModelArguments model;
    std::string emit, output, c, library, compiler = "cc";
    bool verbose = false;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand(
      "compile", "Compile a model to a .twm file, or print any point of the path");
  Files files(*c);
  s->model.add(*c, files);
  c->add_option(
      "--emit", s->emit,
      "print graph, fused, te, loops, scheduled, final or code instead; of a .tw text also c");
  files.output("-o", s->output, "the file to write");
  c->add_flag("-v", s->verbose,
              "say how much memory a run of the module takes, and how many kernels are tuned");
  files
      .output("--emit-c", s->c,
              "write plain C11 that needs no runtime instead: FILE.c and FILE.h, or a folder",
              [s = s.get()](const std::string& to) { return c_files(s->model, to); })
      ->excludes("--target");
  files.output("--emit-library", s->library,
               "write a library and its C header instead: libNAME.so or libNAME.a",
               [](const std::string& to) {
                 return std::vector<path>{to, path(to).replace_extension(".h")};
               });
  c->add_option("--cc", s->compiler, "the C compiler, with the flags of its machine");
  return [s] {
    const bool graph_text = s->output.ends_with(".twm") || !s->c.empty() || !s->library.empty();
    if (s->model.is_text() && !graph_text) {
      driver::CompileOptions options;
      options.target = driver::target_from_name(s->model.targets.at(0));
      options.emit = driver::stage_from_name(s->emit.empty() ? "code" : s->emit);
      options.skip = s->model.skip;
      write_text(driver::compile(driver::read_text_file(s->model.model), options), s->output);
      return 0;
    }
    if (!s->c.empty()) {
      write_c(s->model, s->c, s->compiler);
      return 0;
    }
    const graph::Graph& graph = s->model.read();
    if (!s->emit.empty()) {
      write_text(driver::emit_model(graph, s->model.options(), s->emit), s->output);
      return 0;
    }
    if (!s->library.empty()) {
      driver::emit_library(driver::compile_model(graph, s->model.options()), s->library,
                           s->compiler);
      return 0;
    }
    if (s->output.empty())
      throw Error({.code = "driver.compile.output",
                   .at = {},
                   .message = "no file to write the module to",
                   .notes = {},
                   .help = "name one with -o OUT.twm, or use --emit, --emit-library or --emit-c"});
    const driver::CompiledModel compiled = driver::compile_with_report(graph, s->model.options());
    if (s->verbose) {
      describe(compiled.module);
      describe(compiled.kernels);
    }
    require_written(write_module(compiled.module, s->output));
    return 0;
  };
}

}  // namespace tilewright::cli
