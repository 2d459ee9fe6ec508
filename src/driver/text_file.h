// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "ir/func.h"
#include "schedule/trace.h"
#include "te/program.h"

namespace tilewright::driver {

/// What a `.tw` file holds: tensor programs, functions of the loop IR, and traces. A trace
/// schedules the program or function of its name.
struct TextFile {
  std::vector<te::Program> programs;
  ir::Unit unit;
  std::vector<schedule::Trace> traces;
};

TextFile read_text(std::shared_ptr<const Source> source);
/// Reads the file; an Error when it cannot be read or is larger than 1 GiB.
TextFile read_text_file(const std::filesystem::path& path);
/// The same of a file that holds a graph.
graph::Graph read_graph_file(const std::filesystem::path& path);

}  // namespace tilewright::driver
