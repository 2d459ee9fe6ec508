// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

#include "driver/compile.h"

namespace {

using namespace tilewright;

/// To the file, or to standard output.
void write(const std::string& text, const std::string& path) {
  if (path.empty()) {
    std::cout << text;
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush())
    throw Error({.code = "driver.file.write",
                 .at = {},
                 .message = "cannot write `" + path + "`",
                 .notes = {},
                 .help = "name a place that can be written"});
}

int run(int argc, char** argv) {
  CLI::App app{"Tilewright: a compiler for deep learning"};
  app.require_subcommand(1);

  std::string file, target = "host", emit = "code", output;
  std::vector<std::string> skip, passes;
  CLI::App* compile =
      app.add_subcommand("compile", "Compile a .tw text; print any point of the path");
  compile->add_option("MODEL", file, "a .tw file with te, loops and trace items")->required();
  compile->add_option("--target", target, "host, or a name that `targets` lists");
  compile->add_option("--emit", emit, "te, loops, scheduled, final, code (assembler) or c");
  compile->add_option("--skip", skip, "leave out a lowering pass");
  compile->add_option("-o", output, "write to this file instead of standard output");

  bool list = false;
  CLI::App* opt = app.add_subcommand("opt", "Run lowering passes on a .tw text");
  opt->add_option("FILE", file, "a .tw file");
  opt->add_option("--pass", passes, "a pass by name; may be given several times, in order");
  opt->add_flag("--list", list, "name all passes");
  opt->add_option("-o", output, "write to this file instead of standard output");

  CLI::App* targets =
      app.add_subcommand("targets", "What code can be made for, and what runs here");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 1;
  }
  if (compile->parsed()) {
    driver::CompileOptions options;
    options.target = driver::target_from_name(target);
    options.emit = driver::stage_from_name(emit);
    options.skip = skip;
    write(driver::compile(driver::read_text_file(file), options), output);
  } else if (opt->parsed() && list) {
    for (const std::string& name : driver::pass_names()) std::cout << name << "\n";
  } else if (opt->parsed()) {
    write(driver::run_passes(driver::read_text_file(file), passes), output);
  } else if (targets->parsed()) {
    std::cout << driver::describe_targets();
  }
  return 0;
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
