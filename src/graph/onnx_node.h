// SPDX-License-Identifier: Apache-2.0
// A node of an ONNX model as the operators' import rules see it: plain data, no protobuf.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/builder.h"

namespace tilewright::graph {

struct OnnxNode;

/// A subgraph attribute; `build` makes a body of it when the node's rule asks for it. The types of
/// its inputs are those given: a rule knows them (an element of a scan input, a carried value).
class OnnxSubgraph {
 public:
  virtual ~OnnxSubgraph() = default;
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  virtual Function build(Builder& g, const std::vector<Type>& input_types) const = 0;
};

using OnnxAttr = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                              std::vector<std::string>, Constant, std::vector<Constant>,
                              const OnnxSubgraph*, Type>;

struct OnnxNode {
  std::string op, domain, name;
  int opset = 0;                     // version of the domain that the model asks for
  std::vector<ValueId> inputs;       // kNoValue: left out
  std::vector<std::string> outputs;  // names; empty: left out
  std::vector<std::pair<std::string, OnnxAttr>> attributes;

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != kNoValue; }
  ValueId in(size_t i) const { return i < inputs.size() ? inputs[i] : kNoValue; }
  /// Refuses a missing input with the node's name.
  ValueId need(size_t i) const;
  bool wants(size_t output) const { return output < outputs.size() && !outputs[output].empty(); }

  bool has_attr(std::string_view name) const { return find(name) != nullptr; }
  // Each refuses an attribute of another kind. The second form is for a missing one.
  int64_t attr_int(std::string_view name) const;
  int64_t attr_int(std::string_view name, int64_t otherwise) const;
  float attr_float(std::string_view name, float otherwise) const;
  std::string attr_string(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> attr_ints(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<float> attr_floats(std::string_view name, std::vector<float> otherwise = {}) const;
  std::vector<std::string> attr_strings(std::string_view name) const;
  Constant attr_tensor(std::string_view name) const;  // null when missing
  const OnnxSubgraph& attr_graph(std::string_view name) const;
  /// A TensorProto.DataType as element type; nothing when missing.
  std::optional<ir::Elem> attr_elem(std::string_view name) const;

  /// An Error about this node.
  [[noreturn]] void refuse(std::string_view code, std::string message, std::string help) const;
  Origin origin;

 private:
  const OnnxAttr* find(std::string_view name) const;
};

/// ONNX's numbers of element types; nothing for strings, complex numbers and unknown ones.
std::optional<ir::Elem> elem_from_onnx(int64_t data_type);
int64_t onnx_from_elem(ir::Elem elem);

}  // namespace tilewright::graph
