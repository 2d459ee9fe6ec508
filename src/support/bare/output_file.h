// SPDX-License-Identifier: Apache-2.0
// The only way to write a file that someone named: nothing that was there is lost unless all of the
// new content is on the disk.
#pragma once

#include <cstddef>
#include <string>

namespace tilewright {

/// A file that appears in its place whole or not at all: it is written beside it, synced, then
/// renamed. A symbolic link stays one, and what it leads to is replaced; a file keeps its rights.
/// Pipes, devices and the system's names for open files (/dev/stdout) are written straight.
/// Errors stick: the first one is what `commit` returns.
class OutputFile {
 public:
  /// What a new file may be used for; the user's mask takes from it.
  enum class Rights { Data, Program };

  explicit OutputFile(std::string path, Rights rights = Rights::Data);
  /// Without `commit` nothing has happened.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// False when this or something before it failed.
  bool write(const void* data, size_t bytes);
  /// Puts the file in its place. Returns "" or what went wrong, in words for the user.
  std::string commit();

 private:
  void open_straight();
  void open_beside(Rights rights);
  bool fail(const std::string& why);
  bool fail(int error);
  void drop();

  std::string path_;       // as the user named it
  std::string target_;     // the same after links
  std::string temporary_;  // empty where it is written straight
  std::string problem_;
  int fd_ = -1;
};

}  // namespace tilewright
