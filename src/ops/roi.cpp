// SPDX-License-Identifier: Apache-2.0
// RoiAlign and MaxRoiPool: a grid of results for each region of interest.
#include <limits>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct RoiAttrs {
  int64_t height = 1, width = 1;  // of the results
  int64_t samples = 0;            // per result and dimension; 0: as many as elements are covered
  double scale = 1;
  bool half_pixel = false, max = false;
  static constexpr auto fields =
      std::tuple{field("height", &RoiAttrs::height),         field("width", &RoiAttrs::width),
                 field("samples", &RoiAttrs::samples),       field("scale", &RoiAttrs::scale),
                 field("half_pixel", &RoiAttrs::half_pixel), field("max", &RoiAttrs::max)};
};

/// What a region of a batch element that is not there gives.
Expr nan(ir::Elem elem) { return te::cast(elem, std::numeric_limits<double>::quiet_NaN()); }

/// The geometry of the regions along one dimension (0: height, 1: width), for each region.
struct Side {
  te::Tensor start, bin, samples;  // samples: i64
};

Side side(const Call& call, const te::Tensor& rois, size_t d, ir::Elem acc) {
  const RoiAttrs& attrs = call.attrs<RoiAttrs>();
  const te::Shape each = {Expr(rois.shape()[0])};
  const double offset = attrs.half_pixel ? 0.5 : 0;
  const int64_t first = d == 0 ? 1 : 0;  // regions are x1, y1, x2, y2
  const auto edge = [&](const Expr& r, int64_t i) {
    return as(acc, rois(r, i)) * attrs.scale - offset;
  };
  const te::Tensor start =
      te::compute("start", each, [&](const te::Var& r) { return edge(r, first); });
  const te::Tensor bin = te::compute("bin", each, [&](const te::Var& r) {
    Expr extent = edge(r, first + 2) - edge(r, first);
    if (!attrs.half_pixel) extent = te::max(extent, te::cast(acc, 1));
    return extent / te::cast(acc, d == 0 ? attrs.height : attrs.width);
  });
  const te::Tensor samples = te::compute("samples", each, [&](const te::Var& r) {
    if (attrs.samples > 0) return te::cast(ir::Elem::I64, attrs.samples);
    return te::max(te::cast(ir::Elem::I64, te::ceil(bin(r))), 0);
  });
  return {start, bin, samples};
}

/// The most samples that any region has along each dimension: i64[2].
std::vector<Type> infer_samples(const Call& call) {
  need_float(call, 0);
  need_rank(call, 0, 2);
  return {tensor_of(ir::Elem::I64, {Dim(2)})};
}

std::vector<te::Tensor> define_samples(const Call& call) {
  const ir::Elem acc = wide(call.elem(0));
  const te::Tensor height = side(call, call.in(0), 0, acc).samples;
  const te::Tensor width = side(call, call.in(0), 1, acc).samples;
  const te::Axis r = te::reduce_axis(call.shape(0)[0], "r");
  const te::Tensor most = te::compute("most", {Expr(2)}, [&](const te::Var& d) {
    return te::max_over(te::select(d == 0, height(r), width(r)), r);
  });
  return {te::map(most, [](const Expr& n) { return te::max(n, 0); })};  // 0 without regions
}

std::vector<Type> infer_align(const Call& call) {
  const RoiAttrs& attrs = call.attrs<RoiAttrs>();
  need_float(call, 0);
  need_rank(call, 0, 4);
  need_rank(call, 1, 2);
  need_rank(call, 2, 1);
  need_int(call, 2);
  need_same_elem(call, 0, 1);
  call.equal(call.shape(1)[1], Dim(4), "the values of a region");
  const Dim rois = call.equal(call.shape(1)[0], call.shape(2)[0], "regions and batch indices");
  return {tensor_of(call.elem(0), {rois, call.shape(0)[1], Dim(attrs.height), Dim(attrs.width)})};
}

/// Where the samples of one dimension lie: for region r, result p, sample i.
struct Samples {
  te::Tensor low, high;  // indices of the elements around
  te::Tensor part;       // how far the sample lies behind the lower one
  te::Tensor valid;      // 1 where it counts, else 0
};

