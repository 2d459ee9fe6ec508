// SPDX-License-Identifier: Apache-2.0
#include "images/samples.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jpeglib.h>
#include <png.h>
#include <random>
#include <tiffio.h>
#include <webp/encode.h>

namespace tilewright::images {

Picture picture(int height, int width, int channels, int bits,
                const std::function<int(int y, int x, int c)>& value) {
  Picture p{.height = height, .width = width, .channels = channels, .bits = bits};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) {
        p.samples.push_back(static_cast<uint8_t>(value(y, x, c)));
        if (bits == 16) p.samples.push_back(0x5A);
      }
  return p;
}

Picture gradient(int height, int width, int channels, int bits) {
  return picture(height, width, channels, bits, [](int y, int x, int c) {
    return 40 + 3 * x + (c % 2 != 0 ? 4 * y : -y) + 20 * c;
  });
}

Picture noise(int height, int width, int channels, int bits) {
  std::mt19937 random(7);
  return picture(height, width, channels, bits,
                 [&](int, int, int) { return static_cast<int>(random() & 255u); });
}

Bytes jpeg(const Picture& p, const JpegOptions& options) {
  jpeg_compress_struct state;
  jpeg_error_mgr errors;
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &memory, &size);
  state.image_height = static_cast<JDIMENSION>(p.height);
  state.image_width = static_cast<JDIMENSION>(p.width);
  state.input_components = p.channels;
  state.in_color_space = p.channels == 1 ? JCS_GRAYSCALE : p.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&state);
  if (!options.halved_colours)
    state.comp_info[0].h_samp_factor = state.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&state, TRUE);
  for (int y = 0; y < p.height; ++y) {
    auto* row = const_cast<uint8_t*>(p.samples.data()) + y * p.width * p.channels;
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  Bytes out(memory, memory + size);
  jpeg_destroy_compress(&state);
  std::free(memory);
  return out;
}

namespace {

struct PngWriter {
  PngWriter() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    info = png_create_info_struct(png);
    png_set_write_fn(
        png, &out,
        [](png_structp p, png_bytep data, size_t n) {
          auto& to = *static_cast<Bytes*>(png_get_io_ptr(p));
          to.insert(to.end(), data, data + n);
        },
        nullptr);
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }

  void header(const Picture& p, int bits, int color, bool interlaced) {
    png_set_IHDR(png, info, static_cast<png_uint_32>(p.width), static_cast<png_uint_32>(p.height),
                 bits, color, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
  }
  Bytes rows(const Picture& p) {
    png_write_info(png, info);
    png_set_packing(png);
    std::vector<png_bytep> rows;
    for (int y = 0; y < p.height; ++y)
      rows.push_back(const_cast<uint8_t*>(p.samples.data()) +
                     y * p.width * p.channels * p.bits / 8);
    png_write_image(png, rows.data());
    png_write_end(png, info);
    return out;
  }

  png_structp png;
  png_infop info;
  Bytes out;
};

}  // namespace

Bytes png(const Picture& p, bool interlaced) {
  constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
  PngWriter w;
  w.header(p, p.bits, kColors[p.channels - 1], interlaced);
  return w.rows(p);
}

Bytes png_of_palette(const Picture& indices, const Bytes& palette, int bits, bool transparent) {
  PngWriter w;
  w.header(indices, bits, PNG_COLOR_TYPE_PALETTE, false);
  std::vector<png_color> colors;
  for (size_t i = 0; i + 2 < palette.size(); i += 3)
    colors.push_back({palette[i], palette[i + 1], palette[i + 2]});
  png_set_PLTE(w.png, w.info, colors.data(), static_cast<int>(colors.size()));
  const uint8_t alpha[] = {0, 128};
  if (transparent) png_set_tRNS(w.png, w.info, alpha, 2, nullptr);
  return w.rows(indices);
}

Bytes png_of_bits(const Picture& p, int bits) {
  PngWriter w;
  w.header(p, bits, PNG_COLOR_TYPE_GRAY, false);
  return w.rows(p);
}

