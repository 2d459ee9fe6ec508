// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "frontend/onnx/import.h"
#include "frontend/onnx/proto.h"
#include "graph/builder.h"

namespace tilewright::frontend::onnx {

/// An element type of TensorProto: a number type or strings. `what` stands in the error.
struct ElemOrStrings {
  ir::Elem elem = ir::Elem::F32;
  bool strings = false;
};
ElemOrStrings elem_type(int64_t data_type, const std::string& what);

/// A type with constant dimensions only, as attributes have them: a tensor with others is unranked.
graph::Type fixed_type(const TypeProto& type, const std::string& what);

/// The types of the model's inputs: dimensions become constants and symbols.
class InputTypes {
 public:
  InputTypes(const GraphProto& graph, const std::map<std::string, DimRange>& choices,
             graph::Builder& g);

  graph::Type type(const ValueInfoProto& input);
  /// Refuses choices for dimensions that no input had.
  void refuse_unused_choices() const;

 private:
  graph::Dim dimension(const ValueInfoProto& input, size_t axis,
                       const TypeProto::Dimension& dimension);
  graph::Type map(const ValueInfoProto& input);

  const GraphProto& graph_;
  const std::map<std::string, DimRange>& choices_;
  graph::Builder& g_;
  std::set<std::string, std::less<>> names_;  // that the model gives
  std::set<std::string, std::less<>> used_;   // names of dimensions of inputs
};

}  // namespace tilewright::frontend::onnx
