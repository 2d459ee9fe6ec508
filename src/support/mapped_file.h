// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "support/bytes.h"

namespace tilewright {

/// A file mapped into memory for reading: its bytes are read when they are touched, and dropped by
/// the system when memory is short. Nobody may shorten the file while it is mapped.
class MappedFile {
 public:
  /// An Error when there is no such file, or when it is not a plain one.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  /// Maps an open descriptor of a plain file, which stays the caller's. `name` is for errors.
  static std::shared_ptr<const MappedFile> map(int descriptor, const std::filesystem::path& name);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return bytes_; }

 private:
  explicit MappedFile(Bytes bytes) : bytes_(bytes) {}

  Bytes bytes_;
};

}  // namespace tilewright
