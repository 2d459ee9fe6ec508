// SPDX-License-Identifier: Apache-2.0
// PBM, PGM and PPM: a bit, a grey or three colours for each pixel, in characters or packed.
#include <algorithm>

#include "runtime/host_ops/image_target.h"

namespace tilewright::runtime {
namespace {

class Pnm {
 public:
  explicit Pnm(Bytes bytes)
      : bytes_(bytes), bits_(bytes[1] == '1' || bytes[1] == '4'), packed_(bytes[1] >= '4') {
    if (bytes[1] == '3' || bytes[1] == '6') samples_ = 3;
  }

  /// False: no image stands behind the header.
  bool open() {
    width_ = number();
    height_ = number();
    most_ = bits_ ? 1 : number();
    if (width_ <= 0 || height_ <= 0 || most_ <= 0 || most_ > 65535) return false;
    ++at_;  // one white space
    // As many bytes as there must be, so that the memory is no larger than the file says.
    const int64_t left = static_cast<int64_t>(bytes_.size()) - static_cast<int64_t>(at_);
    int64_t row = 0, needed = 0;
    if (__builtin_mul_overflow(width_, samples_, &row)) return false;
    if (packed_) row = bits_ ? (row + 7) / 8 : row * (most_ > 255 ? 2 : 1);
    return !__builtin_mul_overflow(row, height_, &needed) && needed <= left;
  }

  /// False: the characters say no number.
  bool read(ImageTarget& target) {
    for (int64_t y = 0; y < height_; ++y) {
      for (int64_t x = 0; x < width_; ++x) {
        int64_t v[3];
        for (int64_t c = 0; c < samples_; ++c)
          if (!sample(x, v[c])) return false;
        if (samples_ == 1) v[1] = v[2] = v[0];
        target.put(y, x, {to_byte(v[0]), to_byte(v[1]), to_byte(v[2])});
      }
      if (packed_ && bits_) at_ += static_cast<size_t>((width_ + 7) / 8);
    }
    return true;
  }

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }

 private:
  bool more() const { return at_ < bytes_.size(); }

  void skip_space() {
    while (more() && (bytes_[at_] <= ' ' || bytes_[at_] == '#'))
      if (bytes_[at_++] == '#')
        while (more() && bytes_[at_] != '\n') ++at_;
  }

  /// The next number behind white space and comments; −1 when there is none.
  int64_t number() {
    skip_space();
    int64_t v = 0;
    const size_t start = at_;
    for (; more() && bytes_[at_] >= '0' && bytes_[at_] <= '9' && v < 1 << 28; ++at_)
      v = 10 * v + bytes_[at_] - '0';
    return at_ == start ? -1 : v;
  }

  bool sample(int64_t x, int64_t& v) {
    if (packed_ && bits_) {
      v = bytes_[at_ + static_cast<size_t>(x / 8)] >> (7 - x % 8) & 1;
    } else if (packed_) {
      v = bytes_[at_++];
      if (most_ > 255) v = v << 8 | bytes_[at_++];
    } else if (bits_) {  // digits need no space between them
      skip_space();
      v = more() ? bytes_[at_++] - '0' : -1;
    } else {
      v = number();
    }
    return v >= 0 && (packed_ || v <= most_);
  }

  uint8_t to_byte(int64_t v) const {
    if (bits_) return v != 0 ? 0 : 255;
    if (most_ == 255) return static_cast<uint8_t>(v);
    return static_cast<uint8_t>((std::min(v, most_) * 255 + most_ / 2) / most_);
  }

  Bytes bytes_;
  bool bits_, packed_;
  size_t at_ = 2;
  int64_t samples_ = 1, width_ = 0, height_ = 0, most_ = 0;
};

}  // namespace

tw_status read_pnm(Bytes bytes, ImageTarget& target) {
  Pnm image(bytes);
  if (!image.open()) return target.nothing();
  if (!target.open(image.height(), image.width())) return target.call().status();
  return image.read(target) ? TW_OK : target.nothing();
}

}  // namespace tilewright::runtime
