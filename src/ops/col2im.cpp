// SPDX-License-Identifier: Apache-2.0
// Col2Im: each element of the image is the sum of the blocks' elements that cover it.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct Col2ImAttrs {
  std::vector<int64_t> strides = {}, dilations = {}, pads = {};
  static constexpr auto fields =
      std::tuple{field("strides", &Col2ImAttrs::strides),
                 field("dilations", &Col2ImAttrs::dilations), field("pads", &Col2ImAttrs::pads)};
};

/// One dimension of the image: `places` blocks of extent `block`.
struct Axis {
  Dim image, block, places;
  int64_t stride, dilation, pad;
};

std::vector<Axis> axes_of(const Call& call) {
  const Col2ImAttrs& attrs = call.attrs<Col2ImAttrs>();
  const std::vector<Dim> image = call.elements(1), block = call.elements(2);
  const size_t rank = image.size();
  const auto values = [&](std::string_view name, const std::vector<int64_t>& given, size_t count,
                          int64_t otherwise) {
    if (given.empty()) return std::vector<int64_t>(count, otherwise);
    need_count(call, name, given, count);
    need_at_least(call, name, given, otherwise);
    return given;
  };
  const std::vector<int64_t> strides = values("strides", attrs.strides, rank, 1);
  const std::vector<int64_t> dilations = values("dilations", attrs.dilations, rank, 1);
  const std::vector<int64_t> pads = values("pads", attrs.pads, 2 * rank, 0);
  std::vector<Axis> out;
  for (size_t d = 0; d < rank; ++d) {
    const Dim room = image[d] + Dim(pads[d] + pads[rank + d]) - (block[d] - 1) * dilations[d] - 1;
    out.push_back({call.extent(image[d]), call.extent(block[d]), simplified(room / strides[d] + 1),
                   strides[d], dilations[d], pads[d]});
  }
  return out;
}

std::vector<Type> infer(const Call& call) {
  need_number(call, 0);
  need_rank(call, 0, 3);
  if (call.elements(1).size() != call.elements(2).size())
    call.refuse("ops.col2im.shape", "image_shape and block_shape have different lengths",
                "give one value per spatial dimension in both");
  Dim block = Dim(1), places = Dim(1);
  Shape shape = {call.shape(0)[0], Dim(1)};
  for (const Axis& a : axes_of(call)) {
    block = block * a.block;
    places = places * a.places;
    shape.push_back(a.image);
  }
  call.check(ir::eq(call.shape(0)[1] % block, Dim(0)), "the block divides the input's rows");
  call.equal(call.shape(0)[2], places, "the input's columns and the places of a block");
  shape[1] = simplified(call.shape(0)[1] / block);
  return {tensor_of(call.elem(0), shape)};
}

std::vector<te::Tensor> define(const Call& call) {
  const std::vector<Axis> axes = axes_of(call);
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  std::vector<te::Axis> over;
  for (size_t d = 0; d < axes.size(); ++d)
    over.push_back(te::reduce_axis(axes[d].block, str("k", d)));
  const te::Tensor y =
      te::compute("col2im", call.out_shape(), [&](const std::vector<te::Var>& point) {
        Expr row = point[1], column = 0, covered = true;
        for (size_t d = 0; d < axes.size(); ++d) {
          const Axis& a = axes[d];
          const Expr from = point[d + 2] + a.pad - over[d] * a.dilation;
          covered = covered && from >= 0 && from % a.stride == 0 && from / a.stride < a.places;
          row = row * a.block + over[d];
          column = column * a.places + from / a.stride;
        }
        const Expr value = as(acc, call.in(0)(point[0], row, column));
        return te::sum(te::guard(covered, value, te::cast(acc, 0)), te::Axes(over));
      });
  return {as(elem, y)};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const Col2ImAttrs attrs{.strides = n.attr_ints("strides"),
                          .dilations = n.attr_ints("dilations"),
                          .pads = n.attr_ints("pads")};
  g.output(n, g.call(col2im_op(), attrs, {n.need(0), n.need(1), n.need(2)}));
}

}  // namespace

const OpDef& col2im_op() {
  static const OpDef def =
      define_op<Col2ImAttrs>({.name = "col2im",
                              .fusion = FusionKind::Reduction,
                              .infer = infer,
                              .algorithms = {{.name = "gather", .define = define}},
                              .onnx = {{.op = "Col2Im", .from = 18, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
