// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <iostream>

#include "commands.h"
#include "files.h"
#include "support/diagnostic.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"Tilewright: a compiler for deep learning"};
  app.require_subcommand(1);
  app.footer(
      "A model to a module:   tilewright compile model.onnx -o model.twm\n"
      "Its results:           tilewright run model.twm --inputs in.npz --outputs out.npz\n"
      "Where the time goes:   tilewright explain model.onnx --html report.html\n"
      "More about a command:  tilewright COMMAND --help");
  using namespace tilewright::cli;
  Action action;
  for (Action (*add)(CLI::App&) : {add_compile, add_run, add_bench, add_check, add_explain, add_opt,
                                   add_tune, add_records, add_targets, add_cache, add_completion}) {
    const Action own = add(app);
    app.get_subcommands({}).back()->callback([&action, own] { action = own; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) != 0) return 1;
    flush_standard_output();  // the help
    return 0;
  }
  const int status = action();
  flush_standard_output();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tilewright::Error& e) {
    std::cerr << e.what();
    return 1;
  } catch (const std::exception& e) {
    std::cerr
        << "internal error: " << e.what()
        << "\nThis is a mistake in Tilewright. Please report it with the input that led here.\n";
    return 2;
  }
}
