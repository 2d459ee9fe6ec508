// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/diagnostic.h"

extern char** environ;

namespace tilewright {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw Error({.code = "support.temp.folder",
                 .at = {},
                 .message = "cannot make a temporary folder",
                 .notes = {std::strerror(errno)},
                 .help = "check that the temporary folder (TMPDIR) exists and has room"});
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::optional<ProgramResult> run_program(std::vector<std::string> command) {
  const TempFolder folder;
  const std::filesystem::path log = folder.path() / "log";
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
  ProgramResult result{.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128, .output = {}};
  if (result.status == 127) return std::nullopt;
  std::ifstream in(log, std::ios::binary);
  result.output.assign(std::istreambuf_iterator<char>(in), {});
  return result;
}

}  // namespace tilewright
