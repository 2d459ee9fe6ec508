// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <iostream>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::cli {

namespace fs = std::filesystem;

struct Files::Named {
  std::string option;
  const std::string* path;  // as the user gave it; empty without
  std::function<std::vector<Path>(const std::string&)> written;

  std::vector<Path> files() const {
    if (path->empty()) return {};
    return written ? written(*path) : std::vector<Path>{*path};
  }
};

struct Files::State {
  CLI::App* command;
  std::vector<Named> inputs, outputs;
};

namespace {

/// Whether the two lead to one file, or to one place where none is yet. Devices and pipes keep
/// nothing that could be lost.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code none;
  if (fs::exists(a, none)) return fs::is_regular_file(a, none) && fs::equivalent(a, b, none);
  if (fs::exists(b, none)) return false;
  const auto place = [&](const fs::path& p) {
    return fs::weakly_canonical(fs::absolute(p, none), none);
  };
  return place(a) == place(b);
}

[[noreturn]] void refuse(const std::string& option, const fs::path& path, const std::string& other,
                         bool read) {
  throw Error({.code = "driver.file.same",
               .at = {},
               .message = str(option, " would write over ", other),
               .notes = {str("both are the file `", path.string(), "`",
                             read ? ", and what is in it would be lost" : "")},
               .help = "name another file to write"});
}

}  // namespace

Files::Files(CLI::App& command) : state_(std::make_shared<State>(&command)) {
  command.parse_complete_callback([files = *this] { files.check(); });
}

CLI::Option* Files::input(const std::string& option, std::string& path, const std::string& help) {
  state_->inputs.push_back({option, &path, {}});
  return state_->command->add_option(option, path, help)->type_name("IN-FILE");
}

CLI::Option* Files::output(const std::string& option, std::string& path, const std::string& help,
                           std::function<std::vector<Path>(const std::string&)> written) {
  state_->outputs.push_back({option, &path, std::move(written)});
  return state_->command->add_option(option, path, help)->type_name("OUT-FILE");
}

void Files::also_read(const Path& path, const std::string& what) const {
  for (const Named& output : state_->outputs)
    for (const Path& file : output.files())
      if (same_file(file, path)) refuse(output.option, file, what, true);
}

bool Files::is_input(const Path& path) const {
  for (const Named& input : state_->inputs)
    for (const Path& file : input.files())
      if (same_file(path, file)) return true;
  return false;
}

void Files::check() const {
  for (const Named& input : state_->inputs)
    for (const Path& file : input.files()) also_read(file, input.option);
  std::vector<std::pair<std::string, Path>> before;
  for (const Named& output : state_->outputs)
    for (const Path& file : output.files()) {
      for (const auto& [option, other] : before)
        if (same_file(file, other)) refuse(output.option, file, option, false);
      before.emplace_back(output.option, file);
    }
}

void flush_standard_output() {
  if (std::cout.flush()) return;
  throw Error({.code = "driver.stdout.write",
               .at = {},
               .message = "cannot write to standard output",
               .notes = {"some of the text is lost: where it goes there is no room, or nobody "
                         "reads it any more"},
               .help = "make room, or send it elsewhere"});
}

}  // namespace tilewright::cli
