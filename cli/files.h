// SPDX-License-Identifier: Apache-2.0
// The options of a command that name files.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::cli {

/// Before a command begins, these see to it that no file which it writes is one that it reads, or
/// another that it writes, by whatever name or link. Copies are the same files.
class Files {
 public:
  using Path = std::filesystem::path;

  explicit Files(CLI::App& command);

  CLI::Option* input(const std::string& option, std::string& path, const std::string& help);
  /// `written` says which files come of the path; by default that one.
  CLI::Option* output(const std::string& option, std::string& path, const std::string& help,
                      std::function<std::vector<Path>(const std::string&)> written = {});
  /// A file that the command turns out to read as well: `what` names it in the error.
  void also_read(const Path& path, const std::string& what) const;
  /// Whether this is one of the files that are read.
  bool is_input(const Path& path) const;

 private:
  struct Named;
  struct State;
  void check() const;

  std::shared_ptr<State> state_;
};

/// An Error when what was printed has not gone where it should.
void flush_standard_output();

}  // namespace tilewright::cli
