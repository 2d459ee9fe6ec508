// SPDX-License-Identifier: Apache-2.0
#include "driver/explain.h"

#include <iostream>

#include "commands.h"
#include "model_arguments.h"

namespace tilewright::cli {

Action add_explain(CLI::App& app) {
  struct State {
    ModelArguments model;
    std::string inputs, html;
    int threads = 1;
    double seconds = 1;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand(
      "explain", "Show the kernels of a model or a module: why they are so, memory, time and roof");
  Files files(*c);
  s->model.add(*c, files);
  files.input("--inputs", s->inputs, "an .npz file; without it, seeded random values");
  c->add_option("--threads", s->threads, "0: as many as there are CPUs");
  c->add_option("--seconds", s->seconds, "how long to measure");
  files.output("--html", s->html, "write a page that needs nothing else to this file");
  return [s] {
    driver::ExplainOptions options{.model = s->model.options(),
                                   .inputs = read_inputs(s->inputs),
                                   .threads = s->threads,
                                   .seconds = s->seconds};
    driver::Explanation e = s->model.is_module() ? driver::explain_module(s->model.model, options)
                                                 : driver::explain_model(s->model.read(), options);
    e.model = std::filesystem::path(s->model.model).filename().string();
    if (s->html.empty())
      std::cout << driver::print(e);
    else
      write_text(driver::html(e), s->html);
    return 0;
  };
}

}  // namespace tilewright::cli
