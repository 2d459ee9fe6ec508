// SPDX-License-Identifier: Apache-2.0
// Object files → a shared library, by lld: it knows every target of ours and needs nothing of the
// target's system.
#include <filesystem>
#include <fstream>

#include "support/process.h"
#include "support/str.h"
#include "support/write_file.h"
#include "target/llvm/compile.h"

namespace tilewright::target::llvm {
namespace fs = std::filesystem;

std::string link_shared_object(std::span<const Kernel> kernels) {
  const TempFolder folder;
  const fs::path path = folder.path() / "kernels.so";
  link_shared_library(kernels, path.string());
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

void link_shared_library(std::span<const Kernel> kernels, const std::string& path) {
  const TempFolder folder;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < kernels.size(); ++i) {
    inputs.push_back((folder.path() / str(i, ".o")).string());
    write_file(inputs.back(), kernels[i].code);
  }
  for (const char* linker : {"ld.lld-22", "ld.lld"}) {
    std::vector<std::string> command{linker, "-shared", "--no-undefined-version", "-o", path};
    command.insert(command.end(), inputs.begin(), inputs.end());
    const std::optional<ProgramResult> result = run_program(std::move(command));
    if (!result) continue;
    if (result->status == 0) return;
    throw Error(
        {.code = "target.llvm.link",
         .message = str("cannot link `", path, "`"),
         .notes = {result->output.empty() ? str(linker, " ended with status ", result->status)
                                          : result->output},
         .help = "check that the folder exists, is writable and has room"});
  }
  throw Error({.code = "target.llvm.link",
               .message = str("cannot link `", path, "`: there is no linker"),
               .notes = {"looked for ld.lld-22 and ld.lld"},
               .help = "install lld-22 (tools/setup.sh does), or write an object file instead"});
}

}  // namespace tilewright::target::llvm
