// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "frontend/onnx/proto.h"
#include "support/mapped_file.h"

namespace tilewright::frontend::onnx {

/// Files beside the model that hold tensors' data. A model is not trusted: it names only plain
/// files below its own folder, reached without links, so that nothing else of the machine ends up
/// in a compiled module.
class ExternalFiles {
 public:
  /// An empty path: there is no folder, and such tensors are refused.
  ExternalFiles(std::filesystem::path folder,
                std::function<void(const std::filesystem::path&)> on_file)
      : folder_(std::move(folder)), on_file_(std::move(on_file)) {}

  struct Data {
    Bytes bytes;
    std::shared_ptr<const MappedFile> file;
  };
  /// The `size` bytes that the tensor's entries name; `what` stands in errors.
  Data read(const TensorProto& tensor, const std::string& what, int64_t size);

 private:
  std::shared_ptr<const MappedFile> open(const std::string& what, const std::string& location);

  std::filesystem::path folder_;
  std::function<void(const std::filesystem::path&)> on_file_;  // told before one is read
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace tilewright::frontend::onnx
