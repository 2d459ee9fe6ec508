// SPDX-License-Identifier: Apache-2.0
// ImageDecoder, for formats that need no library: BMP without compression, PGM and PPM.
#include <cstring>

#include "runtime/host_ops/host_op.h"

namespace tilewright::runtime {
namespace {

struct Rgb {
  uint8_t r, g, b;
};

enum class Channels : uint8_t { Rgb, Bgr, Gray };

/// An encoded image: its size, and where its pixels are.
class Image {
 public:
  explicit Image(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  /// nullptr, or what is wrong with it.
  const char* open() {
    if (bytes_.size() >= 2 && bytes_[0] == 'B' && bytes_[1] == 'M') return open_bmp();
    if (bytes_.size() >= 2 && bytes_[0] == 'P' && (bytes_[1] == '5' || bytes_[1] == '6'))
      return open_pnm();
    struct Known {
      const char *start, *message;
    };
    static constexpr Known known[] = {{"\x89PNG", "is a PNG"}, {"\xFF\xD8\xFF", "is a JPEG"},
                                      {"RIFF", "is a WebP"},   {"II*", "is a TIFF"},
                                      {"MM", "is a TIFF"},     {"GIF8", "is a GIF"}};
    for (const Known& k : known)
      if (bytes_.size() >= std::strlen(k.start) &&
          std::memcmp(bytes_.data(), k.start, std::strlen(k.start)) == 0)
        return k.message;
    return "has an unknown format";
  }

  int64_t width = 0, height = 0;

  Rgb at(int64_t y, int64_t x) const {
    const uint8_t* p =
        bytes_.data() + first_ + (bottom_up_ ? height - 1 - y : y) * stride_ + x * bytes_per_pixel_;
    if (bytes_per_pixel_ == 1 && palette_ != 0) {
      const uint8_t* color = bytes_.data() + palette_ + 4 * *p;
      return {color[2], color[1], color[0]};
    }
    if (bytes_per_pixel_ == 1) return {*p, *p, *p};
    return bmp_ ? Rgb{p[2], p[1], p[0]} : Rgb{p[0], p[1], p[2]};
  }

 private:
  int64_t little(size_t at, int bytes) const {
    uint32_t v = 0;
    for (int i = 0; i < bytes; ++i)
      v |= static_cast<uint32_t>(bytes_[at + static_cast<size_t>(i)]) << 8 * i;
    return bytes == 4 ? static_cast<int32_t>(v) : static_cast<int64_t>(v);
  }

  const char* open_bmp() {
    if (bytes_.size() < 54) return "ends too early";
    bmp_ = true;
    first_ = little(10, 4);
    width = little(18, 4);
    height = little(22, 4);
    bottom_up_ = height > 0;
    if (height < 0) height = -height;
    const int64_t bits = little(28, 2), compression = little(30, 4);
    if (compression != 0 || (bits != 8 && bits != 24 && bits != 32)) return "is a packed BMP";
    bytes_per_pixel_ = bits / 8;
    if (bits == 8) {
      palette_ = 14 + little(14, 4);
      if (palette_ < 54 || palette_ + 1024 > static_cast<int64_t>(bytes_.size()))
        return "has no whole palette";
    }
    stride_ = (width * bytes_per_pixel_ + 3) / 4 * 4;
    return check();
  }

  /// The next number of the header, behind white space and comments.
  int64_t number(size_t& at) const {
    while (at < bytes_.size() && (bytes_[at] <= ' ' || bytes_[at] == '#'))
      if (bytes_[at++] == '#')
        while (at < bytes_.size() && bytes_[at] != '\n') ++at;
    int64_t v = 0;
    const size_t start = at;
    for (; at < bytes_.size() && bytes_[at] >= '0' && bytes_[at] <= '9' && v < 1 << 24; ++at)
      v = 10 * v + bytes_[at] - '0';
    return at == start ? -1 : v;
  }

  const char* open_pnm() {
    size_t at = 2;
    width = number(at);
    height = number(at);
    if (number(at) != 255) return "has samples of more than a byte";
    first_ = static_cast<int64_t>(at) + 1;
    bytes_per_pixel_ = bytes_[1] == '6' ? 3 : 1;
    stride_ = width * bytes_per_pixel_;
    return check();
  }

  const char* check() const {
    constexpr int64_t kMost = 1 << 20;
    if (width <= 0 || height <= 0 || width > kMost || height > kMost) return "has no sound size";
    if (first_ < 0 || first_ + stride_ * height > static_cast<int64_t>(bytes_.size()))
      return "ends too early";
    return nullptr;
  }

  std::span<const uint8_t> bytes_;
  bool bmp_ = false, bottom_up_ = false;
  int64_t first_ = 0, stride_ = 0, bytes_per_pixel_ = 0, palette_ = 0;
};

tw_status decode(HostCall& call) {
  if (!call.need_array(0)) return call.status();
  if (call.input_type(0).elem != ElemType::U8 || !call.has_output(0) ||
      call.output_type(0).elem != ElemType::U8)
    return call.fail("an image is bytes, in and out");
  Image image(call.array(0).as<uint8_t>());
  if (const char* problem = image.open())
    return call.fail("the image %s; BMP, PGM and PPM can be read: decode others before the model",
                     problem);
  const auto channels = static_cast<Channels>(call.attribute("channels", int64_t{0}));
  const int64_t count = channels == Channels::Gray ? 1 : 3;
  const int64_t dims[3] = {image.height, image.width, count};
  auto* out = static_cast<uint8_t*>(call.output(0, dims));
  if (out == nullptr) return call.status();
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x, out += count) {
      const Rgb c = image.at(y, x);
      if (channels == Channels::Gray) {
        // ITU-R 601-2, in 16-bit fixed point.
        out[0] = static_cast<uint8_t>((c.r * 19595 + c.g * 38470 + c.b * 7471 + 0x8000) >> 16);
      } else {
        out[0] = channels == Channels::Rgb ? c.r : c.b;
        out[1] = c.g;
        out[2] = channels == Channels::Rgb ? c.b : c.r;
      }
    }
  return TW_OK;
}

}  // namespace

std::span<const HostOp> image_ops() {
  static constexpr HostOp ops[] = {{"image_decode", decode}};
  return ops;
}

}  // namespace tilewright::runtime
