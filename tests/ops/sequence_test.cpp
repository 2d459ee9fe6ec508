// SPDX-License-Identifier: Apache-2.0
// Types of sequences, optionals and strings: what runs them is tested with the runtime.
#include "graph/builder.h"
#include "ops/ops.h"
#include "ops/run_node.h"
#include "ops/strings.h"

namespace tilewright::ops {
namespace {

using graph::Builder;
using graph::ValueId;

/// The types that a node's results have.
std::vector<std::string> types_of(
    Builder& g, std::string op, std::vector<ValueId> inputs,
    std::vector<std::pair<std::string, graph::OnnxAttr>> attributes = {},
    std::vector<ValueId>* results = nullptr) {
  graph::OnnxNode node;
  node.op = std::move(op);
  node.opset = 21;
  node.inputs = std::move(inputs);
  node.outputs = {"y0", "y1"};
  node.attributes = std::move(attributes);
  if (!import_on_strings(node, g)) onnx_rule("", node.op, 21)->rule(node, g);
  std::vector<std::string> out;
  const std::vector<ValueId> made = g.take_results();
  for (const ValueId id : made) out.push_back(print(g.type(id)));
  if (results) *results = made;
  return out;
}

ValueId tensor(Builder& g, const std::string& name, graph::Shape shape) {
  return g.input(name, graph::TensorType{.elem = ir::Elem::F32, .shape = std::move(shape)});
}
ValueId text(Builder& g, const std::string& name, graph::Shape shape) {
  return g.input(
      name, graph::TensorType{.elem = ir::Elem::U8, .shape = std::move(shape), .strings = true});
}

TEST(Sequence, KnowsWhatItsItemsHaveInCommon) {
  Builder g;
  const ValueId a = tensor(g, "a", {2, 3}), b = tensor(g, "b", {2, 4});
  std::vector<ValueId> seq;
  EXPECT_EQ(types_of(g, "SequenceConstruct", {a, b}, {}, &seq)[0], "seq<f32[2, ?]>");
  EXPECT_EQ(types_of(g, "SequenceLength", seq)[0], "i64[]");
  EXPECT_EQ(types_of(g, "SequenceAt", {seq[0], g.ints({0})})[0].substr(0, 7), "f32[2, ");
  EXPECT_EQ(types_of(g, "ConcatFromSequence", seq, {{"axis", int64_t{1}}})[0].substr(0, 7),
            "f32[2, ");
}

TEST(Sequence, OfNothingTakesTheTypeOfItsFirstItem) {
  Builder g;
  std::vector<ValueId> seq, more;
  types_of(g, "SequenceEmpty", {}, {}, &seq);
  EXPECT_EQ(types_of(g, "SequenceInsert", {seq[0], tensor(g, "a", {5})}, {}, &more)[0],
            "seq<f32[5]>");
  EXPECT_EQ(types_of(g, "SequenceInsert", {more[0], tensor(g, "b", {6, 1})})[0], "seq<f32[*]>");
}

TEST(Sequence, RefusesItemsOfAnotherKind) {
  Builder g;
  const ValueId a = tensor(g, "a", {2});
  const Diagnostic e = diagnostic_of([&] { types_of(g, "SequenceConstruct", {a, g.ints({1})}); });
  EXPECT_EQ(e.code, "ops.sequence.item");
}

TEST(Sequence, SplitsIntoItems) {
  Builder g;
  const ValueId a = tensor(g, "a", {6, 3});
  EXPECT_EQ(types_of(g, "SplitToSequence", {a})[0], "seq<f32[1, 3]>");
  EXPECT_EQ(types_of(g, "SplitToSequence", {a}, {{"keepdims", int64_t{0}}})[0], "seq<f32[3]>");
  EXPECT_EQ(types_of(g, "SplitToSequence", {a, g.ints({2})})[0], "seq<f32[?, 3]>");
}

TEST(Optional, HoldsAndGivesBack) {
  Builder g;
  std::vector<ValueId> some;
  EXPECT_EQ(types_of(g, "Optional", {tensor(g, "a", {2})}, {}, &some)[0], "opt<f32[2]>");
  EXPECT_EQ(types_of(g, "OptionalGetElement", some)[0], "f32[2]");
  EXPECT_EQ(types_of(g, "OptionalHasElement", some)[0], "bool[]");
}

TEST(Strings, AreMovedByTheirNumbers) {
  Builder g;
  const ValueId a = text(g, "a", {2, 3}), b = text(g, "b", {4, 3});
  EXPECT_EQ(types_of(g, "Transpose", {a})[0], "string[3, 2]");
  EXPECT_EQ(types_of(g, "Concat", {a, b}, {{"axis", int64_t{0}}})[0], "string[6, 3]");
  EXPECT_EQ(types_of(g, "Equal", {a, a})[0], "bool[2, 3]");
  EXPECT_EQ(types_of(g, "Cast", {a}, {{"to", int64_t{1}}})[0], "f32[2, 3]");
  EXPECT_EQ(types_of(g, "Reshape", {a, g.ints({6})})[0], "string[6]");
}

TEST(Strings, SplitIntoAsManyAsTheLongestHas) {
  Builder g;
  const std::vector<std::string> types = types_of(g, "StringSplit", {text(g, "a", {2})});
  EXPECT_EQ(types[0].substr(0, 10), "string[2, ");
  EXPECT_EQ(types[1], "i64[2]");
}

}  // namespace
}  // namespace tilewright::ops
