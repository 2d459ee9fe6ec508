// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;

enum class Channels : uint8_t { Rgb, Bgr, Gray };  // as in runtime/host_ops/image.cpp
struct ImageAttrs {
  Channels channels = Channels::Rgb;
  static constexpr auto fields = std::tuple{field("channels", &ImageAttrs::channels)};
};

std::vector<Type> infer(const Call& call) {
  if (call.elem(0) != ir::Elem::U8 || call.rank(0) != 1)
    call.refuse("ops.image_decoder.type", str("the image is ", print(call.type(0))),
                "give the bytes of the file, u8[n]");
  const int64_t channels = call.attrs<ImageAttrs>().channels == Channels::Gray ? 1 : 3;
  return {tensor_of(ir::Elem::U8, {Dim(), Dim(), channels})};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const std::string format = n.attr_string("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale")
    n.refuse("ops.image_decoder.format", str("pixel_format is `", format, "`"),
             "use RGB, BGR or Grayscale");
  const ImageAttrs attrs{.channels = format == "RGB"   ? Channels::Rgb
                                     : format == "BGR" ? Channels::Bgr
                                                       : Channels::Gray};
  g.output(n, g.call(image_decoder_op(), attrs, {n.need(0)}));
}

}  // namespace

const OpDef& image_decoder_op() {
  static const OpDef def =
      define_op<ImageAttrs>({.name = "image_decoder",
                             .infer = infer,
                             .host = "image_decode",
                             .onnx = {{.op = "ImageDecoder", .from = 20, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
