// SPDX-License-Identifier: Apache-2.0
// What the decoder of one format is written against: the bytes, where the pixels go, and what to
// say when there are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tilewright/runtime.h"

namespace tilewright::images {

/// An image may have so many pixels: a header of a few bytes can promise any number.
constexpr int64_t kMostPixels = int64_t{1} << 28;

/// A pixel's colours weighed as ITU-R 601-2 does, in 16-bit fixed point.
constexpr uint8_t luma(int r, int g, int b) {
  return static_cast<uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
}

/// a * b / 255, rounded.
constexpr uint8_t scaled(int a, int b) {
  const int product = a * b + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

class Result {
 public:
  explicit Result(tw_image& image) : image_(image) {}

  std::span<const uint8_t> bytes() const { return {image_.data, image_.bytes}; }

  /// Asks for the memory of the pixels. False: the image is too large, or there is no memory.
  bool open(int64_t height, int64_t width);
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  bool gray() const { return image_.channels == 1; }
  uint8_t* row(int64_t y) { return pixels_ + y * width_ * image_.channels; }

  /// Row y, from column x on: `count` pixels that lie `step` bytes apart.
  void put_rgb(int64_t y, int64_t x, const uint8_t* from, int64_t count, int64_t step = 3);
  void put_gray(int64_t y, int64_t x, const uint8_t* from, int64_t count);

  /// Ends the decoding. TW_BAD_INPUT: these bytes are no image that can be decoded. The first
  /// failure is the one that counts.
  [[gnu::format(printf, 3, 4)]] tw_status fail(tw_status status, const char* format, ...);
  tw_status damaged(const char* why) { return fail(TW_BAD_INPUT, "%s", why); }
  tw_status no_memory() { return fail(TW_OUT_OF_MEMORY, "no memory to decode an image"); }
  tw_status status() const { return status_; }

  const tw_allocator& memory() const { return image_.memory; }

 private:
  tw_image& image_;
  uint8_t* pixels_ = nullptr;
  int64_t height_ = 0, width_ = 0;
  tw_status status_ = TW_OK;
};

/// Memory of the caller's allocator.
class Scratch {
 public:
  /// Empty when there was no memory, which the result says then.
  Scratch(Result& result, int64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  uint8_t* data() { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  const tw_allocator& memory_;
  size_t bytes_;
  uint8_t* data_;
};

// The formats.
tw_status decode_jpeg(Result& result);
tw_status decode_png(Result& result);
tw_status decode_tiff(Result& result);
tw_status decode_webp(Result& result);
tw_status decode_jpeg2000(Result& result);

}  // namespace tilewright::images
