// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/bytes.h"

namespace tilewright::frontend {

/// A file inside of a zip archive: unpacked, or a view of the archive where it is stored as it is.
struct ZipEntry {
  std::string name;
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

/// All files of an archive, checked against their sums. `what` names it in errors.
std::vector<ZipEntry> read_zip(Bytes archive, const std::shared_ptr<const void>& owner,
                               const std::string& what);

/// Writes an archive entry by entry, nothing compressed; the file is in its place after `finish`.
class ZipWriter {
 public:
  explicit ZipWriter(const std::filesystem::path& path);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  /// A file whose content is the parts one after the other.
  void add(const std::string& name, const std::vector<Bytes>& parts);
  /// Must be called at the end; an Error when anything could not be written.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::frontend