Samples samples_of(const Call& call, size_t d, const Side& s, const Dim& most, ir::Elem acc) {
  const RoiAttrs& attrs = call.attrs<RoiAttrs>();
  const Dim extent = call.shape(0)[d + 2];
  const te::Shape shape = {Expr(call.shape(1)[0]), Expr(d == 0 ? attrs.height : attrs.width),
                           Expr(most)};
  const te::Tensor raw =
      te::compute("sample", shape, [&](const te::Var& r, const te::Var& p, const te::Var& i) {
        return s.start(r) + te::cast(acc, p) * s.bin(r) +
               (te::cast(acc, i) + 0.5) * s.bin(r) / te::cast(acc, s.samples(r));
      });
  const te::Tensor valid =
      te::compute("valid", shape, [&](const te::Var& r, const te::Var& p, const te::Var& i) {
        const Expr x = raw(r, p, i);
        return te::cast(acc, i < s.samples(r) && x >= -1 && x <= te::cast(acc, Expr(extent)));
      });
  const te::Tensor low = te::map(raw, [&](const Expr& x) {
    const Expr i = te::cast(ir::Elem::I64, te::max(x, te::cast(acc, 0)));
    return te::max(te::min(i, Expr(extent - 1)), 0);
  });
  const te::Tensor high =
      te::map(low, [&](const Expr& i) { return te::max(te::min(i + 1, Expr(extent - 1)), 0); });
  const te::Tensor part = te::map(raw, low, [&](const Expr& x, const Expr& i) {
    return te::select(i >= Expr(extent - 1), te::cast(acc, 0),
                      te::max(x, te::cast(acc, 0)) - te::cast(acc, i));
  });
  return {low, high, part, valid};
}

std::vector<te::Tensor> define_align(const Call& call) {
  const RoiAttrs& attrs = call.attrs<RoiAttrs>();
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const Side sides[2] = {side(call, call.in(1), 0, acc), side(call, call.in(1), 1, acc)};
  const auto most = [&](int64_t d) {
    return attrs.samples > 0 ? Dim(attrs.samples) : call.extent(call.element(3, d));
  };
  const Samples y = samples_of(call, 0, sides[0], most(0), acc);
  const Samples x = samples_of(call, 1, sides[1], most(1), acc);
  const te::Axis iy = te::reduce_axis(most(0), "iy"), ix = te::reduce_axis(most(1), "ix");
  const auto terms = [&](const std::vector<te::Var>& at) {
    const Expr r = at[0], c = at[1], ph = at[2], pw = at[3];
    const Expr batch = te::cast(ir::Elem::I64, call.in(2)(r));
    const auto pixel = [&](const te::Tensor& row, const te::Tensor& column) {
      const Expr x = as(acc, call.in(0)(batch, c, row(r, ph, iy), column(r, pw, ix)));
      return te::guard(0 <= batch && batch < Expr(call.shape(0)[0]), x, nan(acc));
    };
    const Expr ly = y.part(r, ph, iy), lx = x.part(r, pw, ix);
    return std::vector<Expr>{(1 - ly) * (1 - lx) * pixel(y.low, x.low),
                             (1 - ly) * lx * pixel(y.low, x.high),
                             ly * (1 - lx) * pixel(y.high, x.low), ly * lx * pixel(y.high, x.high)};
  };
  const auto count = [&](const Expr& r) { return sides[0].samples(r) * sides[1].samples(r); };
  if (!attrs.max) {
    const te::Tensor sum =
        te::compute("roi_sum", call.out_shape(), [&](const std::vector<te::Var>& at) {
          const std::vector<Expr> t = terms(at);
          const Expr valid = y.valid(at[0], at[2], iy) * x.valid(at[0], at[3], ix);
          return te::sum((t[0] + t[1] + t[2] + t[3]) * valid, {iy, ix});
        });
    return {te::compute("roi_align", call.out_shape(), [&](const std::vector<te::Var>& at) {
      return as(elem, sum.at(indices_of(at)) / te::cast(acc, te::max(count(at[0]), 1)));
    })};
  }
  // A sample outside counts as 0, one that the region has not does not count.
  const te::Tensor best =
      te::compute("roi_max", call.out_shape(), [&](const std::vector<te::Var>& at) {
        const std::vector<Expr> t = terms(at);
        const Expr valid = y.valid(at[0], at[2], iy) * x.valid(at[0], at[3], ix);
        const Expr value = te::max(te::max(t[0], t[1]), te::max(t[2], t[3])) * valid;
        const Expr has = iy < sides[0].samples(at[0]) && ix < sides[1].samples(at[0]);
        return te::max_over(
            te::select(has, value, te::cast(acc, -std::numeric_limits<double>::infinity())),
            {iy, ix});
      });
  return {te::compute("roi_align", call.out_shape(), [&](const std::vector<te::Var>& at) {
    return as(elem, te::select(count(at[0]) == 0, te::cast(acc, 0), best.at(indices_of(at))));
  })};
}

std::vector<Type> infer_max_pool(const Call& call) {
  const RoiAttrs& attrs = call.attrs<RoiAttrs>();
  need_float(call, 0);
  need_rank(call, 0, 4);
  need_rank(call, 1, 2);
  need_same_elem(call, 0, 1);
  call.equal(call.shape(1)[1], Dim(5), "the values of a region");
  return {tensor_of(call.elem(0),
                    {call.shape(1)[0], call.shape(0)[1], Dim(attrs.height), Dim(attrs.width)})};
}