namespace {

/// A file in memory, as libtiff writes and reads it.
struct TiffFile {
  Bytes bytes;
  size_t at = 0;
};

tmsize_t tiff_read(thandle_t handle, void* to, tmsize_t count) {
  auto& f = *static_cast<TiffFile*>(handle);
  const size_t n =
      std::min(static_cast<size_t>(count), f.bytes.size() - std::min(f.at, f.bytes.size()));
  std::memcpy(to, f.bytes.data() + f.at, n);
  f.at += n;
  return static_cast<tmsize_t>(n);
}

tmsize_t tiff_write(thandle_t handle, void* from, tmsize_t count) {
  auto& f = *static_cast<TiffFile*>(handle);
  const auto n = static_cast<size_t>(count);
  f.bytes.resize(std::max(f.bytes.size(), f.at + n));
  std::memcpy(f.bytes.data() + f.at, from, n);
  f.at += n;
  return count;
}

toff_t tiff_seek(thandle_t handle, toff_t offset, int whence) {
  auto& f = *static_cast<TiffFile*>(handle);
  return f.at = offset + (whence == SEEK_CUR ? f.at : whence == SEEK_END ? f.bytes.size() : 0);
}

void tiff_fields(TIFF* t, const Picture& p, const TiffOptions& o) {
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, p.width);
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, p.height);
  TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, p.channels);
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, o.compression == COMPRESSION_CCITTFAX4 ? 1 : p.bits);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, o.photometric);
  TIFFSetField(t, TIFFTAG_PLANARCONFIG, o.planes ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  TIFFSetField(t, TIFFTAG_COMPRESSION, o.compression);
  TIFFSetField(t, TIFFTAG_ORIENTATION, o.orientation);
  const bool alpha = p.channels == 2 || (p.channels == 4 && o.photometric == PHOTOMETRIC_RGB);
  const uint16_t kind = EXTRASAMPLE_UNASSALPHA;
  if (alpha) TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &kind);
  if (!o.palette.empty()) {
    std::vector<uint16_t> map[3];
    for (size_t i = 0; i < o.palette.size(); ++i)
      map[i % 3].push_back(static_cast<uint16_t>(o.palette[i] * 257));
    TIFFSetField(t, TIFFTAG_COLORMAP, map[0].data(), map[1].data(), map[2].data());
  }
  if (o.tile != 0) {
    TIFFSetField(t, TIFFTAG_TILEWIDTH, o.tile);
    TIFFSetField(t, TIFFTAG_TILELENGTH, o.tile);
  } else {
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, o.rows_per_strip);
  }
}

/// What libtiff takes: samples of 16 bits as the machine has them, one bit a pixel packed.
Bytes tiff_samples(const Picture& p, const TiffOptions& o, int y, int x, int count, int channel) {
  Bytes out;
  const int first = o.planes ? channel : 0, last = o.planes ? channel + 1 : p.channels;
  for (int i = x; i < x + count; ++i)
    for (int c = first; c < last; ++c) {
      const bool inside = y < p.height && i < p.width;
      const uint8_t v = inside ? p.at(y, i, c) : 0;
      if (p.bits == 16) out.push_back(0x5A);
      out.push_back(v);
    }
  if (o.compression != COMPRESSION_CCITTFAX4) return out;
  Bytes packed((out.size() + 7) / 8);
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] != 0) packed[i / 8] = static_cast<uint8_t>(packed[i / 8] | 0x80u >> i % 8);
  return packed;
}

void tiff_pixels(TIFF* t, const Picture& p, const TiffOptions& o) {
  const int planes = o.planes ? p.channels : 1;
  for (int c = 0; c < planes; ++c) {
    if (o.tile == 0) {
      for (int y = 0; y < p.height; ++y) {
        Bytes row = tiff_samples(p, o, y, 0, p.width, c);
        TIFFWriteScanline(t, row.data(), static_cast<uint32_t>(y), static_cast<uint16_t>(c));
      }
      continue;
    }
    for (int y = 0; y < p.height; y += o.tile)
      for (int x = 0; x < p.width; x += o.tile) {
        Bytes tile;
        for (int i = 0; i < o.tile; ++i) {
          const Bytes row = tiff_samples(p, o, y + i, x, o.tile, c);
          tile.insert(tile.end(), row.begin(), row.end());
        }
        TIFFWriteTile(t, tile.data(), static_cast<uint32_t>(x), static_cast<uint32_t>(y), 0,
                      static_cast<uint16_t>(c));
      }
  }
}

}  // namespace

Bytes tiff(const std::vector<Picture>& pages, const TiffOptions& o) {
  TiffFile file;
  const std::string mode = std::string("w") + (o.big ? "8" : "") + (o.big_endian ? "b" : "l");
  TIFF* t = TIFFClientOpen(
      "sample", mode.c_str(), &file, tiff_read, tiff_write, tiff_seek, [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return static_cast<TiffFile*>(handle)->bytes.size(); },
      nullptr, nullptr);
  for (const Picture& p : pages) {
    tiff_fields(t, p, o);
    tiff_pixels(t, p, o);
    TIFFWriteDirectory(t);
  }
  TIFFClose(t);
  return file.bytes;
}

