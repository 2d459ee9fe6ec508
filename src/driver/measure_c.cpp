// SPDX-License-Identifier: Apache-2.0
// What a C compiler makes of a model: code by `size`, stack by the call graph that gcc writes.
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "driver/emit_c.h"
#include "support/process.h"
#include "support/str.h"
#include "support/write_file.h"

namespace tilewright::driver {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// The text between `key: "` and the next quote.
std::string quoted(const std::string& line, const std::string& key) {
  const size_t at = line.find(key + ": \"");
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size() + 3;
  return line.substr(begin, line.find('"', begin) - begin);
}

/// The deepest chain of calls in a call graph as `gcc -fcallgraph-info=su` writes it:
///   node: { title: "f" label: "f\nmodel.c:1:1\n48 bytes (static)" }
///   edge: { sourcename: "f" targetname: "g" label: "model.c:3:1" }
/// −1 when there is none. Functions of elsewhere (memset) count as nothing.
int64_t deepest(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::map<std::string, int64_t> own;
  std::map<std::string, std::vector<std::string>> calls;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("edge:"))
      calls[quoted(line, "sourcename")].push_back(quoted(line, "targetname"));
    if (!line.starts_with("node:")) continue;
    const std::string label = quoted(line, "label");
    const size_t end = label.find(" bytes (");
    if (end == std::string::npos) continue;
    const size_t begin = label.rfind("\\n", end);
    own[quoted(line, "title")] = std::stoll(label.substr(begin + 2, end - begin - 2));
  }
  if (own.empty()) return -1;
  std::map<std::string, int64_t> known;
  const std::function<int64_t(const std::string&)> depth = [&](const std::string& f) -> int64_t {
    if (const auto found = known.find(f); found != known.end()) return found->second;
    known[f] = 0;  // generated code does not recurse
    int64_t below = 0;
    for (const std::string& g : calls[f]) below = std::max(below, depth(g));
    return known[f] = below + (own.contains(f) ? own.at(f) : 0);
  };
  int64_t most = 0;
  for (const auto& [f, bytes] : own) most = std::max(most, depth(f));
  return most;
}

}  // namespace

std::optional<CSizes> measure_c(const CModel& model, const std::string& name,
                                const std::string& compiler) {
  const TempFolder folder;
  const auto in_folder = [&](const std::string& suffix) {
    return (folder.path() / (name + suffix)).string();
  };
  write_file(in_folder(".c"), model.source);
  write_file(in_folder(".h"), model.header);
  std::vector<std::string> command = words(compiler);
  if (command.empty()) return std::nullopt;
  const std::string program = command[0];
  command.insert(command.end(), {"-std=c11", "-Os", "-ffreestanding", "-c", in_folder(".c"), "-o",
                                 in_folder(".o")});
  command.emplace_back("-fcallgraph-info=su");
  std::optional<ProgramResult> compiled = run_program(command);
  if (compiled && compiled->status != 0) {  // not gcc
    command.pop_back();
    compiled = run_program(command);
  }
  if (!compiled) return std::nullopt;
  if (compiled->status != 0)
    throw Error({.code = "driver.emit_c.compiler",
                 .at = {},
                 .message = str("`", compiler, "` does not compile the C of the model"),
                 .notes = {compiled->output},
                 .help = "name a compiler of C11 with `--cc`, with the flags of the machine"});

  CSizes sizes{.compiler = str(compiler, " -Os")};
  const auto told = run_program({program, "-print-prog-name=size"});
  const std::vector<std::string> size = words(told && told->status == 0 ? told->output : "");
  const auto listed = run_program({size.empty() ? "size" : size[0], in_folder(".o")});
  if (!listed || listed->status != 0) return std::nullopt;
  //    text    data     bss     dec     hex filename
  const std::vector<std::string> row = words(listed->output.substr(listed->output.find('\n')));
  sizes.code_bytes = std::stoll(row.at(0)) - model.weight_bytes;
  sizes.static_bytes = std::stoll(row.at(1)) + std::stoll(row.at(2));
  sizes.stack_bytes = deepest(in_folder(".ci"));
  return sizes;
}

std::string describe(const CModel& model, const std::optional<CSizes>& sizes) {
  std::string stack = "the stack is not measured";
  std::string code = "the code is not measured: there is no such compiler, or no `size` (--cc)";
  if (sizes) {
    if (sizes->stack_bytes >= 0) stack = str(sizes->stack_bytes, " bytes of stack");
    code = str(sizes->code_bytes, " bytes of code (", sizes->compiler, ")");
  }
  const int64_t ram = model.arena_bytes + (sizes ? sizes->static_bytes : 0);
  return str("RAM:   ", ram, " bytes for the arena, ", stack,
             "; the caller's inputs and outputs are ", model.input_bytes, " and ",
             model.output_bytes, " bytes\n",  //
             "flash: ", model.weight_bytes, " bytes of weights, ", code, "\n");
}

}  // namespace tilewright::driver
