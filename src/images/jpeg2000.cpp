// SPDX-License-Identifier: Apache-2.0
// JPEG 2000, by OpenJPEG: a codestream, or one in the boxes of a JP2 file.
#include <algorithm>
#include <cstring>
#include <openjpeg.h>

#include "images/result.h"

namespace tilewright::images {
namespace {

using Bytes = std::span<const uint8_t>;

uint64_t big_endian(Bytes bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
  return value;
}

constexpr uint64_t type_of_box(const char (&name)[5]) {
  uint64_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<uint8_t>(name[i]);
  return type;
}

/// Takes the first box away from `bytes`; false when there is no whole one. The codestream's may be
/// as long as it likes.
bool take_box(Bytes& bytes, uint64_t& type, Bytes& content) {
  if (bytes.size() < 8) return false;
  uint64_t length = big_endian(bytes, 0, 4), head = 8;
  type = big_endian(bytes, 4, 4);
  if (length == 1) {
    if (bytes.size() < 16) return false;
    length = big_endian(bytes, 8, 8);
    head = 16;
  }
  if (type == type_of_box("jp2c")) length = bytes.size();
  if (length < head || length > bytes.size()) return false;
  content = bytes.subspan(head, length - head);
  bytes = bytes.subspan(length);
  return true;
}

/// The codestream behind the boxes of a JP2 file; empty when there is none, or when a palette would
/// make more than four components of one.
Bytes codestream_of(Bytes boxes) {
  Bytes content;
  for (uint64_t type = 0; take_box(boxes, type, content);) {
    if (type == type_of_box("jp2c")) return content;
    Bytes inner = type == type_of_box("jp2h") ? content : Bytes();
    do {
      if (type == type_of_box("pclr") && (content.size() < 3 || content[2] > 4)) return {};
    } while (take_box(inner, type, content));
  }
  return {};
}

/// What a codestream begins with says how much memory OpenJPEG takes to read the rest of its
/// header: some kilobytes for each tile, and for each component of one.
bool has_sound_header(Result& result, Bytes codestream) {
  constexpr size_t kHead = 42;
  if (codestream.size() < kHead || big_endian(codestream, 0, 4) != 0xFF4FFF51) {
    result.damaged("the JPEG 2000 has a damaged header");
    return false;
  }
  const auto word = [&](size_t i) { return big_endian(codestream, 8 + 4 * i, 4); };
  const uint64_t right = word(0), bottom = word(1), left = word(2), top = word(3),
                 tile_width = word(4), tile_height = word(5), tile_left = word(6),
                 tile_top = word(7), components = big_endian(codestream, 40, 2);
  if (left >= right || top >= bottom || tile_width == 0 || tile_height == 0 || tile_left > left ||
      tile_top > top) {
    result.damaged("the JPEG 2000 has a damaged header");
    return false;
  }
  const uint64_t columns = (right - tile_left + tile_width - 1) / tile_width,
                 rows = (bottom - tile_top + tile_height - 1) / tile_height;
  const uint64_t pixels = (right - left) * (bottom - top);
  if (components < 1 || components > 4 || columns * rows > 1024 + pixels / 1024) {
    result.damaged("the JPEG 2000 has too many tiles, or not one to four components");
    return false;
  }
  return true;
}

struct File {
  Bytes bytes;
  size_t at = 0;
};

OPJ_SIZE_T read(void* to, OPJ_SIZE_T count, void* user) {
  File& file = *static_cast<File*>(user);
  const size_t n = std::min<size_t>(count, file.bytes.size() - file.at);
  if (n == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, file.bytes.data() + file.at, n);
  file.at += n;
  return n;
}

OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
  File& file = *static_cast<File*>(user);
  if (to < 0 || static_cast<uint64_t>(to) > file.bytes.size()) return OPJ_FALSE;
  file.at = static_cast<size_t>(to);
  return OPJ_TRUE;
}

OPJ_OFF_T skip(OPJ_OFF_T count, void* user) {
  const auto at = static_cast<OPJ_OFF_T>(static_cast<File*>(user)->at);
  return count >= 0 && seek(at + count, user) ? count : -1;
}

/// What OpenJPEG is asked with, given back whatever happens.
struct Decoder {
  Decoder(File& file, bool boxes)
      : codec(opj_create_decompress(boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K)),
        stream(opj_stream_create(1 << 16, OPJ_TRUE)) {
    if (stream == nullptr) return;
    opj_stream_set_user_data(stream, &file, nullptr);
    opj_stream_set_user_data_length(stream, file.bytes.size());
    opj_stream_set_read_function(stream, read);
    opj_stream_set_seek_function(stream, seek);
    opj_stream_set_skip_function(stream, skip);
  }
  ~Decoder() {
    if (image != nullptr) opj_image_destroy(image);
    if (stream != nullptr) opj_stream_destroy(stream);
    if (codec != nullptr) opj_destroy_codec(codec);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  opj_codec_t* codec;
  opj_stream_t* stream;
  opj_image_t* image = nullptr;
};

/// One component as 8-bit samples for every pixel of the image.
class Plane {
 public:
  static constexpr int64_t kStep = 4;
  Plane(const opj_image_t& image, uint32_t i)
      : part_(image.comps[i]), left_(image.x0), top_(image.y0) {}

