// SPDX-License-Identifier: Apache-2.0
// JPEG, by libjpeg-turbo. Its errors come back by longjmp, over plain frames only: everything that
// is to be cleaned up belongs to decode_jpeg.
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <jerror.h>
#include <jpeglib.h>

#include "images/result.h"

namespace tilewright::images {
namespace {

struct Jpeg {
  explicit Jpeg(Result& to) : result(to) {}

  Result& result;
  uint8_t* row = nullptr;
  bool may_end = false;  // without the marker that says so: there is nothing left but the last scan
  bool ended = false;
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
};

Jpeg& jpeg_of(void* state) {
  return *static_cast<Jpeg*>(static_cast<jpeg_common_struct*>(state)->client_data);
}

[[noreturn]] void give_up(Jpeg& jpeg, const char* why) {
  jpeg.result.damaged(why);
  std::longjmp(jpeg.back, 1);
}

[[noreturn]] void on_error(j_common_ptr state) {
  Jpeg& jpeg = jpeg_of(state);
  if (state->err->msg_code == JERR_OUT_OF_MEMORY) jpeg.result.no_memory();
  char text[JMSG_LENGTH_MAX];
  state->err->format_message(state, text);
  give_up(jpeg, text);
}

/// A warning, if the level is below 0. Behind the end of the bytes it says that pixels are missing.
void on_message(j_common_ptr state, int level) {
  if (level < 0 && jpeg_of(state).ended) give_up(jpeg_of(state), "the JPEG ends too early");
}

/// Many scans of a large image take long, and a scan takes but a few bytes.
void on_progress(j_common_ptr state) {
  constexpr int kMostScans = 500;
  if (jpeg_of(state).state.input_scan_number > kMostScans)
    give_up(jpeg_of(state), "the JPEG has more than 500 scans");
}

boolean on_end_of_bytes(j_decompress_ptr state) {
  static constexpr JOCTET kEnd[] = {0xFF, JPEG_EOI};
  Jpeg& jpeg = jpeg_of(state);
  if (!jpeg.may_end) give_up(jpeg, "the JPEG ends too early");
  jpeg.ended = true;
  jpeg.source.next_input_byte = kEnd;
  jpeg.source.bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void skip(j_decompress_ptr state, long bytes) {
  jpeg_source_mgr& source = jpeg_of(state).source;
  const size_t skipped =
      bytes < 0 ? 0 : std::min(static_cast<size_t>(bytes), source.bytes_in_buffer);
  source.next_input_byte += skipped;
  source.bytes_in_buffer -= skipped;
}

/// Nothing in here has a destructor.
void read(Jpeg& jpeg) {
  jpeg_decompress_struct& state = jpeg.state;
  jpeg_create_decompress(&state);  // keeps only `err` and `client_data`
  state.src = &jpeg.source;
  state.progress = &jpeg.progress;
  jpeg_read_header(&state, TRUE);
  switch (state.jpeg_color_space) {
    case JCS_GRAYSCALE: state.out_color_space = JCS_GRAYSCALE; break;
    case JCS_RGB:
    case JCS_YCbCr: state.out_color_space = JCS_RGB; break;
    case JCS_CMYK:
    case JCS_YCCK: state.out_color_space = JCS_CMYK; break;
    default: give_up(jpeg, "the JPEG has colours of an unknown kind");
  }
  jpeg.may_end = jpeg_has_multiple_scans(&state) == 0;
  Result& result = jpeg.result;
  if (!result.open(state.image_height, state.image_width)) return;
  jpeg_start_decompress(&state);
  const int64_t width = result.width();
  while (state.output_scanline < state.output_height) {
    const auto y = static_cast<int64_t>(state.output_scanline);
    if (jpeg_read_scanlines(&state, &jpeg.row, 1) != 1) return;
    if (state.out_color_space == JCS_GRAYSCALE) {
      result.put_gray(y, 0, jpeg.row, width);
      continue;
    }
    if (state.out_color_space == JCS_CMYK) {  // inverted, as Adobe writes them
      for (int64_t x = 0; x < width; ++x) {
        uint8_t* p = jpeg.row + 4 * x;
        for (int c = 0; c < 3; ++c) p[c] = scaled(p[c], p[3]);
      }
    }
    result.put_rgb(y, 0, jpeg.row, width, state.output_components);
  }
}

/// False: there was an error, and the result says which.
bool ran(Jpeg& jpeg) {
  if (setjmp(jpeg.back) != 0) return false;
  read(jpeg);
  return true;
}

}  // namespace

tw_status decode_jpeg(Result& result) {
  constexpr int64_t kWidest = 4 * JPEG_MAX_DIMENSION;
  Scratch row(result, kWidest);
  if (!row) return result.status();
  Jpeg jpeg(result);
  jpeg.row = row.data();
  jpeg.state.client_data = &jpeg;
  jpeg.state.err = jpeg_std_error(&jpeg.errors);
  jpeg.errors.error_exit = on_error;
  jpeg.errors.emit_message = on_message;
  jpeg.errors.output_message = [](j_common_ptr) {};
  jpeg.source.next_input_byte = result.bytes().data();
  jpeg.source.bytes_in_buffer = result.bytes().size();
  jpeg.source.init_source = [](j_decompress_ptr) {};
  jpeg.source.fill_input_buffer = on_end_of_bytes;
  jpeg.source.skip_input_data = skip;
  jpeg.source.resync_to_restart = jpeg_resync_to_restart;
  jpeg.source.term_source = [](j_decompress_ptr) {};
  jpeg.progress.progress_monitor = on_progress;
  ran(jpeg);
  jpeg_destroy_decompress(&jpeg.state);
  return result.status();
}

}  // namespace tilewright::images
