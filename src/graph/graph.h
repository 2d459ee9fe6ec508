// SPDX-License-Identifier: Apache-2.0
// The graph IR: typed, functional, SSA. README.md of this folder tells what it means.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/attrs.h"
#include "graph/symbol_index.h"
#include "graph/type.h"
#include "ir/func.h"

namespace tilewright::graph {

struct OpDef;

/// A value of the graph, by its place in Graph::values. Nested functions use the values of those
/// around them directly.
using ValueId = int32_t;
constexpr ValueId kNoValue = -1;  // an optional input that is not there

struct Value {
  std::string name;  // the user's, or made up from it; unique in a graph
  Type type;
  Constant constant;  // null unless its content is known
  /// The elements of an integer tensor (rank 0 or 1, at most kMaxElements) as formulas of the
  /// symbols: what a Shape gives, and what Gather, Concat and arithmetic make of it.
  std::optional<std::vector<Dim>> elements;
  /// The same of a float tensor whose elements are whole numbers, such as a shape cast to floats:
  /// exact as long as all of them are small enough for the type, which is checked where they become
  /// integers again.
  std::optional<std::vector<Dim>> wholes;
};
constexpr int64_t kMaxElements = 256;

/// Elements read as sizes and positions lie between these.
constexpr int64_t kElementLimit = int64_t{1} << 40;

/// Which node of the user's model something comes from: `Conv "conv1" (#17)`.
struct Origin {
  std::string text;
};

struct Function;

/// One call of an operator.
struct Node {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // kNoValue: nobody wants it
  std::vector<Function> bodies;  // of If, Loop, Scan and of a fused group
  Origin origin;
  size_t algorithm = 0;  // the first of the operator's that may compute it
};

/// A condition on symbols that is checked when the program runs.
struct Check {
  ir::Expr condition;
  std::string message;  // with the user's names
  Origin origin;
};

struct Function {
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Node> nodes;    // each after those that make its inputs
  std::vector<Check> checks;  // of a body: made only when it runs
};

/// Where the value of a symbol comes from when the program runs.
struct FromInput {  // the extent of a dimension of an input of the main function
  ValueId input;
  int axis;
};
struct FromElement {  // element `index` (row-major) of an integer tensor, once that is computed;
                      // cut off at the ends of the symbol's range, so that i64's greatest value as
                      // an end of a slice means what it says
  ValueId value;
  int64_t index;
};
struct FromFormula {  // of earlier symbols; a value outside of the symbol's range is an error
  Dim formula;
};
/// The extent of a dimension of a value whose shape only the run tells: an input of a body, or a
/// result of a control or host operator. Made where a type given for such a value has a null Dim.
struct FromExtent {
  ValueId value;
  int axis;
};
/// What a size may be that nobody has given a bound: sizes fit the i32 that some exporters cast
/// them to.
constexpr int64_t kMaxSize = INT32_MAX;
struct SymbolInfo {
  ir::Symbol symbol;
  /// What a run may give, where checks allow less: the symbol's range is what they leave.
  std::optional<std::pair<int64_t, int64_t>> given = std::nullopt;
  std::variant<FromInput, FromElement, FromFormula, FromExtent> source;
  Origin origin;
};

/// The values of the symbol that a run may give, before any check.
inline std::pair<int64_t, int64_t> given(const SymbolInfo& s) {
  return s.given.value_or(std::pair(s.symbol.min, s.symbol.max));
}

struct Graph {
  std::vector<Value> values;
  std::vector<SymbolInfo> symbols;  // each after those that its formula mentions
  SymbolIndex symbol_index;
  /// Nodes of formulas that may still be simplified or proved something about. Past that, less is
  /// known before the run: a small file could ask for hours of it.
  int64_t reasoning_left = 1'200'000;
  std::vector<Check> checks;        // of the main function
  std::vector<Function> functions;  // the first is the main one
  /// What the user calls each output of the main function. The value may have another name: it may
  /// be an input, a constant, or several outputs at once.
  std::vector<std::string> output_names;
  /// What inputs of the main function are when a run does not give them. They may be given, so
  /// nothing is known of their content.
  std::map<ValueId, Constant> defaults;
  std::map<std::string, std::string> metadata;

  const Function& main() const { return functions.front(); }
  Function& main() { return functions.front(); }
  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<size_t>(id)]; }
  const Type& type(ValueId id) const { return value(id).type; }
};

/// The text form, by the grammar of README.md.
std::string print(const Graph& graph);

}  // namespace tilewright::graph