  bool is_sound() const {
    return part_.data != nullptr && part_.w > 0 && part_.h > 0 && part_.dx > 0 && part_.dy > 0 &&
           part_.prec >= 1 && part_.prec <= 31;
  }
  /// Row y of the image, each sample `kStep` bytes behind the one before.
  void fill(int64_t y, uint8_t* to, int64_t width) const {
    const int64_t row = std::clamp<int64_t>((top_ + y) / part_.dy - part_.y0, 0, part_.h - 1);
    const OPJ_INT32* samples = part_.data + row * part_.w;
    const int bits = static_cast<int>(part_.prec);
    const int64_t offset = part_.sgnd != 0 ? int64_t{1} << (bits - 1) : 0,
                  most = (int64_t{1} << bits) - 1;
    for (int64_t x = 0; x < width; ++x) {
      const int64_t column = part_.dx == 1 ? left_ + x : (left_ + x) / part_.dx;
      const int64_t sample = samples[std::clamp<int64_t>(column - part_.x0, 0, part_.w - 1)];
      const int64_t v = std::clamp<int64_t>(sample + offset, 0, most);
      to[kStep * x] = static_cast<uint8_t>(bits >= 8 ? v >> (bits - 8) : v * 255 / most);
    }
  }

 private:
  const opj_image_comp_t& part_;
  int64_t left_, top_;
};

uint8_t to_byte(int sixteenth_bits) {
  return static_cast<uint8_t>(std::clamp(sixteenth_bits >> 16, 0, 255));
}

/// Y, Cb, Cr to R, G, B as JFIF has it, in 16-bit fixed point.
void from_ycc(uint8_t* p) {
  const int y = p[0] * 65536 + 32768, b = p[1] - 128, r = p[2] - 128;
  p[0] = to_byte(y + 91881 * r);
  p[1] = to_byte(y - 22554 * b - 46802 * r);
  p[2] = to_byte(y + 116130 * b);
}

void from_cmyk(uint8_t* p) {
  for (int c = 0; c < 3; ++c) p[c] = scaled(255 - p[c], 255 - p[3]);
}

void put_pixels(Result& result, const opj_image_t& image) {
  // One or two components are grey, the second how opaque it is; a fourth is that too, or black.
  const uint32_t count = image.numcomps < 3 ? 1 : std::min(image.numcomps, 4u);
  for (uint32_t i = 0; i < count; ++i)
    if (!Plane(image, i).is_sound()) {
      result.damaged("the JPEG 2000 has a damaged component");
      return;
    }
  const bool unnamed =
      image.color_space == OPJ_CLRSPC_UNSPECIFIED || image.color_space == OPJ_CLRSPC_UNKNOWN;
  const bool ycc = count >= 3 && (image.color_space == OPJ_CLRSPC_SYCC ||
                                  (unnamed && image.comps[0].dx == 1 && image.comps[1].dx > 1));
  const bool cmyk = count == 4 && image.color_space == OPJ_CLRSPC_CMYK;
  const int64_t width = result.width();
  Scratch memory(result, Plane::kStep * width);
  if (!memory) return;
  for (int64_t y = 0; y < result.height(); ++y) {
    uint8_t* row = memory.data();
    for (uint32_t i = 0; i < count; ++i) Plane(image, i).fill(y, row + i, width);
    for (uint8_t* p = row; p != row + Plane::kStep * width; p += Plane::kStep) {
      if (count == 1) p[1] = p[2] = p[0];
      if (ycc) from_ycc(p);
      if (cmyk) from_cmyk(p);
    }
    result.put_rgb(y, 0, row, width, Plane::kStep);
  }
}

}  // namespace

tw_status decode_jpeg2000(Result& result) {
  File file{.bytes = result.bytes()};
  const bool boxes = file.bytes[0] == 0;
  const Bytes codestream = boxes ? codestream_of(file.bytes) : file.bytes;
  if (!has_sound_header(result, codestream)) return result.status();
  Decoder decoder(file, boxes);
  if (decoder.codec == nullptr || decoder.stream == nullptr) return result.no_memory();
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_setup_decoder(decoder.codec, &parameters);
  opj_decoder_set_strict_mode(decoder.codec, OPJ_TRUE);  // less than the whole is damage
  if (opj_read_header(decoder.stream, decoder.codec, &decoder.image) == OPJ_FALSE)
    return result.damaged("the JPEG 2000 has a damaged header");
  const opj_image_t& image = *decoder.image;
  if (image.numcomps < 1 || image.x1 <= image.x0 || image.y1 <= image.y0)
    return result.damaged("the JPEG 2000 has no pixels");
  if (!result.open(int64_t{image.y1} - image.y0, int64_t{image.x1} - image.x0))
    return result.status();
  if (opj_decode(decoder.codec, decoder.stream, decoder.image) == OPJ_FALSE)
    return result.damaged("the JPEG 2000 is damaged or ends too early");
  put_pixels(result, image);
  return result.status();
}

}  // namespace tilewright::images
