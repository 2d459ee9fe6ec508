// SPDX-License-Identifier: Apache-2.0
// Arguments that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "driver/model.h"
#include "driver/run_model.h"
#include "files.h"
#include "graph/graph.h"

namespace tilewright::cli {

struct ModelArguments {
  std::string model;
  std::vector<std::string> targets{"host"}, dims, skip;
  std::string records, precision = "f32";
  bool no_cache = false, require_records = false, transfer = false, no_shipped = false;

  void add(CLI::App& command, Files& files);
  bool is_text() const;    // a `.tw` file
  bool is_module() const;  // a `.twm` file
  /// Of a model; files beside it that hold its tensors are not written either.
  const graph::Graph& read() const;
  driver::ModelOptions options() const;

 private:
  std::optional<Files> files_;
};

/// A compiled module to run: the file itself, or the model compiled now.
driver::LoadedModule load(const ModelArguments& arguments, int threads);
/// To the file, or to standard output.
void write_text(const std::string& text, const std::string& path);
/// The arrays of the file, or nothing without one.
std::vector<frontend::NamedTensor> read_inputs(const std::string& path);

}  // namespace tilewright::cli
