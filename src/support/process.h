// SPDX-License-Identifier: Apache-2.0
// Other programs: linkers and compilers that are asked to do their part.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// A folder that goes away with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ProgramResult {
  int status = 0;      // of its exit; 128 when a signal ended it
  std::string output;  // both of its streams
};

/// Runs a program of the PATH and waits for it; nothing when there is no such program.
std::optional<ProgramResult> run_program(std::vector<std::string> command);

}  // namespace tilewright
