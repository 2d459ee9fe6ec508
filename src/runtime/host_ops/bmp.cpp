// SPDX-License-Identifier: Apache-2.0
// BMP: pixels of 1 to 32 bits, of a palette or of colours at any bits, or runs of them.
#include <algorithm>
#include <bit>

#include "runtime/host_ops/image_target.h"

namespace tilewright::runtime {
namespace {

/// Where a colour lies in a pixel of 16 or 32 bits.
struct Mask {
  int shift = 0;
  uint32_t most = 0;  // its largest value; 0: it is not there

  static Mask of(uint32_t bits) {
    if (bits == 0) return {};
    const int shift = std::countr_zero(bits);
    return {shift, bits >> shift};
  }
  uint8_t in(uint32_t pixel) const {
    return most == 0 ? uint8_t{0}
                     : static_cast<uint8_t>(uint64_t{pixel >> shift & most} * 255 / most);
  }
};

class Bmp {
 public:
  explicit Bmp(Bytes bytes) : bytes_(bytes) {}

  enum class State : uint8_t { Sound, Damaged, Unknown, TooLarge };

  State open() {
    if (!has(0, 26)) return State::Damaged;
    first_ = little(10, 4);
    const uint32_t header = little(14, 4);
    const bool old = header == 12;  // OS/2's
    if (!old && (header < 40 || !has(14, header))) return State::Damaged;
    width_ = old ? static_cast<int64_t>(little(18, 2)) : signed_at(18);
    height_ = old ? static_cast<int64_t>(little(20, 2)) : signed_at(22);
    bits_ = static_cast<int>(old ? little(24, 2) : little(28, 2));
    top_down_ = height_ < 0;
    if (top_down_) height_ = -height_;
    if (width_ <= 0 || height_ <= 0 || width_ > kMost || height_ > kMost) return State::Damaged;
    compression_ = old ? kPlain : little(30, 4);
    if (!is_known()) return State::Unknown;
    if (bits_ >= 16)
      read_masks();
    else
      read_palette(14 + size_t{header}, old ? 3 : 4, old ? 0 : little(46, 4));
    if (is_run()) {
      if (height_ > kMostPixels / width_) return State::TooLarge;
      return has(first_, 2) ? State::Sound : State::Damaged;
    }
    stride_ = (width_ * bits_ + 31) / 32 * 4;
    return has(first_, static_cast<uint64_t>(stride_ * height_)) ? State::Sound : State::Damaged;
  }

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  uint32_t compression() const { return compression_; }

  /// False: the runs end before the image does.
  bool read(ImageTarget& target) const {
    if (is_run()) return read_runs(target);
    for (int64_t y = 0; y < height_; ++y) {
      const size_t row = first_ + static_cast<size_t>(y * stride_);
      for (int64_t x = 0; x < width_; ++x) target.put(place_of(y), x, pixel(row, x));
    }
    return true;
  }

 private:
  static constexpr int64_t kMost = 1 << 20, kMostPixels = int64_t{1} << 28;
  static constexpr uint32_t kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3, kMasksAndAlpha = 6;

  bool has(uint64_t at, uint64_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }
  uint32_t little(size_t at, size_t count) const {
    uint32_t v = 0;
    for (size_t i = 0; i < count; ++i) v |= static_cast<uint32_t>(bytes_[at + i]) << 8 * i;
    return v;
  }
  int64_t signed_at(size_t at) const { return static_cast<int32_t>(little(at, 4)); }

  bool is_run() const { return compression_ == kRuns8 || compression_ == kRuns4; }
  bool is_known() const {
    switch (compression_) {
      case kPlain:
        return bits_ == 1 || bits_ == 2 || bits_ == 4 || bits_ == 8 || bits_ == 16 || bits_ == 24 ||
               bits_ == 32;
      case kRuns8: return bits_ == 8;
      case kRuns4: return bits_ == 4;
      case kMasks:
      case kMasksAndAlpha: return bits_ == 16 || bits_ == 32;
      default: return false;
    }
  }

