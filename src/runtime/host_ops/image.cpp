// SPDX-License-Identifier: Apache-2.0
// ImageDecoder: BMP, PBM, PGM and PPM are read here, others by a decoder from outside of the
// runtime.
#include <cstring>
#include <utility>

#include "runtime/blocks.h"
#include "runtime/host_ops/host_op.h"
#include "runtime/host_ops/image_target.h"
#include "runtime/image_decoder.h"

namespace tilewright::runtime {
namespace {

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

tw_status decode_with(tw_image_decoder decoder, Bytes bytes, ImageTarget& target) {
  HostCall& call = target.call();
  const Allocator& memory = call.pool().allocator();
  tw_image image{};
  image.version = TW_IMAGE_VERSION;
  image.channels = static_cast<int32_t>(target.depth());
  image.data = bytes.data();
  image.bytes = bytes.size();
  image.pixels = [](void* user, int64_t height, int64_t width) {
    auto& t = *static_cast<ImageTarget*>(user);
    return t.open(height, width) ? t.data() : nullptr;
  };
  image.user = &target;
  image.memory = {memory.user, memory.allocate, memory.release};
  const tw_status status = decoder(&image);
  image.message[sizeof image.message - 1] = 0;
  if (call.status() != TW_OK) return call.status();  // there is no memory for the pixels
  if (status == TW_BAD_INPUT) return target.nothing();
  if (status != TW_OK) return call.fail(status, "%s", image.message);
  uint8_t* data = target.data();
  if (data == nullptr) return call.fail("the image decoder gives no pixels");
  if (target.channels() == ImageTarget::Channels::Bgr)
    for (size_t i = 0; i < target.bytes(); i += 3) std::swap(data[i], data[i + 2]);
  return TW_OK;
}

tw_status decode(HostCall& call) {
  if (!call.need_array(0)) return call.status();
  if (call.input_type(0).elem != ElemType::U8 || !call.has_output(0) ||
      call.output_type(0).elem != ElemType::U8)
    return call.fail("an image is bytes, in and out");
  const Bytes bytes = call.array(0).as<uint8_t>();
  ImageTarget target(call);
  if (is_bmp(bytes)) return read_bmp(bytes, target);
  if (is_pnm(bytes)) return read_pnm(bytes, target);
  if (const tw_image_decoder given = given_image_decoder())
    return decode_with(given, bytes, target);
  const char* format = plugin_format(bytes);
  if (format == nullptr) return target.nothing();
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
