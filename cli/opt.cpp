// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "commands.h"
#include "driver/compile.h"
#include "files.h"
#include "model_arguments.h"

namespace tilewright::cli {

Action add_opt(CLI::App& app) {
  struct State {
    std::string file, output;
    std::vector<std::string> passes;
    bool list = false;
  };
  const auto s = std::make_shared<State>();
  CLI::App* c = app.add_subcommand("opt", "Run lowering passes on a .tw text");
  Files files(*c);
  files.input("FILE", s->file, "a .tw file");
  c->add_option("--pass", s->passes, "a pass by name; may be given several times, in order");
  c->add_flag("--list", s->list, "name all passes");
  files.output("-o", s->output, "write to this file instead of standard output");
  return [s] {
    if (s->list)
      for (const std::string& name : driver::pass_names()) std::cout << name << "\n";
    else
      write_text(driver::run_passes(driver::read_text_file(s->file), s->passes), s->output);
    return 0;
  };
}

Action add_targets(CLI::App& app) {
  app.add_subcommand("targets", "What code can be made for, and what runs here");
  return [] {
    std::cout << driver::describe_targets();
    return 0;
  };
}

}  // namespace tilewright::cli
