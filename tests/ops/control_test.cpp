// SPDX-License-Identifier: Apache-2.0
#include "ops/control.h"

#include <functional>

#include "ops/ops.h"
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using graph::Builder;
using graph::ValueId;
using Values = std::vector<ValueId>;

/// A subgraph by what it does with its inputs.
class Body : public graph::OnnxSubgraph {
 public:
  Body(size_t inputs, size_t outputs, std::function<Values(Builder&, const Values&)> make)
      : inputs_(inputs), outputs_(outputs), make_(std::move(make)) {}
  size_t inputs() const override { return inputs_; }
  size_t outputs() const override { return outputs_; }
  graph::Function build(Builder& g, const std::vector<graph::Type>& types) const override {
    g.begin_body("body");
    Values in;
    for (const graph::Type& t : types) in.push_back(g.body_input("in", t));
    return g.end_body(make_(g, in));
  }

 private:
  size_t inputs_, outputs_;
  std::function<Values(Builder&, const Values&)> make_;
};

graph::OnnxAttr attr(const Body& body) { return static_cast<const graph::OnnxSubgraph*>(&body); }

ValueId add(Builder& g, ValueId a, ValueId b) { return g.call(op("add"), {}, {a, b}); }
ValueId less(Builder& g, ValueId a, ValueId b) { return g.call(op("less"), {}, {a, b}); }
/// The tensor twice, one after the other along its only dimension: its size doubles.
ValueId twice(Builder& g, ValueId x) {
  const ValueId row = g.call(op("unsqueeze"), {}, {x, g.ints({0})});
  const ValueId both = add(g, row, g.constant(floats({2, 1}, {0, 0})));
  return g.call(op("reshape"), ReshapeAttrs{}, {both, g.ints({-1})});
}

TEST(If, RunsOneBranchAndMergesTheirShapes) {
  const Body yes(0, 1,
                 [](Builder& g, const Values&) { return Values{g.constant(floats({2}, {1, 2}))}; });
  const Body no(0, 1, [](Builder& g, const Values&) {
    return Values{add(g, g.constant(floats({3}, {1, 2, 3})), g.scalar(ir::Elem::F32, 1))};
  });
  for (const bool known : {false, true}) {
    TestNode test{.op = "If",
                  .attributes = {{"then_branch", attr(yes)}, {"else_branch", attr(no)}}};
    if (known) test.constants = {0};
    const auto cond = [](int64_t c) { return ints({}, {c}, ir::Elem::Bool); };
    EXPECT_EQ(numbers(run_node(test, {cond(1)})[0]), (std::vector<double>{1, 2}));
    EXPECT_EQ(numbers(run_node(test, {cond(0)})[0]), (std::vector<double>{2, 3, 4}));
  }
}

TEST(If, RefusesBranchesOfDifferentKinds) {
  const Body yes(0, 1, [](Builder& g, const Values&) { return Values{g.ints({1})}; });
  const Body no(0, 1,
                [](Builder& g, const Values&) { return Values{g.constant(floats({1}, {1}))}; });
  const Diagnostic e = diagnostic_of([&] {
    run_node({.op = "If", .attributes = {{"then_branch", attr(yes)}, {"else_branch", attr(no)}}},
             {ints({}, {1}, ir::Elem::Bool)});
  });
  EXPECT_EQ(e.code, "ops.control.types");
}

TEST(Merged, KeepsWhatIsTheSame) {
  Builder g;
  const graph::Dim n = g.symbol("n");
  const graph::TensorType a{.elem = ir::Elem::F32, .shape = {n, 2, 3}};
  const graph::TensorType b{.elem = ir::Elem::F32, .shape = {n, 2, 4}};
  EXPECT_EQ(print(*merged(a, b)), "f32[n, 2, ?]");
  EXPECT_EQ(print(*merged(a, graph::TensorType{.elem = ir::Elem::F32, .shape = {n}})), "f32[*]");
  EXPECT_EQ(print(*merged(graph::sequence_of(a), graph::sequence_of(b))), "seq<f32[n, 2, ?]>");
  EXPECT_FALSE(merged(a, graph::sequence_of(b)));
}

// sum = sum + i; stack sum
const Body kSums(3, 3, [](Builder& g, const Values& in) {
  const ValueId i = g.call(op("reshape"), ReshapeAttrs{}, {in[0], g.ints({1})});
  const ValueId sum = add(g, in[2], i);
  return Values{in[1], sum, sum};
});

TEST(Loop, CarriesAndStacks) {
  for (const int64_t trips : {0, 1, 4}) {
    const auto y = run_node({.op = "Loop", .attributes = {{"body", attr(kSums)}}, .outputs = 2},
                            {ints({}, {trips}), nullptr, ints({1}, {10})});
    EXPECT_EQ(numbers(y[0])[0], trips == 0 ? 10 : trips == 1 ? 10 : 16);
    EXPECT_EQ(y[1]->shape, (std::vector<int64_t>{trips, 1}));
  }
}

