// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "te/te.h"

namespace tilewright::graph {

/// One call of an operator as its rules see it: `infer` and `elements` see types and what is known
/// of the values; a definition sees besides the inputs as tensors, and the types of the results.
class Call {
 public:
  Call(Graph& graph, const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs,
       const Origin& origin, const std::vector<Function>& bodies);

  template <class T>
  const T& attrs() const {
    return attrs_.as<T>();
  }
  const Attrs& all_attrs() const { return attrs_; }
  const std::vector<Function>& bodies() const { return bodies_; }
  Graph& graph() const { return graph_; }

  size_t inputs() const { return inputs_.size(); }
  /// Is input i there? Optional ones may be missing.
  bool has(size_t i) const;
  ValueId id(size_t i) const { return inputs_[i]; }
  const Type& type(size_t i) const;
  /// The type of input i as a tensor of known rank; refuses another one, or a missing input.
  const TensorType& tensor(size_t i) const;
  ir::Elem elem(size_t i) const { return tensor(i).elem; }
  const Shape& shape(size_t i) const { return tensor(i).shape; }
  int rank(size_t i) const { return tensor(i).rank(); }
  /// The content of input i; null when it is not known at compile time.
  const ConstantNode* constant(size_t i) const;
  /// The elements of input i as formulas, where all are known without running; of a float tensor,
  /// where they are whole numbers (see Value::wholes). Exact, whereas `element` cuts constants off
  /// at ±kElementLimit.
  std::optional<std::vector<Dim>> known_elements(size_t i) const;

  /// Element k of the integer tensor of input i: a constant, a formula, or a symbol whose value is
  /// read when the program runs. The same element always gives the same symbol.
  Dim element(size_t i, int64_t k) const;
  /// All elements of a rank-0 or rank-1 integer tensor of constant length.
  std::vector<Dim> elements(size_t i) const;
  /// `formula` as an extent, simplified: itself when it is short and cannot be negative, else a
  /// symbol with its value, whose sign is checked when the program runs.
  Dim extent(const Dim& formula) const;
  /// A condition on symbols that must hold: an Error when it is false, a check when the program
  /// runs where it cannot be decided.
  void check(const ir::Expr& condition, std::string_view message) const;
  /// Two dimensions that must agree. Gives the better known one.
  Dim equal(const Dim& a, const Dim& b, std::string_view what) const;
  /// An equal formula, as simple as the ranges of the symbols allow.
  Dim simple(const Dim& formula) const;
  /// Is the condition on symbols true for all their values?
  bool proves(const ir::Expr& condition) const;

  /// An Error about this node: message and remedy in the user's words.
  [[noreturn]] void refuse(std::string_view code, std::string message, std::string help,
                           std::vector<std::string> notes = {}) const;

  // For definitions.
  /// Are the types of the results known, and the inputs there as tensors?
  bool defines() const { return !outputs_.empty(); }
  /// Input i as a tensor. A constant of one element is its value, not memory.
  const te::Tensor& in(size_t i) const;
  const TensorType& out(size_t i) const;
  /// The shape of result i for te::compute.
  te::Shape out_shape(size_t i = 0) const;
  void bind(std::vector<std::optional<te::Tensor>> inputs, std::vector<Type> outputs);

 private:
  const Value& value(size_t i) const;

  Graph& graph_;
  const OpDef& op_;
  const Attrs& attrs_;
  const std::vector<ValueId>& inputs_;
  const Origin& origin_;
  const std::vector<Function>& bodies_;
  std::vector<std::optional<te::Tensor>> tensors_;
  std::vector<Type> outputs_;
};

/// An Error about an attribute that an operator has not, in a text.
[[noreturn]] void refuse_attribute(const std::string& name);

/// Dimension expressions as te shapes and back.
te::Shape te_shape(const Shape& shape);

/// NumPy's rule for two shapes; refuses with the operator's name. Unequal symbolic dimensions are
/// checked to be equal when the program runs; a dimension that may be 1 only at run time counts as
/// the other's equal.
Shape broadcast(const Call& call, const Shape& a, const Shape& b);
/// The same, where a symbolic dimension may also turn out to be 1 and is repeated then: what reads
/// such an input asks broadcast_read(call, …) of ops/define.h for its indices.
Shape broadcast_at_run(const Call& call, const Shape& a, const Shape& b);
/// -rank <= axis < rank, as 0 <= axis < rank.
int normal_axis(const Call& call, int64_t axis, int rank);

}  // namespace tilewright::graph
