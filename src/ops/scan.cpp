// SPDX-License-Identifier: Apache-2.0
// Scan as a loop over an axis of its inputs: each iteration picks its part of them.
//   before   final, ys = Scan(state, x) {body(state, x_t) -> state, y_t}
//   after    final, ys = loop(extent of x, none, state)
//                          {(i, cond, state) { x_t = pick(x, i); body…; return cond, state, y_t }}
#include <array>

#include "graph/onnx_node.h"
#include "ops/as_onnx.h"
#include "ops/control.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

std::vector<Type> infer_extent(const Call& call) {
  normal_axis(call, call.attrs<PickAttrs>().axis, call.rank(0));
  return {tensor_of(Elem::I64, {})};
}

Dim extent_of(const Call& call) {
  const int axis = normal_axis(call, call.attrs<PickAttrs>().axis, call.rank(0));
  return call.shape(0)[static_cast<size_t>(axis)];
}

std::vector<std::optional<std::vector<Dim>>> extent_elements(const Call& call) {
  return {{{extent_of(call)}}};
}

std::vector<te::Tensor> extent(const Call& call) {
  return {te::compute("extent", {}, [&] { return te::Expr(extent_of(call)); })};
}

// What a loop has stacked along its first dimension, along another one or in reverse.
std::vector<Type> infer_arrange(const Call& call) {
  TensorType type = call.tensor(0);
  const int axis = normal_axis(call, call.attrs<PickAttrs>().axis, type.rank());
  const Dim steps = type.shape[0];
  type.shape.erase(type.shape.begin());
  type.shape.insert(type.shape.begin() + axis, steps);
  return {type};
}

std::vector<te::Tensor> arrange(const Call& call) {
  const PickAttrs& attrs = call.attrs<PickAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const te::Expr last = te::Expr(call.shape(0)[0]) - 1;
  return {te::compute("arranged", call.out_shape(), [&](const std::vector<te::Var>& v) {
    At at = indices_of(v);
    const te::Expr step = at[static_cast<size_t>(axis)];
    at.erase(at.begin() + axis);
    at.insert(at.begin(), attrs.reverse ? last - step : step);
    return call.in(0).at(at);
  })};
}

/// A Scan whose inputs are values, and how each goes over time.
struct Scan {
  const OnnxSubgraph& graph;
  std::vector<ValueId> states, inputs;
  std::vector<PickAttrs> input_axes, output_axes;
};

ValueId pick_value(Builder& g, ValueId x, ValueId i) {
  return g.call(pick_op(), PickAttrs{}, {x, i});
}

std::vector<ValueId> run(const Scan& scan, Builder& g) {
  std::vector<Type> states, parts;
  for (const ValueId id : scan.states) states.push_back(g.type(id));
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    TensorType part = g.tensor(scan.inputs[i]);
    part.shape.erase(part.shape.begin() + scan.input_axes[i].axis);
    parts.push_back(part);
  }
  const auto build = [&](const std::vector<Type>& carried) {
    std::vector<Type> types = carried;
    types.insert(types.end(), parts.begin(), parts.end());
    Function step = scan.graph.build(g, types);
    const std::vector<ValueId> inputs = step.inputs;
    g.begin_body(step.name);
    const ValueId i = g.body_input("iteration", tensor_of(Elem::I64, {}));
    std::vector<ValueId> outputs{g.body_input("goes_on", tensor_of(Elem::Bool, {}))};
    for (size_t k = 0; k < parts.size(); ++k)
      g.bind(inputs[carried.size() + k], pick_op(), scan.input_axes[k], {scan.inputs[k], i});
    const std::vector<ValueId> made = g.splice(std::move(step));
    outputs.insert(outputs.end(), made.begin(), made.end());
    Function body = g.end_body(outputs);
    body.inputs.insert(body.inputs.end(), inputs.begin(),
                       inputs.begin() + static_cast<ptrdiff_t>(carried.size()));
    return body;
  };
  std::vector<Function> bodies;
  bodies.push_back(loop_body(g, states, build));
  const ValueId steps = g.call(scan_ops()[0], scan.input_axes[0], {scan.inputs[0]});
  std::vector<ValueId> inputs{steps, kNoValue};
  inputs.insert(inputs.end(), scan.states.begin(), scan.states.end());
  std::vector<ValueId> results =
      g.calls(loop_op(), {}, inputs, scan.graph.outputs(), std::move(bodies));
  for (size_t k = 0; k < scan.output_axes.size(); ++k)
    if (scan.output_axes[k].axis != 0 || scan.output_axes[k].reverse) {
      ValueId& y = results[scan.states.size() + k];
      y = g.call(scan_ops()[1], scan.output_axes[k], {y});
    }
  return results;
}

