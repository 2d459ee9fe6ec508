// SPDX-License-Identifier: Apache-2.0
// An ONNX model as a graph.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/onnx/wire.h"
#include "graph/graph.h"

namespace tilewright::frontend::onnx {

/// The values that a dimension may have; min == max makes it a constant.
struct DimRange {
  int64_t min = 0;
  int64_t max = 0;
  std::vector<int64_t> points;  // of these, values that get kernels of their own
};

struct ImportOptions {
  /// By the model's name of a dimension. One that has none is called after its input and axis:
  /// `x_0`.
  std::map<std::string, DimRange> dims;
  /// Where the files lie that hold tensors of a model given as bytes; empty: it may have none.
  std::filesystem::path folder;
  /// Told of each such file before it is read; may throw.
  std::function<void(const std::filesystem::path&)> on_file;
};

/// `batch=8`, `batch=1..32`, `batch=1..32:1,8`.
std::pair<std::string, DimRange> parse_dim(std::string_view text);
/// Each dimension once.
std::map<std::string, DimRange> parse_dims(const std::vector<std::string>& texts);

/// Reads the model; large tensors are views into its file, which the graph keeps mapped.
graph::Graph read_model(const std::filesystem::path& path, const ImportOptions& options = {});
/// `owner` keeps the bytes alive, and the graph keeps `owner`.
graph::Graph read_model(Bytes bytes, std::shared_ptr<const void> owner,
                        const ImportOptions& options = {});

}  // namespace tilewright::frontend::onnx
