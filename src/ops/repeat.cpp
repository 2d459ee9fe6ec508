// SPDX-License-Identifier: Apache-2.0
#include "ops/define.h"
#include "ops/kind.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;

// Each element along an axis several times in a row: heads that share a key.
struct RepeatAttrs {
  int64_t axis = 0, times = 1;
  static constexpr auto fields =
      std::tuple{field("axis", &RepeatAttrs::axis), field("times", &RepeatAttrs::times)};
};

std::vector<Type> infer(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  const RepeatAttrs& attrs = call.attrs<RepeatAttrs>();
  const auto axis = static_cast<size_t>(normal_axis(call, attrs.axis, call.rank(0)));
  Shape shape = call.shape(0);
  shape[axis] = call.extent(shape[axis] * attrs.times);
  return {tensor_of(call.elem(0), std::move(shape))};
}

std::vector<te::Tensor> define(const Call& call) {
  const RepeatAttrs& attrs = call.attrs<RepeatAttrs>();
  const auto axis = static_cast<size_t>(normal_axis(call, attrs.axis, call.rank(0)));
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& point) {
    std::vector<te::Expr> at(point.begin(), point.end());
    at[axis] = at[axis] / attrs.times;
    return call.in(0).at(at);
  })};
}

}  // namespace

const OpDef& repeat_op() {
  static const OpDef def =
      define_op<RepeatAttrs>({.name = "repeat",
                              .fusion = FusionKind::Injective,
                              .infer = infer,
                              .algorithms = {{.name = "direct", .define = define}}});
  return def;
}

}  // namespace tilewright::ops
