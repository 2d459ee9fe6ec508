// SPDX-License-Identifier: Apache-2.0
// The one function of the plug-in: which format it is, and who decodes it.
#include <cstring>

#include "images/result.h"

namespace tilewright::images {
namespace {

struct Format {
  const char* start;
  size_t bytes;
  tw_status (*decode)(Result& result);
};

template <size_t n>
constexpr Format format(const char (&start)[n], tw_status (*decode)(Result& result)) {
  return {start, n - 1, decode};
}

// What a file of a format begins with.
constexpr Format kFormats[] = {
    format("\xFF\xD8\xFF", decode_jpeg),
    format("\x89PNG\r\n\x1A\n", decode_png),
    format("II*\0", decode_tiff),
    format("MM\0*", decode_tiff),
    format("II+\0", decode_tiff),
    format("MM\0+", decode_tiff),
    format("RIFF", decode_webp),
    format("\0\0\0\x0CjP  \r\n\x87\n", decode_jpeg2000),
    format("\xFF\x4F\xFF\x51", decode_jpeg2000),
};

tw_status decode(Result& result) {
  const std::span<const uint8_t> bytes = result.bytes();
  for (const Format& f : kFormats)
    if (bytes.size() >= f.bytes && std::memcmp(bytes.data(), f.start, f.bytes) == 0)
      return f.decode(result);
  return result.damaged("the bytes are no JPEG, PNG, TIFF, WebP or JPEG 2000");
}

}  // namespace
}  // namespace tilewright::images

extern "C" tw_status tw_decode_image(tw_image* image) {
  using tilewright::images::Result;
  Result result(*image);
  if (image->version != TW_IMAGE_VERSION)
    return result.fail(TW_UNSUPPORTED,
                       "the image decoder and the runtime are of different versions: take both "
                       "from the same release");
  image->message[0] = 0;
  return tilewright::images::decode(result);
}
