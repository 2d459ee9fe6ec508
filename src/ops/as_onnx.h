// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "graph/onnx_node.h"

namespace tilewright::ops {

using AttrPairs = std::vector<std::pair<std::string, graph::OnnxAttr>>;

/// What another ONNX operator of the default domain makes of these values, with the attributes of
/// `n`: for operators that are such ones with something before or after.
std::vector<graph::ValueId> as_onnx(const graph::OnnxNode& n, graph::Builder& g,
                                    std::string_view op, const std::vector<graph::ValueId>& inputs,
                                    size_t outputs = 1);
/// The same with other attributes, and one result.
graph::ValueId as_onnx(const graph::OnnxNode& n, graph::Builder& g, std::string_view op,
                       const std::vector<graph::ValueId>& inputs, AttrPairs attributes);

/// Calls in short, for rules that make one node of many.
struct Make {
  const graph::OnnxNode& n;
  graph::Builder& g;
  using ValueId = graph::ValueId;

  ValueId call(std::string_view op, const std::vector<ValueId>& inputs) const;
  ValueId add(ValueId a, ValueId b) const { return call("add", {a, b}); }
  /// a + b, or a when there is no b.
  ValueId add_if(ValueId a, ValueId b) const { return b == graph::kNoValue ? a : add(a, b); }
  ValueId mul(ValueId a, ValueId b) const { return call("mul", {a, b}); }
  /// 0 keeps a dimension, -1 takes the rest.
  ValueId reshape(ValueId x, const std::vector<int64_t>& shape) const;
  ValueId transpose(ValueId x, const std::vector<int64_t>& order) const;
  ValueId cast(ValueId x, ir::Elem to) const;
  ValueId concat(const std::vector<ValueId>& parts, int64_t axis) const;
  ValueId gather(ValueId x, ValueId indices, int64_t axis) const;
  /// Parts of these sizes along the axis.
  std::vector<ValueId> split(ValueId x, const graph::Shape& sizes, int64_t axis) const;
  /// The extent of an axis, i64[]; 0, 1, … extent - 1 as i64[extent].
  ValueId extent(ValueId x, int64_t axis) const;
  ValueId positions(ValueId x, int64_t axis) const;
  /// The same as a formula.
  graph::Dim dim(ValueId x, int64_t axis) const;
};

}  // namespace tilewright::ops
