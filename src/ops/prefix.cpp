// SPDX-License-Identifier: Apache-2.0
// The first n indices of an axis, n being an element of an integer tensor: what follows operators
// that give results of full size and the number of those that count.
#include "ops/define.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;

std::vector<Type> infer(const Call& call) {
  TensorType type = call.tensor(0);
  const auto axis =
      static_cast<size_t>(normal_axis(call, call.attrs<PrefixAttrs>().axis, type.rank()));
  const Dim n = call.extent(call.element(1, 0));
  call.check(n <= type.shape[axis], "a prefix is no longer than the whole");
  type.shape[axis] = n;
  return {type};
}

std::vector<te::Tensor> define(const Call& call) {
  return {te::compute("prefix", call.out_shape(), [&](const std::vector<te::Var>& at) {
    return call.in(0).at(indices_of(at));
  })};
}

}  // namespace

const OpDef& prefix_op() {
  static const OpDef def =
      define_op<PrefixAttrs>({.name = "prefix",
                              .fusion = FusionKind::Injective,
                              .infer = infer,
                              .algorithms = {{.name = "direct", .define = define}}});
  return def;
}

}  // namespace tilewright::ops
