// SPDX-License-Identifier: Apache-2.0
// Images whose pixels lie in the file as they are: BMP without compression, PGM and PPM.
#pragma once

#include <cstdint>
#include <span>

namespace tilewright::runtime {

struct Rgb {
  uint8_t r, g, b;
};

class PlainImage {
 public:
  explicit PlainImage(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  /// Is it a BMP, PGM or PPM? Others are no concern of this class.
  bool is_one() const;
  /// Damaged: there is no image in these bytes. Unknown: there is, but packed or of wide samples.
  enum class State : uint8_t { Sound, Damaged, Unknown };
  State open();

  // Of a sound one.
  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  Rgb at(int64_t y, int64_t x) const;

 private:
  int64_t little(size_t at, int bytes) const;
  int64_t number(size_t& at) const;
  State open_bmp();
  State open_pnm();
  State check() const;

  std::span<const uint8_t> bytes_;
  bool bmp_ = false, bottom_up_ = false;
  int64_t width_ = 0, height_ = 0, first_ = 0, stride_ = 0, bytes_per_pixel_ = 0, palette_ = 0;
};

}  // namespace tilewright::runtime
