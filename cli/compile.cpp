// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include "commands.h"
#include "model_arguments.h"
#include "module/writer.h"

namespace tilewright::cli {

Action add_compile(CLI::App& app) {
  struct State {
    ModelArguments model;
    std::string emit, output;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand(
      "compile", "Compile a model to a .twm file, or print any point of the path");
  s->model.add(*c);
  c->add_option(
      "--emit", s->emit,
      "print graph, fused, te, loops, scheduled, final or code instead; of a .tw text also c");
  c->add_option("-o", s->output, "the file to write");
  return [s] {
    if (s->model.is_text()) {
      driver::CompileOptions options;
      options.target = driver::target_from_name(s->model.target);
      options.emit = driver::stage_from_name(s->emit.empty() ? "code" : s->emit);
      options.skip = s->model.skip;
      write_text(driver::compile(driver::read_text_file(s->model.model), options), s->output);
      return 0;
    }
    const graph::Graph graph = s->model.read();
    if (!s->emit.empty()) {
      write_text(driver::emit_model(graph, s->model.options(), s->emit), s->output);
      return 0;
    }
    if (s->output.empty())
      throw Error({.code = "driver.compile.output",
                   .at = {},
                   .message = "no file to write the module to",
                   .notes = {},
                   .help = "name one with -o OUT.twm, or print a stage with --emit"});
    const std::string problem =
        write_module(driver::compile_model(graph, s->model.options()), s->output);
    if (!problem.empty())
      throw Error({.code = "driver.file.write",
                   .at = {},
                   .message = problem,
                   .notes = {},
                   .help = "name a place that can be written"});
    return 0;
  };
}

}  // namespace tilewright::cli
