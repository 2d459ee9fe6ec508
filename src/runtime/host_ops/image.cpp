// SPDX-License-Identifier: Apache-2.0
// ImageDecoder: plain images are read here, others by a decoder from outside of the runtime.
#include <cstring>
#include <utility>

#include "runtime/blocks.h"
#include "runtime/host_ops/host_op.h"
#include "runtime/host_ops/plain_image.h"
#include "runtime/image_decoder.h"

namespace tilewright::runtime {
namespace {

enum class Channels : uint8_t { Rgb, Bgr, Gray };

using Bytes = std::span<const uint8_t>;

/// Where the pixels go.
struct Target {
  HostCall& call;
  Channels channels;
  int64_t samples = 0;
  uint8_t* data = nullptr;

  int64_t depth() const { return channels == Channels::Gray ? 1 : 3; }

  bool open(int64_t height, int64_t width) {
    if (data != nullptr || height <= 0 || width <= 0) return false;
    const int64_t dims[3] = {height, width, depth()};
    data = static_cast<uint8_t*>(call.output(0, dims));
    samples = height * width * depth();
    return data != nullptr;
  }
  /// What the operator gives for bytes that are no image.
  tw_status empty() {
    const int64_t dims[3] = {0, 0, depth()};
    call.output(0, dims);
    return call.status();
  }
};

tw_status decode_plain(PlainImage& image, Target& target) {
  switch (image.open()) {
    case PlainImage::State::Damaged: return target.empty();
    case PlainImage::State::Unknown:
      return target.call.fail(
          "the image is a packed BMP or has samples of more than a byte, which is not read: decode "
          "it before the model");
    case PlainImage::State::Sound: break;
  }
  if (!target.open(image.height(), image.width())) return target.call.status();
  uint8_t* out = target.data;
  for (int64_t y = 0; y < image.height(); ++y)
    for (int64_t x = 0; x < image.width(); ++x, out += target.depth()) {
      const Rgb c = image.at(y, x);
      if (target.channels == Channels::Gray) {
        // ITU-R 601-2, in 16-bit fixed point.
        out[0] = static_cast<uint8_t>((c.r * 19595 + c.g * 38470 + c.b * 7471 + 0x8000) >> 16);
      } else {
        out[0] = target.channels == Channels::Rgb ? c.r : c.b;
        out[1] = c.g;
        out[2] = target.channels == Channels::Rgb ? c.b : c.r;
      }
    }
  return TW_OK;
}

/// What the plug-in would decode, by its first bytes; nullptr: bytes of another kind.
const char* plugin_format(Bytes bytes) {
  struct Known {
    std::string_view start;
    const char* name;
  };
  static constexpr Known known[] = {{"\xFF\xD8\xFF", "JPEG"},
                                    {"\x89PNG", "PNG"},
                                    {{"II*\0", 4}, "TIFF"},
                                    {{"MM\0*", 4}, "TIFF"},
                                    {{"II+\0", 4}, "TIFF"},
                                    {{"MM\0+", 4}, "TIFF"},
                                    {"RIFF", "WebP"},
                                    {{"\0\0\0\x0CjP", 6}, "JPEG 2000"},
                                    {"\xFF\x4F\xFF\x51", "JPEG 2000"}};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Known& k : known)
    if (text.starts_with(k.start)) return k.name;
  return nullptr;
}

tw_status decode_with(tw_image_decoder decoder, Bytes bytes, Target& target) {
  HostCall& call = target.call;
  const Allocator& memory = call.pool().allocator();
  tw_image image{};
  image.version = TW_IMAGE_VERSION;
  image.channels = static_cast<int32_t>(target.depth());
  image.data = bytes.data();
  image.bytes = bytes.size();
  image.pixels = [](void* user, int64_t height, int64_t width) {
    Target& t = *static_cast<Target*>(user);
    return t.open(height, width) ? t.data : nullptr;
  };
  image.user = &target;
  image.memory = {memory.user, memory.allocate, memory.release};
  const tw_status status = decoder(&image);
  image.message[sizeof image.message - 1] = 0;
  if (call.status() != TW_OK) return call.status();  // there is no memory for the pixels
  if (status == TW_BAD_INPUT) return target.empty();
  if (status != TW_OK) return call.fail(status, "%s", image.message);
  if (target.data == nullptr) return call.fail("the image decoder gives no pixels");
  if (target.channels == Channels::Bgr)
    for (int64_t i = 0; i < target.samples; i += 3) std::swap(target.data[i], target.data[i + 2]);
  return TW_OK;
}

tw_status decode(HostCall& call) {
  if (!call.need_array(0)) return call.status();
  if (call.input_type(0).elem != ElemType::U8 || !call.has_output(0) ||
      call.output_type(0).elem != ElemType::U8)
    return call.fail("an image is bytes, in and out");
  const Bytes bytes = call.array(0).as<uint8_t>();
  Target target{.call = call,
                .channels = static_cast<Channels>(call.attribute("channels", int64_t{0}))};
  if (PlainImage image(bytes); image.is_one()) return decode_plain(image, target);
  if (const tw_image_decoder given = given_image_decoder())
    return decode_with(given, bytes, target);
  const char* format = plugin_format(bytes);
  if (format == nullptr) return target.empty();
  ErrorText why;
  if (const tw_image_decoder plugin = plugin_image_decoder(why))
    return decode_with(plugin, bytes, target);
  return call.fail(
      TW_UNSUPPORTED,
      "ImageDecoder is given a %s, for which the runtime needs its plug-in %s (%s): install it "
      "beside the runtime, give a decoder with tw_set_image_decoder, or decode images before the "
      "model; docs/deployment.md tells how",
      format, kImagePlugin, why.text());
}

}  // namespace

std::span<const HostOp> image_ops() {
  static constexpr HostOp ops[] = {{"image_decode", decode}};
  return ops;
}

}  // namespace tilewright::runtime
