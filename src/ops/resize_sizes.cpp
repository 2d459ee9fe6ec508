// SPDX-License-Identifier: Apache-2.0
// The sizes that Resize gives its input, from scales or from wanted sizes of some axes; and the
// scales that follow where they are known only when the program runs.
#include <cmath>

#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

/// Place of dimension d in the list of axes; nothing when it is not resized.
std::optional<size_t> place_of(const ResizeSizesAttrs& attrs, int rank, size_t d) {
  if (attrs.axes.empty()) return d;
  for (size_t j = 0; j < attrs.axes.size(); ++j)
    if ((attrs.axes[j] + rank) % rank == static_cast<int64_t>(d)) return j;
  return std::nullopt;
}

std::vector<Type> infer(const Call& call) {
  const ResizeSizesAttrs& attrs = call.attrs<ResizeSizesAttrs>();
  const int rank = call.rank(0);
  for (const int64_t axis : attrs.axes) normal_axis(call, axis, rank);
  need_rank(call, 1, 1);
  const int64_t count = attrs.axes.empty() ? rank : static_cast<int64_t>(attrs.axes.size());
  call.equal(call.shape(1)[0], Dim(count), "scales or sizes, and the axes to resize");
  const Shape shape = {Dim(rank)};
  return {tensor_of(ir::Elem::I64, shape), tensor_of(ir::Elem::F64, shape)};
}

/// floor(extent * scale) as f32 gives it; nothing when that has no exact formula.
std::optional<Dim> scaled(const Dim& extent, float scale) {
  if (scale == 1) return extent;
  if (const std::optional<int64_t> n = ir::const_int(extent))
    return Dim(static_cast<int64_t>(std::floor(static_cast<float>(*n) * scale)));
  if (scale > 1 && scale == std::floor(scale)) return extent * Dim(static_cast<int64_t>(scale));
  const float inverse = 1 / scale;
  int exponent = 0;
  if (inverse > 1 && std::frexp(inverse, &exponent) == 0.5F && exponent < 31)
    return extent / Dim(static_cast<int64_t>(inverse));
  return std::nullopt;
}

std::vector<std::optional<std::vector<Dim>>> elements(const Call& call) {
  const ResizeSizesAttrs& attrs = call.attrs<ResizeSizesAttrs>();
  if (attrs.policy != AspectPolicy::Stretch) return {};
  const bool scales = ir::is_float(call.elem(1));
  const ConstantNode* known = call.constant(1);
  const Elements sizes = scales ? std::nullopt : call.known_elements(1);
  if (scales ? !known : !sizes) return {};
  std::vector<Dim> out;
  for (size_t d = 0; d < call.shape(0).size(); ++d) {
    const std::optional<size_t> j = place_of(attrs, call.rank(0), d);
    std::optional<Dim> size = call.shape(0)[d];
    if (j && scales)
      size = scaled(*size, static_cast<float>(number_at(*known, static_cast<int64_t>(*j))));
    else if (j)
      size = (*sizes)[*j];
    if (!size) return {};
    out.push_back(*size);
  }
  return {out};
}

std::vector<te::Tensor> define(const Call& call) {
  const ResizeSizesAttrs& attrs = call.attrs<ResizeSizesAttrs>();
  const te::Tensor& given = call.in(1);
  const bool scales = ir::is_float(given.elem());
  const Shape& shape = call.shape(0);
  const auto extent = [&](size_t d) { return te::cast(ir::Elem::F64, Expr(shape[d])); };
  const auto ratio = [&](size_t d, size_t j) {
    return te::cast(ir::Elem::F64, given(static_cast<int64_t>(j))) / extent(d);
  };
  // One scale for all axes, so that none becomes larger (or smaller) than wanted.
  std::optional<Expr> common;
  if (attrs.policy != AspectPolicy::Stretch)
    for (size_t d = 0; d < shape.size(); ++d)
      if (const std::optional<size_t> j = place_of(attrs, call.rank(0), d)) {
        const Expr r = ratio(d, *j);
        common = !common                                   ? r
                 : attrs.policy == AspectPolicy::NotLarger ? te::min(*common, r)
                                                           : te::max(*common, r);
      }
  std::vector<Expr> sizes, factors;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::optional<size_t> j = place_of(attrs, call.rank(0), d);
    if (!j) {
      sizes.push_back(shape[d]);
      factors.push_back(te::cast(ir::Elem::F64, 1));
    } else if (scales) {
      const Expr s = given(static_cast<int64_t>(*j));
      sizes.push_back(te::cast(ir::Elem::I64, te::floor(te::cast(s.elem(), Expr(shape[d])) * s)));
      factors.push_back(as(ir::Elem::F64, s));
    } else if (common) {
      sizes.push_back(te::cast(ir::Elem::I64, *common * extent(d) + 0.5));
      factors.push_back(*common);
    } else {
      sizes.push_back(given(static_cast<int64_t>(*j)));
      factors.push_back(ratio(d, *j));
    }
  }
  const auto list = [&](const char* name, const std::vector<Expr>& values) {
    return te::compute(name, call.out_shape(), [&](const te::Var& d) {
      Expr out = values.back();
      for (size_t k = values.size() - 1; k-- > 0;)
        out = te::select(d == static_cast<int64_t>(k), values[k], out);
      return out;
    });
  };
  return {list("sizes", sizes), list("scales", factors)};
}

}  // namespace

const OpDef& resize_sizes_op() {
  static const OpDef def =
      define_op<ResizeSizesAttrs>({.name = "resize_sizes",
                                   .fusion = FusionKind::Opaque,
                                   .infer = infer,
                                   .elements = elements,
                                   .algorithms = {{.name = "direct", .define = define}}});
  return def;
}

}  // namespace tilewright::ops