Bytes webp(const Picture& p, bool lossless) {
  uint8_t* memory = nullptr;
  const int stride = p.width * p.channels;
  const uint8_t* from = p.samples.data();
  size_t size = 0;
  if (p.channels == 4)
    size = lossless ? WebPEncodeLosslessRGBA(from, p.width, p.height, stride, &memory)
                    : WebPEncodeRGBA(from, p.width, p.height, stride, 100, &memory);
  else
    size = lossless ? WebPEncodeLosslessRGB(from, p.width, p.height, stride, &memory)
                    : WebPEncodeRGB(from, p.width, p.height, stride, 100, &memory);
  Bytes out(memory, memory + size);
  WebPFree(memory);
  return out;
}

namespace {

void add_little(Bytes& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<uint8_t>(value >> 8 * i));
}

Bytes chunk(const char* name, const Bytes& content) {
  Bytes out(name, name + 4);
  add_little(out, content.size(), 4);
  out.insert(out.end(), content.begin(), content.end());
  if (content.size() % 2 != 0) out.push_back(0);
  return out;
}

}  // namespace

Bytes webp_animation(const Picture& frame, int y, int x, int height, int width) {
  const Bytes still = webp(frame);
  Bytes canvas;
  add_little(canvas, 2, 4);  // it is an animation
  add_little(canvas, static_cast<uint64_t>(width - 1), 3);
  add_little(canvas, static_cast<uint64_t>(height - 1), 3);
  Bytes shown;
  add_little(shown, static_cast<uint64_t>(x / 2), 3);
  add_little(shown, static_cast<uint64_t>(y / 2), 3);
  add_little(shown, static_cast<uint64_t>(frame.width - 1), 3);
  add_little(shown, static_cast<uint64_t>(frame.height - 1), 3);
  add_little(shown, 100, 4);                                   // milliseconds; no blending
  shown.insert(shown.end(), still.begin() + 12, still.end());  // its chunk
  Bytes body{'W', 'E', 'B', 'P'};
  for (const Bytes& part : {chunk("VP8X", canvas), chunk("ANIM", {255, 255, 255, 255, 0, 0}),
                            chunk("ANMF", shown), chunk("ANMF", shown)})
    body.insert(body.end(), part.begin(), part.end());
  return chunk("RIFF", body);
}

std::vector<std::pair<std::string, Bytes>> all_samples() {
  const Picture rgb = gradient(), gray = gradient(21, 34, 1), rgba = noise(9, 10, 4);
  Bytes palette;
  for (int i = 0; i < 256; ++i) palette.insert(palette.end(), {Bytes::value_type(i), 7, 9});
  Bytes few(palette.begin(), palette.begin() + 12);
  const Picture two_bits = picture(9, 10, 1, 8, [](int y, int x, int) { return (y + x) % 4; });
  return {
      {"jpeg", jpeg(rgb, {.halved_colours = true, .quality = 70})},
      {"jpeg progressive", jpeg(rgb, {.progressive = true, .quality = 70})},
      {"jpeg grey", jpeg(gray)},
      {"jpeg CMYK", jpeg(gradient(9, 10, 4))},
      {"png", png(rgb)},
      {"png interlaced", png(rgb, true)},
      {"png 16", png(gradient(9, 10, 3, 16))},
      {"png palette", png_of_palette(two_bits, few, 2, true)},
      {"tiff", tiff({rgb, gray})},
      {"tiff tiled", tiff({rgb}, {.compression = COMPRESSION_LZW, .tile = 16})},
      {"tiff deflate", tiff({rgb}, {.compression = COMPRESSION_ADOBE_DEFLATE, .planes = true})},
      {"tiff jpeg", tiff({rgb}, {.compression = COMPRESSION_JPEG})},
      {"tiff zstd", tiff({rgb}, {.compression = COMPRESSION_ZSTD, .big_endian = true})},
      {"tiff fax", tiff({two_bits}, {.compression = COMPRESSION_CCITTFAX4, .photometric = 0})},
      {"tiff palette", tiff({gray}, {.photometric = PHOTOMETRIC_PALETTE, .palette = palette})},
      {"tiff big", tiff({rgba}, {.compression = COMPRESSION_PACKBITS, .big = true})},
      {"webp", webp(rgb, false)},
      {"webp lossless", webp(rgba)},
      {"webp animation", webp_animation(rgb, 2, 4, 30, 50)},
      {"jp2", jpeg2000(rgb)},
      {"j2k", jpeg2000(gray, {.boxes = false, .tile = 16, .colours = 2})},
  };
}

}  // namespace tilewright::images
