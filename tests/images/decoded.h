// SPDX-License-Identifier: Apache-2.0
// An image decoded by the plug-in's function, with the memory counted that it was given.
#pragma once

#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tilewright/runtime.h"

namespace tilewright::images {

struct Decoded {
  tw_status status = TW_OK;
  std::string message = {};
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels = {};
  size_t held = 0;   // bytes that the decoder has not given back
  size_t taken = 0;  // bytes that it has taken at most, beside the pixels
};

/// What there is to take, and what is taken.
struct Memory {
  size_t most_pixels = size_t{1} << 28, most = size_t{1} << 28;
  Decoded* result = nullptr;
  int channels = 3;

  static void* allocate(void* user, size_t bytes, size_t alignment) {
    Memory& m = *static_cast<Memory*>(user);
    void* p = nullptr;
    if (m.result->held + bytes > m.most || posix_memalign(&p, alignment, bytes) != 0)
      return nullptr;
    m.result->held += bytes;
    m.result->taken = std::max(m.result->taken, m.result->held);
    return p;
  }
  static void release(void* user, void* memory, size_t bytes) {
    static_cast<Memory*>(user)->result->held -= bytes;
    std::free(memory);
  }
  static uint8_t* pixels(void* user, int64_t height, int64_t width) {
    Memory& m = *static_cast<Memory*>(user);
    const auto bytes = static_cast<size_t>(height * width * m.channels);
    if (bytes > m.most_pixels) return nullptr;
    m.result->height = height;
    m.result->width = width;
    m.result->pixels.assign(bytes, 77);
    return m.result->pixels.data();
  }
};

inline Decoded decode(std::span<const uint8_t> bytes, int channels = 3, Memory memory = {}) {
  Decoded out;
  memory.result = &out;
  memory.channels = channels;
  // In a block of their own, so that a sanitizer sees a read beyond the end.
  std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  exact.shrink_to_fit();
  tw_image image{};
  image.version = TW_IMAGE_VERSION;
  image.channels = channels;
  image.data = exact.data();
  image.bytes = exact.size();
  image.pixels = Memory::pixels;
  image.user = &memory;
  image.memory = {&memory, Memory::allocate, Memory::release};
  out.status = tw_decode_image(&image);
  out.message = image.message;
  return out;
}

}  // namespace tilewright::images
