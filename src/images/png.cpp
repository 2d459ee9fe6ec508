// SPDX-License-Identifier: Apache-2.0
// PNG, by libpng. Its errors come back by longjmp, over plain frames only: everything that is to be
// cleaned up belongs to decode_png.
#include <csetjmp>
#include <cstring>
#include <png.h>

#include "images/result.h"

namespace tilewright::images {
namespace {

struct Png {
  Result& result;
  std::span<const uint8_t> left;
  png_structp png = nullptr;
  png_infop info = nullptr;
  int channels = 0;
  bool interlaced = false;
};

[[noreturn]] void on_error(png_structp png, png_const_charp why) {
  static_cast<Png*>(png_get_error_ptr(png))->result.damaged(why);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void take_bytes(png_structp png, png_bytep to, size_t count) {
  auto& left = static_cast<Png*>(png_get_io_ptr(png))->left;
  if (count > left.size()) png_error(png, "the PNG ends too early");
  std::memcpy(to, left.data(), count);
  left = left.subspan(count);
}

void read_header(Png& p) {
  // No look at what stands beside the pixels, such as colour profiles and texts.
  png_set_keep_unknown_chunks(p.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_user_limits(p.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // Result has a limit of its own
  png_set_read_fn(p.png, &p, take_bytes);
  png_read_info(p.png, p.info);
}

/// Rows will be 8-bit samples, grey or RGB; transparency is left out.
void choose_samples(Png& p) {
  const int color = png_get_color_type(p.png, p.info), bits = png_get_bit_depth(p.png, p.info);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(p.png);
  if (color == PNG_COLOR_TYPE_GRAY && bits < 8) png_set_expand_gray_1_2_4_to_8(p.png);
  if (bits == 16) png_set_strip_16(p.png);
  png_set_strip_alpha(p.png);
  p.interlaced = png_set_interlace_handling(p.png) > 1;
  png_read_update_info(p.png, p.info);
  p.channels = png_get_channels(p.png, p.info);
  const auto row = static_cast<size_t>(p.result.width() * p.channels);
  if ((p.channels != 1 && p.channels != 3) || png_get_rowbytes(p.png, p.info) != row)
    png_error(p.png, "the PNG has samples of an unknown kind");
}

void put(Png& p, int64_t y, const uint8_t* row) {
  if (p.channels == 1)
    p.result.put_gray(y, 0, row, p.result.width());
  else
    p.result.put_rgb(y, 0, row, p.result.width());
}

/// Of an interlaced image `memory` holds all rows, since each pass adds to them; of others one.
void read_rows(Png& p, uint8_t* memory) {
  const int64_t row = p.result.width() * p.channels, height = p.result.height();
  if (!p.interlaced) {
    for (int64_t y = 0; y < height; ++y) {
      png_read_row(p.png, memory, nullptr);
      put(p, y, memory);
    }
    return;
  }
  for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass)
    for (int64_t y = 0; y < height; ++y) png_read_row(p.png, memory + y * row, nullptr);
  for (int64_t y = 0; y < height; ++y) put(p, y, memory + y * row);
}

/// Did `step` end without an error?
template <class Step, class... Args>
bool ran(Step step, Png& p, Args... args) {
  if (setjmp(png_jmpbuf(p.png)) != 0) return false;
  step(p, args...);
  return true;
}

void decode(Png& p) {
  Result& result = p.result;
  if (!ran(read_header, p)) return;
  if (!result.open(png_get_image_height(p.png, p.info), png_get_image_width(p.png, p.info))) return;
  if (!ran(choose_samples, p)) return;
  const int64_t row = result.width() * p.channels;
  Scratch memory(result, p.interlaced ? row * result.height() : row);
  if (memory) ran(read_rows, p, memory.data());
}

}  // namespace

tw_status decode_png(Result& result) {
  Png p{.result = result, .left = result.bytes()};
  p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, on_error, on_warning);
  if (p.png == nullptr) return result.no_memory();
  p.info = png_create_info_struct(p.png);
  if (p.info == nullptr)
    result.no_memory();
  else
    decode(p);
  png_destroy_read_struct(&p.png, &p.info, nullptr);
  return result.status();
}

}  // namespace tilewright::images
