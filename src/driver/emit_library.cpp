// SPDX-License-Identifier: Apache-2.0
#include "driver/emit_library.h"

#include "driver/embedded.h"
#include "module/writer.h"
#include "runtime/cpu.h"
#include "support/mapped_file.h"
#include "support/process.h"
#include "support/str.h"
#include "support/write_file.h"
#include "target/c_source/names.h"

namespace tilewright::driver {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view code, std::string message, std::string note,
                       std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = std::move(message),
               .notes = {std::move(note)},
               .help = std::move(help)});
}

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

/// Runs the compiler, or the program of its tool chain, in words that the user can repeat.
void run(const std::vector<std::string>& command) {
  const std::optional<ProgramResult> result = run_program(command);
  if (!result)
    fail("driver.emit_library.compiler", str("there is no program `", command[0], "`"),
         "a library is put together by a C compiler",
         "install one, name it with `--cc`, or write a .twm file, which needs none");
  if (result->status == 0) return;
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  fail("driver.emit_library.compiler", str("`", command[0], "` does not put the library together"),
       str(line, "\n", result->output), "name another compiler with `--cc`");
}

void require_this_machine(const Module& module) {
  const Arch here = runtime::this_machine().arch;
  for (const ModuleVariant& v : module.variants)
    if (v.needs.arch != here)
      fail("driver.emit_library.target", str("cannot write a library for ", v.triple),
           str("the runtime that goes into it is one for ", name_of(here)),
           "write a .twm file, and link the runtime built for that machine");
}

}  // namespace

void emit_library(const Module& module, const fs::path& path, const std::string& compiler) {
  const bool shared = path.extension() == ".so";
  if (!shared && path.extension() != ".a")
    fail("driver.emit_library.name", str("`", path.string(), "` is no name of a library"),
         "its ending says which kind it is", "end it with .so (shared) or .a (static)");
  require_this_machine(module);
  const std::string stem = path.stem().string(), header_file = stem + ".h";
  target::c_source::Names names;
  const std::string name = names.take(stem.starts_with("lib") ? stem.substr(3) : stem);
  const LibraryText text = library_text(module, header_file, name);

  const TempFolder folder;
  const auto in_folder = [&](const std::string& file) { return (folder.path() / file).string(); };
  require_written(write_module(module, in_folder("module.twm")));
  fs::create_directory(folder.path() / "tilewright");
  write_file(in_folder("tilewright/runtime.h"),
             between(tw_embedded_runtime_h_begin, tw_embedded_runtime_h_end));
  write_file(in_folder("tilewright/kernel.h"),
             between(tw_embedded_kernel_h_begin, tw_embedded_kernel_h_end));
  write_file(in_folder("runtime.o"), between(tw_embedded_runtime_begin, tw_embedded_runtime_end));
  write_file(in_folder(header_file), text.header);
  write_file(in_folder("model.c"), text.source);

  std::vector<std::string> cc;
  for (size_t at = 0; at < compiler.size();) {
    const size_t end = std::min(compiler.find(' ', at), compiler.size());
    if (end > at) cc.push_back(compiler.substr(at, end - at));
    at = end + 1;
  }
  const auto with = [&](std::vector<std::string> arguments) {
    std::vector<std::string> command = cc;
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  };
  run(with({"-std=c11", "-O2", "-fPIC", "-I" + folder.path().string(),
            "-Wa,-I" + folder.path().string(), "-c", in_folder("model.c"), "-o",
            in_folder(name + ".o")}));
  const std::string library = in_folder(path.filename().string());
  if (shared) {
    // What is called inside is this very copy, also where another library brings one.
    write_file(in_folder("exports"), str("{ global: tw_*; ", name, "_*; local: *; };\n"));
    run(with({"-shared", "-o", library, in_folder(name + ".o"), in_folder("runtime.o"), "-lm",
              "-lpthread", "-Wl,-Bsymbolic", "-Wl,--no-undefined", "-Wl,--as-needed",
              "-Wl,--gc-sections", "-Wl,-soname," + path.filename().string(),
              "-Wl,-rpath,$ORIGIN",  // the plug-in for images may lie beside it
              "-Wl,--version-script=" + in_folder("exports")}));
  } else {
    const auto ar = run_program(with({"-print-prog-name=ar"}));
    const bool told = ar && ar->status == 0 && ar->output.size() > 1;
    run({told ? ar->output.substr(0, ar->output.find('\n')) : "ar", "rcs", library,
         in_folder(name + ".o"), in_folder("runtime.o")});
  }
  const std::shared_ptr<const MappedFile> made = MappedFile::open(library);
  write_file(path, {reinterpret_cast<const char*>(made->bytes().data()), made->bytes().size()},
             shared ? OutputFile::Rights::Program : OutputFile::Rights::Data);
  write_file(fs::path(path).replace_extension(".h"), text.header);
}

}  // namespace tilewright::driver
