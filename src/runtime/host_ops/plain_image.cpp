// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_ops/plain_image.h"

namespace tilewright::runtime {
namespace {

using State = PlainImage::State;

}  // namespace

bool PlainImage::is_one() const {
  if (bytes_.size() < 2) return false;
  return (bytes_[0] == 'B' && bytes_[1] == 'M') ||
         (bytes_[0] == 'P' && (bytes_[1] == '5' || bytes_[1] == '6'));
}

State PlainImage::open() { return bytes_[0] == 'B' ? open_bmp() : open_pnm(); }

Rgb PlainImage::at(int64_t y, int64_t x) const {
  const uint8_t* p =
      bytes_.data() + first_ + (bottom_up_ ? height_ - 1 - y : y) * stride_ + x * bytes_per_pixel_;
  if (bytes_per_pixel_ == 1 && palette_ != 0) {
    const uint8_t* color = bytes_.data() + palette_ + 4 * *p;
    return {color[2], color[1], color[0]};
  }
  if (bytes_per_pixel_ == 1) return {*p, *p, *p};
  return bmp_ ? Rgb{p[2], p[1], p[0]} : Rgb{p[0], p[1], p[2]};
}

int64_t PlainImage::little(size_t at, int bytes) const {
  uint32_t v = 0;
  for (int i = 0; i < bytes; ++i)
    v |= static_cast<uint32_t>(bytes_[at + static_cast<size_t>(i)]) << 8 * i;
  return bytes == 4 ? static_cast<int32_t>(v) : static_cast<int64_t>(v);
}

State PlainImage::open_bmp() {
  if (bytes_.size() < 54) return State::Damaged;
  bmp_ = true;
  first_ = little(10, 4);
  width_ = little(18, 4);
  height_ = little(22, 4);
  bottom_up_ = height_ > 0;
  if (height_ < 0) height_ = -height_;
  const int64_t bits = little(28, 2), compression = little(30, 4);
  if (compression != 0 || (bits != 8 && bits != 24 && bits != 32)) return State::Unknown;
  bytes_per_pixel_ = bits / 8;
  if (bits == 8) {
    palette_ = 14 + little(14, 4);
    if (palette_ < 54 || palette_ + 1024 > static_cast<int64_t>(bytes_.size()))
      return State::Damaged;
  }
  stride_ = (width_ * bytes_per_pixel_ + 3) / 4 * 4;
  return check();
}

/// The next number of the header, behind white space and comments.
int64_t PlainImage::number(size_t& at) const {
  while (at < bytes_.size() && (bytes_[at] <= ' ' || bytes_[at] == '#'))
    if (bytes_[at++] == '#')
      while (at < bytes_.size() && bytes_[at] != '\n') ++at;
  int64_t v = 0;
  const size_t start = at;
  for (; at < bytes_.size() && bytes_[at] >= '0' && bytes_[at] <= '9' && v < 1 << 24; ++at)
    v = 10 * v + bytes_[at] - '0';
  return at == start ? -1 : v;
}

State PlainImage::open_pnm() {
  size_t at = 2;
  width_ = number(at);
  height_ = number(at);
  const int64_t most = number(at);
  if (most <= 0) return State::Damaged;
  if (most != 255) return State::Unknown;
  first_ = static_cast<int64_t>(at) + 1;
  bytes_per_pixel_ = bytes_[1] == '6' ? 3 : 1;
  stride_ = width_ * bytes_per_pixel_;
  return check();
}

State PlainImage::check() const {
  constexpr int64_t kMost = 1 << 20;
  if (width_ <= 0 || height_ <= 0 || width_ > kMost || height_ > kMost) return State::Damaged;
  if (first_ < 0 || first_ + stride_ * height_ > static_cast<int64_t>(bytes_.size()))
    return State::Damaged;
  return State::Sound;
}

}  // namespace tilewright::runtime