TEST(Loop, EndsByItsCondition) {
  const Body body(3, 3, [](Builder& g, const Values& in) {
    const ValueId next = add(g, in[2], in[2]);
    const ValueId goes_on = less(g, next, g.scalar(ir::Elem::I64, 50));
    return Values{goes_on, next, next};
  });
  const auto y = run_node({.op = "Loop", .attributes = {{"body", attr(body)}}, .outputs = 2},
                          {nullptr, nullptr, ints({}, {3})});
  EXPECT_EQ(numbers(y[0]), std::vector<double>{96});
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{6, 12, 24, 48, 96}));
  const auto none = run_node({.op = "Loop", .attributes = {{"body", attr(body)}}, .outputs = 2},
                             {nullptr, ints({}, {0}, ir::Elem::Bool), ints({}, {3})});
  EXPECT_EQ(numbers(none[0]), std::vector<double>{3});
  EXPECT_EQ(none[1]->shape, std::vector<int64_t>{0});
}

TEST(Loop, CarriesATensorThatGrows) {
  const Body body(
      4, 3, [](Builder& g, const Values& in) { return Values{in[1], twice(g, in[2]), in[3]}; });
  const auto y = run_node({.op = "Loop", .attributes = {{"body", attr(body)}}, .outputs = 2},
                          {ints({}, {3}), nullptr, floats({2}, {1, 2}), floats({1}, {7})});
  EXPECT_EQ(y[0]->shape, std::vector<int64_t>{16});
  EXPECT_EQ(numbers(y[0])[15], 2);
  EXPECT_EQ(numbers(y[1]), std::vector<double>{7});
}

TEST(Loop, GivesConstantExtentsWhereNothingChanges) {
  Builder g;
  graph::OnnxNode node;
  node.op = "Loop";
  node.opset = 21;
  const Body body(3, 2,
                  [](Builder& b, const Values& in) { return Values{in[1], add(b, in[2], in[2])}; });
  node.attributes = {{"body", attr(body)}};
  node.outputs = {"y"};
  const ValueId x =
      g.input("x", graph::TensorType{.elem = ir::Elem::F32, .shape = {g.symbol("n"), 3}});
  node.inputs = {g.ints({5}), graph::kNoValue, x};
  onnx_rule("", "Loop", 21)->rule(node, g);
  EXPECT_EQ(print(g.type(g.take_results()[0])), "f32[n, 3]");
}

TEST(Scan, GoesOverAnAxisInEitherDirection) {
  // state = state + x; y = state
  const Body body(2, 2, [](Builder& g, const Values& in) {
    const ValueId sum = add(g, in[0], in[1]);
    return Values{sum, sum};
  });
  const auto x = floats({2, 3}, {1, 2, 3, 10, 20, 30});
  const auto run = [&](int64_t axis, int64_t reverse, int64_t out_axis, int64_t out_reverse) {
    const int64_t states = axis == 0 ? 3 : 2;
    return run_node({.op = "Scan",
                     .attributes = {{"body", attr(body)},
                                    {"num_scan_inputs", int64_t{1}},
                                    {"scan_input_axes", std::vector{axis}},
                                    {"scan_input_directions", std::vector{reverse}},
                                    {"scan_output_axes", std::vector{out_axis}},
                                    {"scan_output_directions", std::vector{out_reverse}}},
                     .outputs = 2},
                    {floats({states}, std::vector<double>(static_cast<size_t>(states), 0)), x});
  };
  EXPECT_EQ(numbers(run(0, 0, 0, 0)[1]), (std::vector<double>{1, 2, 3, 11, 22, 33}));
  EXPECT_EQ(numbers(run(0, 1, 0, 0)[1]), (std::vector<double>{10, 20, 30, 11, 22, 33}));
  EXPECT_EQ(numbers(run(-1, 0, 1, 1)[1]), (std::vector<double>{6, 3, 1, 60, 30, 10}));
  EXPECT_EQ(numbers(run(-1, 0, 0, 0)[0]), (std::vector<double>{6, 60}));
}

TEST(Scan, HasABatchInVersion8) {
  const Body body(2, 2, [](Builder& g, const Values& in) {
    const ValueId sum = add(g, in[0], in[1]);
    return Values{sum, sum};
  });
  const auto y = run_node({.op = "Scan",
                           .opset = 8,
                           .attributes = {{"body", attr(body)}, {"num_scan_inputs", int64_t{1}}},
                           .outputs = 2},
                          {nullptr, floats({2, 1}, {0, 100}), floats({2, 2, 1}, {1, 2, 3, 4})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{3, 107}));
  EXPECT_EQ(y[1]->shape, (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{1, 3, 103, 107}));
}

}  // namespace
}  // namespace tilewright::ops
