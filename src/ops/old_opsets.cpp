// SPDX-License-Identifier: Apache-2.0
// Operators as opsets before 7 had them, where that differs by more than an attribute: as later
// ones.
#include "ops/old_opsets.h"

#include <algorithm>
#include <array>

#include "graph/onnx_node.h"
#include "ops/as_onnx.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

/// The type is written as its name in TensorProto.DataType.
void cast(const OnnxNode& n, Builder& g) {
  constexpr std::array<std::string_view, 17> kNames = {
      "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
      "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
      "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  const auto found = std::ranges::find(kNames, n.attr_string("to", ""));
  if (found == kNames.end())
    n.refuse("ops.cast.to", "the attribute `to` is missing, or names no type",
             "set it to the name of a type, such as FLOAT");
  g.output(n, as_onnx(n, g, "Cast", {n.need(0)}, {{"to", int64_t{found - kNames.begin()}}}));
}

/// Random unless `is_test` is set; the mask has the type of the data.
void dropout(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId ratio = g.scalar(Elem::F32, n.attr_float("ratio", 0.5));
  const ValueId training = g.scalar(Elem::Bool, n.attr_int("is_test", 0) == 0 ? 1 : 0);
  OnnxNode other = n;
  other.attributes.clear();
  std::vector<ValueId> y =
      as_onnx(other, g, "Dropout", {n.need(0), ratio, training}, n.wants(1) ? 2 : 1);
  if (n.wants(1)) y[1] = m.cast(y[1], g.tensor(n.in(0)).elem);
  g.outputs(n, y);
}

void pad(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId value =
      m.cast(g.scalar(Elem::F32, n.attr_float("value", 0)), g.tensor(n.need(0)).elem);
  g.output(n, as_onnx(n, g, "Pad", {n.in(0), g.ints(n.attr_ints("paddings")), value},
                      {{"mode", n.attr_string("mode", "constant")}}));
}

void reshape(const OnnxNode& n, Builder& g) {
  g.output(n, as_onnx(n, g, "Reshape", {n.need(0), g.ints(n.attr_ints("shape"))}, AttrPairs{}));
}

/// The lengths may be an input, of the type of the data.
void split(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  ValueId sizes = n.has(1) ? m.cast(n.in(1), Elem::I64) : kNoValue;
  if (n.has_attr("split")) sizes = g.ints(n.attr_ints("split"));
  OnnxNode other = n;
  other.attributes = {{"axis", n.attr_int("axis", 0)}};
  if (sizes == kNoValue) other.attributes.emplace_back("num_outputs", std::ssize(n.outputs));
  g.outputs(n, as_onnx(other, g, "Split", {n.need(0), sizes}, n.outputs.size()));
}

/// How often one axis is repeated; both are inputs of one element.
void tile(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  std::vector<int64_t> places;
  for (int64_t d = 0; d < g.tensor(n.need(0)).rank(); ++d) places.push_back(d);
  const auto number = [&](size_t i) { return m.reshape(m.cast(n.need(i), Elem::I64), {1}); };
  const ValueId here = m.call("equal", {g.ints(places), number(2)});
  const ValueId repeats = m.call("where", {here, number(1), g.ints({1})});
  g.output(n, as_onnx(n, g, "Tile", {n.in(0), repeats}, AttrPairs{}));
}

void upsample(const OnnxNode& n, Builder& g) {
  const std::vector<double> scales = {1, 1, n.attr_float("height_scale", 1),
                                      n.attr_float("width_scale", 1)};
  const std::string mode = n.attr_string("mode", "nearest");
  g.output(
      n, as_onnx(n, g, "Upsample", {n.need(0), g.constant(float_constant(Elem::F32, {4}, scales))},
                 {{"mode", mode == "bilinear" ? std::string("linear") : mode}}));
}

}  // namespace

std::vector<OnnxRule> old_rules() {
  return {{.op = "Cast", .rule = cast, .to = 5},        {.op = "Dropout", .rule = dropout, .to = 6},
          {.op = "Pad", .rule = pad, .to = 1},          {.op = "Reshape", .rule = reshape, .to = 4},
          {.op = "Split", .rule = split, .to = 1},      {.op = "Tile", .rule = tile, .to = 5},
          {.op = "Upsample", .rule = upsample, .to = 6}};
}

}  // namespace tilewright::ops
