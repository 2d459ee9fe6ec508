// SPDX-License-Identifier: Apache-2.0
// TIFF, by libtiff: the first image of the file.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tiffio.h>

#include "images/result.h"

namespace tilewright::images {
namespace {

/// The file, as libtiff reads it.
struct File {
  Result& result;
  std::span<const uint8_t> bytes;
  uint64_t at = 0;
  char why[200] = "the TIFF is damaged";  // the last error, which need not be one that matters

  void fail() const { result.damaged(why); }
};

tmsize_t read(thandle_t handle, void* to, tmsize_t count) {
  File& file = *static_cast<File*>(handle);
  if (count <= 0 || file.at >= file.bytes.size()) return 0;
  const size_t n = std::min(static_cast<size_t>(count), file.bytes.size() - file.at);
  std::memcpy(to, file.bytes.data() + file.at, n);
  file.at += n;
  return static_cast<tmsize_t>(n);
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  File& file = *static_cast<File*>(handle);
  if (whence == SEEK_CUR) offset += file.at;
  if (whence == SEEK_END) offset += file.bytes.size();
  return file.at = offset;
}

/// The bytes need not be copied. (And tiles that are no multiple of 1024 bytes are refused by
/// libtiff 4.5 where it copies.)
int map(thandle_t handle, void** base, toff_t* size) {
  const std::span<const uint8_t> bytes = static_cast<File*>(handle)->bytes;
  *base = const_cast<uint8_t*>(bytes.data());
  *size = bytes.size();
  return 1;
}

/// Keeps libtiff from printing it.
int on_error(TIFF*, void* user, const char*, const char* format, va_list args) {
  File& file = *static_cast<File*>(user);
  std::vsnprintf(file.why, sizeof file.why, format, args);
  return 1;
}

int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

TIFF* open(File& file) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, 4 * kMostPixels);
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &file);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, nullptr);
  TIFF* tiff = TIFFClientOpenExt(
      "image", "r", &file, read, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; }, seek,
      [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return static_cast<File*>(handle)->bytes.size(); }, map,
      [](thandle_t, void*, toff_t) {}, options);
  TIFFOpenOptionsFree(options);
  return tiff;
}

/// What is common; the rest of what libtiff knows is rare, and its code seldom read.
bool reads(uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
    case COMPRESSION_LZW:
    case COMPRESSION_JPEG:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_LZMA:
    case COMPRESSION_ZSTD:
    case COMPRESSION_WEBP: return TIFFIsCODECConfigured(compression) != 0;
    default: return false;
  }
}

/// Colours are taken as they are, not darkened where they are transparent.
void forget_transparency(TIFF* tiff) {
  uint16_t count = 0;
  const uint16_t* kinds = nullptr;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds);
  if (count == 0 || kinds[0] != EXTRASAMPLE_UNASSALPHA) return;
  uint16_t unspecified[16] = {EXTRASAMPLE_UNSPECIFIED};
  if (count <= std::size(unspecified))
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<int>(count), unspecified);
}

/// Strip by strip, or by rows of tiles.
void read_pixels(const File& file, TIFF* tiff, TIFFRGBAImage& image) {
  Result& result = file.result;
  const int64_t height = result.height(), width = result.width();
  uint32_t step = 0, tile_width = 0;
  uint16_t samples = 0;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  if (TIFFIsTiled(tiff) != 0) {
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &step);
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tile_width);
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &step);
  }
  // Where a tile is wider than what is left of the image, libtiff errs in the rows of grey with
  // transparency: whole tiles are asked for.
  int64_t stride = width;
  if (samples == 2 && tile_width != 0) stride = (width + tile_width - 1) / tile_width * tile_width;
  image.width = static_cast<uint32_t>(stride);
  const int64_t rows = std::clamp<int64_t>(step, 1, height);
  Scratch memory(result, 4 * stride * rows);
  if (!memory) return;
  auto* raster = reinterpret_cast<uint32_t*>(memory.data());
  for (int64_t y = 0; y < height; y += rows) {
    const int64_t n = std::min(rows, height - y);
    image.row_offset = static_cast<int>(y);
    if (TIFFRGBAImageGet(&image, raster, static_cast<uint32_t>(stride), static_cast<uint32_t>(n)) ==
        0)
      return file.fail();
    for (int64_t i = 0; i < n; ++i) {
      uint8_t* row = memory.data() + 4 * stride * i;
      for (int64_t x = 0; x < width; ++x) {  // R, G and B in this order
        const uint32_t pixel = raster[stride * i + x];
        row[4 * x] = static_cast<uint8_t>(TIFFGetR(pixel));
        row[4 * x + 1] = static_cast<uint8_t>(TIFFGetG(pixel));
        row[4 * x + 2] = static_cast<uint8_t>(TIFFGetB(pixel));
      }
      result.put_rgb(y + i, 0, row, width, 4);
    }
  }
}

void decode(const File& file, TIFF* tiff) {
  Result& result = file.result;
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  if (!reads(compression)) {
    result.fail(TW_BAD_INPUT, "the TIFF has compression %u, which the decoder does not know",
                unsigned{compression});
    return;
  }
  uint32_t height = 0, width = 0;
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  if (!result.open(height, width)) return;
  // A tile may be larger than the image, and then libtiff takes memory for it.
  const uint64_t piece = TIFFIsTiled(tiff) != 0 ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
  const uint64_t most = (uint64_t{64} << 20) + 16 * uint64_t{height} * width;
  if (piece == 0 || piece > most) {
    result.damaged("the TIFF has tiles or strips of no sound size");
    return;
  }
  forget_transparency(tiff);
  TIFFRGBAImage image;
  char why[1024] = "the TIFF is damaged";
  if (TIFFRGBAImageOK(tiff, why) == 0 || TIFFRGBAImageBegin(&image, tiff, 1, why) == 0) {
    result.fail(TW_BAD_INPUT, "the TIFF cannot be read: %s", why);
    return;
  }
  image.req_orientation = image.orientation;  // rows as they are stored
  read_pixels(file, tiff, image);
  TIFFRGBAImageEnd(&image);
}

}  // namespace

tw_status decode_tiff(Result& result) {
  File file{.result = result, .bytes = result.bytes()};
  TIFF* tiff = open(file);
  if (tiff == nullptr) {
    file.fail();
  } else {
    decode(file, tiff);
    TIFFClose(tiff);
  }
  return result.status();
}

}  // namespace tilewright::images
