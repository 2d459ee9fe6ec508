// SPDX-License-Identifier: Apache-2.0
// Image files for tests, written by the libraries that also read them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::images {

using Bytes = std::vector<uint8_t>;

/// Samples of an image, row by row; each is 8 bits wide, or 16 in two bytes, the high one first.
struct Picture {
  int height = 0, width = 0, channels = 3, bits = 8;
  Bytes samples = {};

  uint8_t at(int y, int x, int c) const {
    return samples[static_cast<size_t>(((y * width + x) * channels + c) * bits / 8)];
  }
};

/// A picture of these values: the high byte of sample (y, x, c); the low byte is 0x5A.
Picture picture(int height, int width, int channels, int bits,
                const std::function<int(int y, int x, int c)>& value);
/// Colours that change slowly.
Picture gradient(int height = 21, int width = 34, int channels = 3, int bits = 8);
/// Every sample by itself.
Picture noise(int height = 21, int width = 34, int channels = 3, int bits = 8);

struct JpegOptions {
  bool progressive = false, halved_colours = false;
  int quality = 100;
};
/// Grey, RGB or (four channels) CMYK as it is stored.
Bytes jpeg(const Picture& p, const JpegOptions& options = {});

/// Two and four channels have transparency.
Bytes png(const Picture& p, bool interlaced = false);
/// The samples are indices of so many bits, the palette three bytes for each of them.
Bytes png_of_palette(const Picture& indices, const Bytes& palette, int bits, bool transparent);
/// Grey of 1, 2 or 4 bits.
Bytes png_of_bits(const Picture& p, int bits);

struct TiffOptions {
  int compression = 1;  // none
  int photometric = 2;  // RGB
  int rows_per_strip = 8;
  int tile = 0;
  bool planes = false, big_endian = false, big = false;
  int orientation = 1;
  Bytes palette = {};  // three bytes for each of 256
};
/// All pages have the same options. Alpha is not associated with the colours.
Bytes tiff(const std::vector<Picture>& pages, const TiffOptions& options = {});

Bytes webp(const Picture& p, bool lossless = true);
/// One frame on a canvas.
Bytes webp_animation(const Picture& frame, int y, int x, int height, int width);

struct Jpeg2000Options {
  bool boxes = true, halved_colours = false, is_signed = false;
  int bits = 8, tile = 0;
  int colours = 1;  // OPJ_CLRSPC_SRGB
};
Bytes jpeg2000(const Picture& p, const Jpeg2000Options& options = {});

/// One of each kind, with its name: what damage is done to.
std::vector<std::pair<std::string, Bytes>> all_samples();

}  // namespace tilewright::images
