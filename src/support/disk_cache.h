// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

/// Byte strings on disk by their keys, for what can be made again at any time. Threads and
/// processes share a folder without locks: an entry is written to a file of its own, which then
/// gets its name in one step. An entry that is damaged, or that another key's hash has overwritten,
/// is as if it were not there. Where the folder cannot be made or written, nothing is kept and
/// nothing fails.
class DiskCache {
 public:
  /// `limit` bytes stay after `trim`.
  DiskCache(std::filesystem::path folder, int64_t limit);

  const std::filesystem::path& folder() const { return folder_; }
  int64_t limit() const { return limit_; }
  /// Why the folder is not used; empty when it is. A folder that others can write to could give us
  /// code of theirs.
  const std::string& problem() const { return problem_; }

  std::optional<std::string> find(std::string_view key) const;
  void put(std::string_view key, std::string_view value) const;

  struct Usage {
    int64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  /// Removes what was not asked for the longest, down to the limit.
  void trim() const;
  /// Removes everything; how much that was.
  Usage clear() const;

 private:
  std::filesystem::path path_of(std::string_view key) const;

  std::filesystem::path folder_;
  int64_t limit_;
  std::string problem_;
};

}  // namespace tilewright
