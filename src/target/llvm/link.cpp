// SPDX-License-Identifier: Apache-2.0
// Object files → a shared library, by lld: it knows every target of ours and needs nothing of the
// target's system.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/str.h"
#include "target/llvm/compile.h"

extern char** environ;

namespace tilewright::target::llvm {
namespace {

namespace fs = std::filesystem;

/// A folder that goes away with everything in it.
struct TempFolder {
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "tilewright-XXXXXX").string();
    if (!mkdtemp(name.data())) fail("cannot make a temporary folder");
    path = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[noreturn]] static void fail(const std::string& message) {
    throw Error({.code = "target.llvm.link",
                 .message = message,
                 .notes = {std::strerror(errno)},
                 .help = "check that the temporary folder exists and has room"});
  }

  fs::path path;
};

/// The program's exit status, or nothing when there is no such program. What it writes goes to
/// `log`.
std::optional<int> run(std::vector<std::string> command, const fs::path& log) {
  std::vector<char*> argv;
  for (std::string& arg : command) argv.push_back(arg.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

std::string link_shared_object(std::span<const Kernel> kernels) {
  const TempFolder folder;
  const fs::path path = folder.path / "kernels.so";
  link_shared_library(kernels, path.string());
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

void link_shared_library(std::span<const Kernel> kernels, const std::string& path) {
  const TempFolder folder;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < kernels.size(); ++i) {
    inputs.push_back((folder.path / str(i, ".o")).string());
    std::ofstream(inputs.back(), std::ios::binary) << kernels[i].code;
  }
  const fs::path log = folder.path / "log";
  for (const char* linker : {"ld.lld-22", "ld.lld"}) {
    std::vector<std::string> command{linker, "-shared", "--no-undefined-version", "-o", path};
    command.insert(command.end(), inputs.begin(), inputs.end());
    const std::optional<int> status = run(std::move(command), log);
    if (!status || *status == 127) continue;
    if (*status == 0) return;
    std::ifstream in(log);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    throw Error({.code = "target.llvm.link",
                 .message = str("cannot link `", path, "`"),
                 .notes = {text.empty() ? str(linker, " ended with status ", *status) : text},
                 .help = "check that the folder exists, is writable and has room"});
  }
  throw Error({.code = "target.llvm.link",
               .message = str("cannot link `", path, "`: there is no linker"),
               .notes = {"looked for ld.lld-22 and ld.lld"},
               .help = "install lld-22 (tools/setup.sh does), or write an object file instead"});
}

}  // namespace tilewright::target::llvm
