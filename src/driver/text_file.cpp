// SPDX-License-Identifier: Apache-2.0
#include "driver/text_file.h"

#include <fstream>
#include <sstream>

#include "graph/parse.h"
#include "ir/parse.h"
#include "ops/all.h"
#include "support/str.h"
#include "te/parse.h"

namespace tilewright::driver {

namespace {

std::shared_ptr<const Source> source_of(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& note) {
    throw Error({.code = "driver.file.read",
                 .at = {},
                 .message = str("cannot read `", path.string(), "`"),
                 .notes = {note},
                 .help = "name a .tw file that exists and can be read"});
  };
  constexpr uintmax_t kMost = uintmax_t{1} << 30;
  std::error_code failed;
  const uintmax_t size = std::filesystem::file_size(path, failed);
  if (failed) refuse(failed.message());
  if (size > kMost) refuse(str("it has ", size, " bytes, the limit is ", kMost));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) refuse("reading it failed");
  return std::make_shared<Source>(Source{path.filename().string(), std::move(text).str()});
}

}  // namespace

TextFile read_text(std::shared_ptr<const Source> source) {
  TextFile file;
  file.unit = ir::parse(std::move(source), {{"te",
                                             [&](ir::Cursor& in, const ir::Items& items) {
                                               file.programs.push_back(te::read_program(in, items));
                                             }},
                                            {"trace", [&](ir::Cursor& in, const ir::Items&) {
                                               file.traces.push_back(schedule::parse_trace(in));
                                             }}});
  return file;
}

TextFile read_text_file(const std::filesystem::path& path) { return read_text(source_of(path)); }

graph::Graph read_graph_file(const std::filesystem::path& path) {
  return graph::parse(source_of(path), ops::find);
}

}  // namespace tilewright::driver