/// The maximum of the elements of a bin, whose borders are rounded outwards; 0 of an empty one.
std::vector<te::Tensor> define_max_pool(const Call& call) {
  const RoiAttrs& attrs = call.attrs<RoiAttrs>();
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const te::Tensor &x = call.in(0), &rois = call.in(1);
  const auto whole = [](const Expr& v) { return te::cast(ir::Elem::I64, v); };
  // borders[0] and [1]: first and end of bin p of region r.
  const auto borders = [&](size_t d) {
    const Dim extent = call.shape(0)[d + 2];
    const int64_t count = d == 0 ? attrs.height : attrs.width;
    return te::compute(
        {"from", "to"}, {Expr(call.shape(1)[0]), Expr(count)},
        [&](const te::Var& r, const te::Var& p) -> te::Tuple {
          const auto edge = [&](int64_t i) {
            return whole(te::floor(as(acc, rois(r, i)) * attrs.scale + 0.5));
          };
          const Expr start = edge(d == 0 ? 2 : 1), end = edge(d == 0 ? 4 : 3);
          const Expr bin = te::cast(acc, te::max(end - start + 1, 1)) / te::cast(acc, count);
          const auto clamped = [&](const Expr& i) { return te::max(te::min(i, Expr(extent)), 0); };
          return {clamped(whole(te::floor(te::cast(acc, p) * bin)) + start),
                  clamped(whole(te::ceil(te::cast(acc, p + 1) * bin)) + start)};
        });
  };
  const std::vector<te::Tensor> rows = borders(0), columns = borders(1);
  const te::Axis h = te::reduce_axis(call.shape(0)[2], "h");
  const te::Axis w = te::reduce_axis(call.shape(0)[3], "w");
  const Expr lowest = ir::float_imm(elem, -std::numeric_limits<double>::infinity());
  const te::Tensor most =
      te::compute("roi_max", call.out_shape(), [&](const std::vector<te::Var>& at) {
        const Expr r = at[0];
        const Expr in_bin = rows[0](r, at[2]) <= h && h < rows[1](r, at[2]) &&
                            columns[0](r, at[3]) <= w && w < columns[1](r, at[3]);
        const Expr batch = whole(as(acc, rois(r, 0)));
        const Expr value = te::guard(0 <= batch && batch < Expr(call.shape(0)[0]),
                                     x(batch, at[1], h, w), nan(elem));
        return te::max_over(te::guard(in_bin, value, lowest), {h, w});
      });
  return {te::compute("max_roi_pool", call.out_shape(), [&](const std::vector<te::Var>& at) {
    const Expr r = at[0];
    const Expr empty =
        rows[1](r, at[2]) <= rows[0](r, at[2]) || columns[1](r, at[3]) <= columns[0](r, at[3]);
    return te::select(empty, te::cast(elem, 0), most.at(indices_of(at)));
  })};
}

void align_from_onnx(const OnnxNode& n, Builder& g) {
  RoiAttrs attrs{.height = n.attr_int("output_height", 1),
                 .width = n.attr_int("output_width", 1),
                 .samples = n.attr_int("sampling_ratio", 0),
                 .scale = n.attr_float("spatial_scale", 1)};
  const std::string mode = n.attr_string("mode", "avg");
  if (mode != "avg" && mode != "max")
    n.refuse("ops.roi_align.mode", str("mode is \"", mode, "\""), "use avg or max");
  attrs.max = mode == "max";
  attrs.half_pixel = n.opset >= 16 &&
                     n.attr_string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const ValueId most = attrs.samples > 0 ? kNoValue : g.call(op("roi_samples"), attrs, {n.need(1)});
  g.output(n, g.call(op("roi_align"), attrs, {n.need(0), n.need(1), n.need(2), most}));
}

void max_pool_from_onnx(const OnnxNode& n, Builder& g) {
  const std::vector<int64_t> shape = n.attr_ints("pooled_shape");
  if (shape.size() != 2)
    n.refuse("ops.max_roi_pool.shape", str("pooled_shape has ", shape.size(), " values"),
             "give height and width");
  const RoiAttrs attrs{
      .height = shape[0], .width = shape[1], .scale = n.attr_float("spatial_scale", 1)};
  g.output(n, g.call(op("max_roi_pool"), attrs, {n.need(0), n.need(1)}));
}

OpDef roi(std::string_view name, FusionKind fusion, std::vector<Type> (*infer)(const Call&),
          std::vector<te::Tensor> (*define)(const Call&), std::vector<OnnxRule> onnx) {
  return define_op<RoiAttrs>({.name = name,
                              .fusion = fusion,
                              .infer = infer,
                              .algorithms = {{.name = "direct", .define = define}},
                              .onnx = std::move(onnx)});
}

}  // namespace

std::span<const OpDef> roi_ops() {
  static const std::vector<OpDef> ops = {
      roi("max_roi_pool", FusionKind::Reduction, infer_max_pool, define_max_pool,
          {{.op = "MaxRoiPool", .rule = max_pool_from_onnx}}),
      roi("roi_align", FusionKind::Reduction, infer_align, define_align,
          {{.op = "RoiAlign", .from = 10, .rule = align_from_onnx}}),
      roi("roi_samples", FusionKind::Opaque, infer_samples, define_samples, {})};
  return ops;
}

}  // namespace tilewright::ops
