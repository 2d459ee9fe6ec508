// SPDX-License-Identifier: Apache-2.0
#include "ops/as_onnx.h"

#include "ops/all.h"
#include "ops/control.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {

using namespace graph;

std::vector<ValueId> as_onnx(const OnnxNode& n, Builder& g, std::string_view op,
                             const std::vector<ValueId>& inputs, size_t outputs) {
  constexpr int kNewest = 1'000;
  OnnxNode other = n;
  other.op = op;
  other.domain = "";
  other.opset = kNewest;
  other.inputs = inputs;
  other.outputs.clear();
  for (size_t i = 0; i < outputs; ++i)
    other.outputs.push_back(str(n.outputs.empty() ? "" : n.outputs[0], ".", op, i ? "1" : ""));
  const OnnxRule* rule = onnx_rule("", op, kNewest);
  if (!rule)
    n.refuse("ops.contrib.operator", str("it is made of ", op, ", which is not there"),
             "register an operator for this node");
  rule->rule(other, g);
  return g.take_results();
}

ValueId as_onnx(const OnnxNode& n, Builder& g, std::string_view op,
                const std::vector<ValueId>& inputs, AttrPairs attributes) {
  OnnxNode other = n;
  other.attributes = std::move(attributes);
  return as_onnx(other, g, op, inputs).at(0);
}

ValueId Make::call(std::string_view name, const std::vector<ValueId>& inputs) const {
  return g.call(op(name), {}, inputs);
}

ValueId Make::reshape(ValueId x, const std::vector<int64_t>& shape) const {
  return g.call(op("reshape"), ReshapeAttrs{}, {x, g.ints(shape)});
}

ValueId Make::transpose(ValueId x, const std::vector<int64_t>& order) const {
  return g.call(op("transpose"), AxesAttrs{order}, {x});
}

ValueId Make::cast(ValueId x, ir::Elem to) const {
  return g.tensor(x).elem == to ? x : g.call(op("cast"), CastAttrs{.to = to}, {x});
}

ValueId Make::concat(const std::vector<ValueId>& parts, int64_t axis) const {
  return as_onnx(n, g, "Concat", parts, {{"axis", axis}});
}

ValueId Make::gather(ValueId x, ValueId indices, int64_t axis) const {
  return as_onnx(n, g, "Gather", {x, indices}, {{"axis", axis}});
}

std::vector<ValueId> Make::split(ValueId x, const Shape& sizes, int64_t axis) const {
  OnnxNode other = n;
  other.attributes = {{"axis", axis}};
  const std::optional<std::vector<int64_t>> known = const_dims(sizes);
  return as_onnx(other, g, "Split", {x, known ? g.ints(*known) : g.formulas(sizes)}, sizes.size());
}

ValueId Make::extent(ValueId x, int64_t axis) const {
  return g.call(scan_ops()[0], PickAttrs{.axis = axis}, {x});
}

ValueId Make::positions(ValueId x, int64_t axis) const {
  const ValueId zero = g.scalar(ir::Elem::I64, 0), one = g.scalar(ir::Elem::I64, 1);
  return as_onnx(n, g, "Range", {zero, extent(x, axis), one}, AttrPairs{});
}

Dim Make::dim(ValueId x, int64_t axis) const {
  const TensorType& t = g.tensor(x);
  const int64_t at = axis < 0 ? axis + t.rank() : axis;
  if (at < 0 || at >= t.rank())
    n.refuse("ops.input.rank", str("an input is ", print(Type(t))),
             str("give a tensor that has dimension ", axis));
  return t.shape[static_cast<size_t>(at)];
}

}  // namespace tilewright::ops