  /// Masks lie behind a header of 40 bytes, inside of longer ones: at the same place.
  void read_masks() {
    if (compression_ != kPlain && has(54, 12)) {
      for (size_t c = 0; c < 3; ++c) masks_[c] = Mask::of(little(54 + 4 * c, 4));
    } else {
      for (int c = 0; c < 3; ++c)
        masks_[c] = bits_ == 16 ? Mask{10 - 5 * c, 31} : Mask{16 - 8 * c, 255};
    }
  }

  /// As many colours as the header says and the file has; others are black.
  void read_palette(size_t at, size_t step, uint32_t said) {
    const uint32_t all = 1u << bits_, wanted = said == 0 ? all : std::min(said, all);
    for (uint32_t i = 0; i < wanted && has(at, step); ++i, at += step)
      palette_[i] = {bytes_[at + 2], bytes_[at + 1], bytes_[at]};
  }

  int64_t place_of(int64_t row) const { return top_down_ ? row : height_ - 1 - row; }

  Rgb pixel(size_t row, int64_t x) const {
    const auto i = static_cast<size_t>(x);
    if (bits_ < 16) {
      const size_t bit = i * static_cast<size_t>(bits_);
      const int shift = 8 - bits_ - static_cast<int>(bit % 8);
      return palette_[bytes_[row + bit / 8] >> shift & ((1 << bits_) - 1)];
    }
    if (bits_ == 24) {
      const uint8_t* p = bytes_.data() + row + 3 * i;
      return {p[2], p[1], p[0]};
    }
    const size_t bytes = bits_ == 16 ? 2 : 4;
    const uint32_t value = little(row + bytes * i, bytes);
    return {masks_[0].in(value), masks_[1].in(value), masks_[2].in(value)};
  }

  /// Pairs of a count and an index (two of 4 bits, in turn). A count of 0 is a command: the end of
  /// a row or of the image, a step over pixels, or so many indices as they are.
  bool read_runs(ImageTarget& target) const {
    for (int64_t y = 0; y < height_; ++y)
      for (int64_t x = 0; x < width_; ++x) target.put(y, x, palette_[0]);
    const bool wide = compression_ == kRuns8;
    int64_t x = 0, y = 0;
    const auto put = [&](int index) {
      if (x < width_ && y < height_) target.put(place_of(y), x, palette_[index]);
      ++x;
    };
    const auto put_of = [&](uint8_t byte, int i) {
      put(wide ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
    };
    for (size_t at = first_; has(at, 2);) {
      const uint8_t count = bytes_[at], value = bytes_[at + 1];
      at += 2;
      if (count != 0) {
        for (int i = 0; i < count; ++i) put_of(value, i);
      } else if (value == 0) {
        x = 0;
        ++y;
      } else if (value == 1) {
        return true;
      } else if (value == 2) {
        if (!has(at, 2)) return false;
        x += bytes_[at];
        y += bytes_[at + 1];
        at += 2;
      } else {
        const size_t bytes = wide ? value : (size_t{value} + 1) / 2;
        if (!has(at, bytes)) return false;
        for (int i = 0; i < value; ++i)
          put_of(bytes_[at + static_cast<size_t>(wide ? i : i / 2)], i);
        at += (bytes + 1) / 2 * 2;
      }
    }
    return y >= height_ || (y == height_ - 1 && x >= width_);
  }

  Bytes bytes_;
  bool top_down_ = false;
  int bits_ = 0;
  uint32_t compression_ = kPlain;
  size_t first_ = 0;
  int64_t width_ = 0, height_ = 0, stride_ = 0;
  Mask masks_[3];
  Rgb palette_[256];
};

}  // namespace

tw_status read_bmp(Bytes bytes, ImageTarget& target) {
  Bmp image(bytes);
  const Bmp::State state = image.open();
  if (state == Bmp::State::Damaged) return target.nothing();
  if (state == Bmp::State::Unknown)
    return target.call().fail(
        TW_UNSUPPORTED,
        "ImageDecoder is given a BMP with compression %u, which is not read: decode it before the "
        "model",
        image.compression());
  if (state == Bmp::State::TooLarge)
    return target.call().fail(TW_UNSUPPORTED,
                              "ImageDecoder is given a BMP with runs of more than 2^28 pixels: "
                              "scale it down before the model");
  if (!target.open(image.height(), image.width())) return target.call().status();
  return image.read(target) ? TW_OK : target.nothing();
}

}  // namespace tilewright::runtime