Scan scan_of(const OnnxNode& n, size_t first) {
  const int64_t parts = n.attr_int("num_scan_inputs");
  const OnnxSubgraph& graph = n.attr_graph("body");
  const size_t given = n.inputs.size() - std::min(n.inputs.size(), first);
  if (parts < 1 || static_cast<size_t>(parts) > given || graph.inputs() != given ||
      graph.outputs() < given - static_cast<size_t>(parts))
    n.refuse("ops.scan.inputs",
             str("num_scan_inputs is ", parts, " of ", given, " inputs; the body has ",
                 graph.inputs(), " inputs and ", graph.outputs(), " outputs"),
             "let the body take the states and the parts, and return the states first");
  const auto count = static_cast<size_t>(parts);
  Scan scan{.graph = graph, .states = {}, .inputs = {}, .input_axes = {}, .output_axes = {}};
  for (size_t i = 0; i < given; ++i)
    (i < given - count ? scan.states : scan.inputs).push_back(n.need(first + i));
  scan.input_axes.resize(count);
  scan.output_axes.resize(graph.outputs() - scan.states.size());
  return scan;
}

void set_axes(const OnnxNode& n, std::vector<PickAttrs>& parts, const std::string& what) {
  const std::vector<int64_t> axes = n.attr_ints("scan_" + what + "_axes"),
                             directions = n.attr_ints("scan_" + what + "_directions");
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i < axes.size()) parts[i].axis = axes[i];
    if (i < directions.size()) parts[i].reverse = directions[i] != 0;
  }
}

void from_onnx(const OnnxNode& n, Builder& g) {
  Scan scan = scan_of(n, 0);
  set_axes(n, scan.input_axes, "input");
  set_axes(n, scan.output_axes, "output");
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    const int rank = g.tensor(scan.inputs[i]).rank();
    int64_t& axis = scan.input_axes[i].axis;
    if (axis < -rank || axis >= rank)
      n.refuse("ops.scan.axis", str("axis ", axis, " of a scan input of rank ", rank),
               str("use an axis between ", -rank, " and ", rank - 1));
    if (axis < 0) axis += rank;
  }
  g.outputs(n, run(scan, g));
}

/// The first `length` (i64[1]) parts of a sequence.
ValueId shortened(const Make& m, ValueId x, ValueId length) {
  return m.g.call(slice_op(), NoAttrs{}, {x, m.g.ints({0}), length, m.g.ints({0})});
}

/// The sequence with zeros behind it, as long as `longest`, i64[1].
ValueId lengthened(const Make& m, ValueId x, ValueId longest) {
  const auto rank = static_cast<size_t>(m.g.tensor(x).rank());
  const ValueId missing = m.call("sub", {longest, m.reshape(m.extent(x, 0), {1})});
  const ValueId pads = m.concat({m.g.ints(std::vector<int64_t>(rank, 0)), missing,
                                 m.g.ints(std::vector<int64_t>(rank - 1, 0))},
                                0);
  return as_onnx(m.n, m.g, "Pad", {x, pads}, AttrPairs{});
}

/// Version 8 has a batch in front of everything: a loop over it, around the other. Its sequences
/// may have different lengths.
void from_onnx_8(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  Scan scan = scan_of(n, 1);
  const std::vector<int64_t> directions = n.attr_ints("directions");
  for (size_t i = 0; i < directions.size() && i < scan.inputs.size(); ++i)
    scan.input_axes[i].reverse = directions[i] != 0;
  const ValueId batch = g.call(scan_ops()[0], PickAttrs{}, {scan.inputs[0]});
  g.begin_body("batch");
  const ValueId i = g.body_input("iteration", tensor_of(Elem::I64, {}));
  const ValueId goes_on = g.body_input("goes_on", tensor_of(Elem::Bool, {}));
  for (ValueId& id : scan.states) id = pick_value(g, id, i);
  for (ValueId& id : scan.inputs) id = pick_value(g, id, i);
  const ValueId longest = n.has(0) ? m.reshape(m.extent(scan.inputs[0], 0), {1}) : kNoValue;
  if (n.has(0)) {
    const ValueId length = m.reshape(pick_value(g, n.in(0), i), {1});
    for (ValueId& id : scan.inputs) id = shortened(m, id, length);
  }
  std::vector<ValueId> outputs = run(scan, g);
  if (n.has(0))
    for (size_t k = scan.states.size(); k < outputs.size(); ++k)
      outputs[k] = lengthened(m, outputs[k], longest);
  outputs.insert(outputs.begin(), goes_on);
  const size_t results = outputs.size() - 1;
  std::vector<Function> bodies;
  bodies.push_back(g.end_body(outputs));
  g.outputs(n, g.calls(loop_op(), {}, {batch, kNoValue}, results, std::move(bodies)));
}

}  // namespace

std::span<const OpDef> scan_ops() {
  static const std::array<OpDef, 2> defs = {
      define_op<PickAttrs>({.name = "extent",
                            .fusion = FusionKind::Injective,
                            .infer = infer_extent,
                            .elements = extent_elements,
                            .algorithms = {{.name = "direct", .define = extent}}}),
      define_op<PickAttrs>({.name = "arrange",
                            .fusion = FusionKind::Injective,
                            .infer = infer_arrange,
                            .algorithms = {{.name = "direct", .define = arrange}},
                            .onnx = {{.op = "Scan", .from = 8, .rule = from_onnx_8, .to = 8},
                                     {.op = "Scan", .from = 9, .rule = from_onnx}}})};
  return defs;
}

}  // namespace tilewright::ops
