// SPDX-License-Identifier: Apache-2.0
// WebP, by libwebp. Of an animation the first frame, on a black canvas.
#include <cstring>
#include <webp/decode.h>
#include <webp/demux.h>

#include "images/result.h"

namespace tilewright::images {
namespace {

/// A frame with its upper left corner at (y, x) of the result, inside of which it lies.
tw_status decode_frame(Result& result, std::span<const uint8_t> bytes, int64_t y, int64_t x,
                       int64_t height, int64_t width) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0)
    return result.fail(TW_UNSUPPORTED, "libwebp is of another version than the decoder");
  const bool direct = !result.gray();
  Scratch rgb(result, direct ? 1 : 3 * height * width);
  if (!rgb) return result.status();
  const int64_t stride = 3 * (direct ? result.width() : width);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = direct ? result.row(y) + 3 * x : rgb.data();
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = static_cast<size_t>(stride * (height - 1) + 3 * width);
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status == VP8_STATUS_OUT_OF_MEMORY) return result.no_memory();
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) return result.damaged("the WebP ends too early");
  if (status != VP8_STATUS_OK) return result.damaged("the WebP is damaged");
  for (int64_t i = 0; i < height && !direct; ++i)
    result.put_rgb(y + i, x, rgb.data() + i * stride, width);
  return TW_OK;
}

/// The first frame. The demuxer answers for its lying inside of the canvas.
tw_status decode_animation(Result& result, const WebPDemuxer* demuxer) {
  const int64_t height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT),
                width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
  WebPIterator frame;
  if (WebPDemuxGetFrame(demuxer, 1, &frame) == 0) return result.damaged("the WebP has no frame");
  WebPBitstreamFeatures features;
  const std::span<const uint8_t> bytes{frame.fragment.bytes, frame.fragment.size};
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK ||
      features.width != frame.width || features.height != frame.height || frame.x_offset < 0 ||
      frame.y_offset < 0 || frame.x_offset + frame.width > width ||
      frame.y_offset + frame.height > height) {
    result.damaged("the frame of the WebP is damaged");
  } else if (result.open(height, width)) {
    std::memset(result.row(0), 0, static_cast<size_t>(result.row(height) - result.row(0)));
    decode_frame(result, bytes, frame.y_offset, frame.x_offset, frame.height, frame.width);
  }
  WebPDemuxReleaseIterator(&frame);
  return result.status();
}

}  // namespace

tw_status decode_webp(Result& result) {
  const std::span<const uint8_t> bytes = result.bytes();
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    return result.damaged("the WebP has a damaged header");
  if (features.has_animation == 0) {
    if (!result.open(features.height, features.width)) return result.status();
    return decode_frame(result, bytes, 0, 0, features.height, features.width);
  }
  const WebPData data{bytes.data(), bytes.size()};
  WebPDemuxer* demuxer = WebPDemux(&data);
  if (demuxer == nullptr) return result.damaged("the WebP is damaged or ends too early");
  const tw_status status = decode_animation(result, demuxer);
  WebPDemuxDelete(demuxer);
  return status;
}

}  // namespace tilewright::images
