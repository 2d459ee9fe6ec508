// SPDX-License-Identifier: Apache-2.0
// Machine code as the runtime maps it: segments at page-aligned offsets of one flat image, and the
// few words that depend on where it lies. Made from the shared object that the linker wrote, so
// that the runtime needs neither dlopen nor ELF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct CodeSegment {
  uint64_t offset = 0;  // in the image; page aligned
  uint64_t bytes = 0;
  uint32_t executable = 0;  // else its words may be relocated, and it is read-only after that
  uint32_t reserved = 0;
};

/// The 8 bytes at `offset` become `addend` + the address of the image or of an imported function.
struct CodeRelocation {
  enum class To : uint32_t { Image, Memcpy, Memset };
  uint64_t offset = 0;
  int64_t addend = 0;
  To to = To::Image;
  uint32_t reserved = 0;
};

struct CodeImage {
  std::vector<std::byte> bytes;
  std::vector<CodeSegment> segments;
  std::vector<CodeRelocation> relocations;
  std::vector<std::pair<std::string, uint64_t>> entries;  // exported functions and their offsets
};

/// The image of an ELF shared object for x86-64, AArch64 or RISC-V (64 bits, little endian). On
/// failure returns false, and `problem` says what the object holds that a kernel must not.
bool image_from_elf(std::span<const std::byte> object, CodeImage& image, std::string& problem);

}  // namespace tilewright
