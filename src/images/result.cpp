// SPDX-License-Identifier: Apache-2.0
#include "images/result.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace tilewright::images {

bool Result::open(int64_t height, int64_t width) {
  if (height <= 0 || width <= 0) {
    damaged("the image has no pixels");
    return false;
  }
  if (height > kMostPixels / width) {
    fail(TW_UNSUPPORTED,
         "the image has %" PRId64 " x %" PRId64
         " pixels, more than the 2^28 that the decoder takes: scale it down before the model",
         height, width);
    return false;
  }
  pixels_ = image_.pixels(image_.user, height, width);
  if (pixels_ == nullptr) {
    no_memory();
    return false;
  }
  height_ = height;
  width_ = width;
  return true;
}

void Result::put_rgb(int64_t y, int64_t x, const uint8_t* from, int64_t count, int64_t step) {
  uint8_t* to = row(y) + x * image_.channels;
  if (gray()) {
    for (int64_t i = 0; i < count; ++i, from += step) to[i] = luma(from[0], from[1], from[2]);
  } else if (step == 3) {
    std::memcpy(to, from, static_cast<size_t>(3 * count));
  } else {
    for (int64_t i = 0; i < count; ++i, from += step, to += 3) std::memcpy(to, from, 3);
  }
}

void Result::put_gray(int64_t y, int64_t x, const uint8_t* from, int64_t count) {
  uint8_t* to = row(y) + x * image_.channels;
  if (gray()) {
    std::memcpy(to, from, static_cast<size_t>(count));
  } else {
    for (int64_t i = 0; i < count; ++i, to += 3) std::memset(to, from[i], 3);
  }
}

tw_status Result::fail(tw_status status, const char* format, ...) {
  if (status_ != TW_OK) return status_;
  va_list args;
  va_start(args, format);
  std::vsnprintf(image_.message, sizeof image_.message, format, args);
  va_end(args);
  return status_ = status;
}

Scratch::Scratch(Result& result, int64_t bytes)
    : memory_(result.memory()), bytes_(static_cast<size_t>(bytes)) {
  data_ = static_cast<uint8_t*>(memory_.allocate(memory_.user, bytes_, 64));
  if (data_ == nullptr) result.no_memory();
}

Scratch::~Scratch() {
  if (data_ != nullptr) memory_.release(memory_.user, data_, bytes_);
}

}  // namespace tilewright::images
