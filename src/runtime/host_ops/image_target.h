// SPDX-License-Identifier: Apache-2.0
// Where the pixels of a decoded image go.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/host_ops/host_op.h"

namespace tilewright::runtime {

using Bytes = std::span<const uint8_t>;

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
};

class ImageTarget {
 public:
  enum class Channels : uint8_t { Rgb, Bgr, Gray };  // as in ops/image_decoder.cpp

  explicit ImageTarget(HostCall& call)
      : call_(call), channels_(static_cast<Channels>(call.attribute("channels", int64_t{0}))) {}

  HostCall& call() { return call_; }
  Channels channels() const { return channels_; }
  int64_t depth() const { return channels_ == Channels::Gray ? 1 : 3; }

  /// Asks for memory, once; false when there is none.
  bool open(int64_t height, int64_t width) {
    if (data_ != nullptr || height <= 0 || width <= 0) return false;
    const int64_t dims[3] = {height, width, depth()};
    data_ = static_cast<uint8_t*>(call_.output(0, dims));
    height_ = height;
    width_ = width;
    return data_ != nullptr;
  }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  uint8_t* data() { return data_; }
  size_t bytes() const { return static_cast<size_t>(height_ * width_ * depth()); }

  void put(int64_t y, int64_t x, Rgb c) {
    uint8_t* to = data_ + (y * width_ + x) * depth();
    if (channels_ == Channels::Gray) {
      // ITU-R 601-2, in 16-bit fixed point.
      *to = static_cast<uint8_t>((c.r * 19595 + c.g * 38470 + c.b * 7471 + 0x8000) >> 16);
    } else {
      to[0] = channels_ == Channels::Rgb ? c.r : c.b;
      to[1] = c.g;
      to[2] = channels_ == Channels::Rgb ? c.b : c.r;
    }
  }

  /// What the operator gives for bytes that are no image.
  tw_status nothing() {
    const int64_t dims[3] = {0, 0, depth()};
    call_.output(0, dims);
    return call_.status();
  }

 private:
  HostCall& call_;
  Channels channels_;
  int64_t height_ = 0, width_ = 0;
  uint8_t* data_ = nullptr;
};

inline bool is_bmp(Bytes bytes) { return bytes.size() >= 2 && bytes[0] == 'B' && bytes[1] == 'M'; }
/// PBM, PGM and PPM, in characters (P1 to P3) or packed (P4 to P6).
inline bool is_pnm(Bytes bytes) {
  return bytes.size() >= 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6';
}
tw_status read_bmp(Bytes bytes, ImageTarget& target);
tw_status read_pnm(Bytes bytes, ImageTarget& target);

}  // namespace tilewright::runtime
