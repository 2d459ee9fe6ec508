// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module/view.h"
#include "tilewright/kernel.h"

namespace tilewright::runtime {

/// A module's code made ready to run: relocated, its code pages executable and not writable.
class CodeMap {
 public:
  CodeMap() = default;
  ~CodeMap();
  CodeMap(const CodeMap&) = delete;
  CodeMap& operator=(const CodeMap&) = delete;

  /// `in_place`: the image lies in a private mapping of the file, whose pages may be changed;
  /// otherwise, and where the system does not let pages of that file be executed, it is copied.
  bool map(const VariantView& variant, bool in_place, ErrorText& error);

  tw_kernel kernel(uint64_t offset) const {
    return reinterpret_cast<tw_kernel>(reinterpret_cast<uintptr_t>(image_) + offset);
  }
  bool copied() const { return copy_bytes_ != 0; }

 private:
  bool relocate_and_protect(const VariantView& variant);

  std::byte* image_ = nullptr;
  size_t copy_bytes_ = 0;
};

/// A whole file in memory.
class FileMap {
 public:
  FileMap() = default;
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  /// `name` is for the message; `populate`: everything will be read at once.
  bool map(int descriptor, const char* name, bool populate, ErrorText& error);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tilewright::runtime
