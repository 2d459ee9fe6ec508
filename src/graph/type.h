// SPDX-License-Identifier: Apache-2.0
// Types of graph values: tensors with symbolic dimensions, sequences and optionals.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/build.h"

namespace tilewright::graph {

/// A dimension: a constant, or a formula of the graph's symbols. Always i64. Null where only a run
/// tells: in what `infer` gives for control and host operators, in the types of body inputs (the
/// builder makes a symbol for each), and inside sequences and optionals (it may differ by element).
using Dim = ir::Expr;
using Shape = std::vector<Dim>;

/// Where a tensor lives. Index 0 is the only CPU.
enum class DeviceKind : uint8_t { Cpu };
struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  int32_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

struct TensorType {
  ir::Elem elem = ir::Elem::F32;
  Shape shape = {};
  bool strings = false;         // the elements are strings, and `elem` says nothing
  ir::Layout layout = nullptr;  // null: row-major
  Device device = {};

  int rank() const { return static_cast<int>(shape.size()); }
};

/// A tensor whose rank is known only when the program runs.
struct UnrankedType {
  ir::Elem elem = ir::Elem::F32;
  bool strings = false;
};

struct Type;
struct SequenceType {
  std::shared_ptr<const Type> element;
  bool empty = false;  // nothing is in it, and `element` tells no more than the kind of elements
};
struct OptionalType {
  std::shared_ptr<const Type> element;
  bool empty = false;  // likewise
};

struct Type : std::variant<TensorType, UnrankedType, SequenceType, OptionalType> {
  using variant::variant;
  const TensorType* tensor() const { return std::get_if<TensorType>(this); }
  const UnrankedType* unranked() const { return std::get_if<UnrankedType>(this); }
  const SequenceType* sequence() const { return std::get_if<SequenceType>(this); }
  const OptionalType* optional() const { return std::get_if<OptionalType>(this); }
};
Type sequence_of(Type element);
Type optional_of(Type element);

/// `f32[batch, 3, 224, 224]`, `string[n]`, `i64[*]` (unranked), `seq<f32[n]>`, `opt<…>`; `?` for
/// a dimension that is not known, `seq<f32[n], empty>`.
std::string print(const Type& type);
std::string print(const Shape& shape);

/// The dimensions as constants; nothing when one is symbolic.
std::optional<std::vector<int64_t>> const_dims(const Shape& shape);
Shape dims(const std::vector<int64_t>& constants);
/// The product of all dimensions.
Dim elements(const Shape& shape);
/// Equal for every value of the symbols, as far as simplification shows.
bool same(const Dim& a, const Dim& b);
bool same(const Shape& a, const Shape& b);
bool same(const Type& a, const Type& b);
/// An equal formula, as simple as the rules make it.
Dim simplified(const Dim& dim);

}  // namespace tilewright::graph
