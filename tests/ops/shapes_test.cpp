// SPDX-License-Identifier: Apache-2.0
// view, shape, range: shapes as values, and values as shapes.
#include "graph/builder.h"
#include "ir/interpret/interpret.h"
#include "lower/to_blocks.h"
#include "ops/ops.h"
#include "ops/run_node.h"
#include "ops/view.h"

namespace tilewright::ops {
namespace {

using graph::Dim;
using graph::NoAttrs;
using graph::TensorType;
using graph::ValueId;

std::vector<int64_t> shape_of_result(const TestNode& node,
                                     const std::vector<graph::Constant>& inputs) {
  return run_node(node, inputs)[0]->shape;
}
graph::Constant zeros(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t d : shape) count *= d;
  return floats(std::move(shape), std::vector<double>(static_cast<size_t>(count)));
}

/// x: f32[n, 6], and what exporters make of its shape.
struct Chain {
  graph::Builder g;
  Dim n = g.symbol("n");
  ValueId x = g.input("x", TensorType{.shape = {n, Dim(6)}});
  ValueId shape = g.call(op("shape"), ShapeAttrs{}, {x});

  ValueId at(int64_t i) { return g.call(op("gather"), AxisAttrs{}, {shape, g.ints({i})}); }
  std::string type(ValueId id) { return graph::print(g.type(id)); }
};

TEST(Elements, FollowAShapeThroughGatherArithmeticAndConcat) {
  Chain c;
  const ValueId twice = c.g.call(op("mul"), NoAttrs{}, {c.at(0), c.g.ints({2})});
  const ValueId half = c.g.call(op("div"), NoAttrs{}, {c.at(-1), c.g.ints({2})});
  const ValueId to = c.g.call(op("concat"), AxisAttrs{}, {twice, half});
  const ValueId out = c.g.call(op("reshape"), ReshapeAttrs{}, {c.x, to});
  EXPECT_EQ(c.type(out), "f32[n * 2, 3]");
}

TEST(Elements, CancelWhatIsLeftOfAReshape) {
  Chain c;
  const ValueId to = c.g.call(op("concat"), AxisAttrs{}, {c.at(0), c.g.ints({2, -1})});
  EXPECT_EQ(c.type(c.g.call(op("reshape"), ReshapeAttrs{}, {c.x, to})), "f32[n, 2, 3]");
  EXPECT_EQ(c.type(c.g.call(op("reshape"), ReshapeAttrs{}, {c.x, c.g.ints({0, 3, -1})})),
            "f32[n, 3, 2]");
  EXPECT_EQ(c.type(c.g.call(op("flatten"), AxisAttrs{0}, {c.x})), "f32[1, n * 6]");
}

TEST(Elements, DecideWhatExpandGets) {
  Chain c;  // where(shape == -1, 1, shape), as exporters write it
  const ValueId ones =
      c.g.call(op("full"), NoAttrs{}, {c.g.ints({2}), c.g.scalar(ir::Elem::I64, 1)});
  const ValueId minus = c.g.call(op("mul"), NoAttrs{}, {ones, c.g.ints({-1})});
  const ValueId same = c.g.call(op("equal"), NoAttrs{}, {c.shape, minus});
  const ValueId to = c.g.call(op("where"), NoAttrs{}, {same, ones, c.shape});
  const ValueId row = c.g.input("row", TensorType{.shape = {Dim(1), Dim(6)}});
  EXPECT_EQ(c.type(c.g.call(op("expand"), NoAttrs{}, {row, to})), "f32[n, 6]");
}

TEST(Elements, KeepI64sGreatestValue) {
  Chain c;
  const ValueId most = c.g.ints({std::numeric_limits<int64_t>::max()});
  const ValueId copy = c.g.call(op("concat"), AxisAttrs{}, {most, c.g.ints({0})});
  EXPECT_EQ(graph::int_at(*c.g.constant_of(copy), 0), std::numeric_limits<int64_t>::max());
  const ValueId out = c.g.call(op("slice"), NoAttrs{}, {c.x, c.g.ints({1}), most, c.g.ints({1})});
  EXPECT_EQ(c.type(out), "f32[n, 5]");
}

TEST(Elements, GoThroughI32UnderACheck) {
  Chain c;
  const ValueId narrow = c.g.call(op("cast"), CastAttrs{ir::Elem::I32}, {c.shape});
  const ValueId two = c.g.constant(graph::int_constant(ir::Elem::I32, {1}, {2}));
  const ValueId twice = c.g.call(op("mul"), NoAttrs{}, {narrow, two});
  EXPECT_TRUE(c.g.value(twice).elements.has_value());
  EXPECT_EQ(c.g.graph().checks.size(), 1u);  // n goes up to 2^31 - 1
}

TEST(Elements, GoThroughFloatsThatAreWholeNumbers) {
  Chain c;
  const ValueId floats = c.g.call(op("cast"), CastAttrs{ir::Elem::F32}, {c.shape});
  const ValueId twice = c.g.call(op("mul"), NoAttrs{}, {floats, c.g.scalar(ir::Elem::F32, 2)});
  const ValueId back =
      c.g.call(op("cast"), CastAttrs{ir::Elem::I64}, {c.g.call(op("floor"), NoAttrs{}, {twice})});
  EXPECT_FALSE(c.g.graph().checks.empty());  // 2 * n <= 2^24
  const ValueId filled = c.g.call(op("full"), NoAttrs{}, {back, c.g.scalar(ir::Elem::F32, 0)});
  EXPECT_EQ(c.type(filled), "f32[n * 2, 12]");
  const ValueId half = c.g.call(op("mul"), NoAttrs{}, {floats, c.g.scalar(ir::Elem::F32, 0.5)});
  EXPECT_FALSE(c.g.value(half).wholes.has_value());
}

TEST(Elements, CutASliceToItsDimension) {
  Chain c;
  const ValueId most = c.g.ints({std::numeric_limits<int64_t>::max()});
  const ValueId all = c.g.call(op("slice"), NoAttrs{}, {c.x, c.g.ints({0}), most, c.g.ints({0})});
  EXPECT_EQ(c.type(all), "f32[n, 6]");
}

TEST(View, ReshapesByAShapeThatOnlyARunTells) {
  const graph::Constant x = zeros({4, 6});
  EXPECT_EQ(shape_of_result({.op = "Reshape"}, {x, ints({3}, {2, -1, 3})}),
            (std::vector<int64_t>{2, 4, 3}));
  EXPECT_EQ(shape_of_result({.op = "Reshape", .symbolic = false}, {x, ints({2}, {0, 6})}),
            (std::vector<int64_t>{4, 6}));
  EXPECT_THROW(run_node({.op = "Reshape"}, {x, ints({2}, {5, 5})}), Error);
}

TEST(View, TakesAxesThatOnlyARunTells) {
  EXPECT_EQ(shape_of_result({.op = "Squeeze"}, {zeros({1, 3, 1}), ints({2}, {-1, 0})}),
            (std::vector<int64_t>{3}));
  EXPECT_EQ(shape_of_result({.op = "Unsqueeze"}, {zeros({3, 2}), ints({2}, {0, -2})}),
            (std::vector<int64_t>{1, 3, 1, 2}));
  EXPECT_THROW(run_node({.op = "Squeeze"}, {zeros({2, 3}), ints({1}, {0})}), Error);
  EXPECT_THROW(run_node({.op = "Unsqueeze"}, {zeros({2}), ints({2}, {1, 1})}), Error);
}

TEST(View, TakesAxesAsAttributesBeforeOpset13) {
  const TestNode squeeze{
      .op = "Squeeze", .opset = 11, .attributes = {{"axes", std::vector<int64_t>{1}}}};
  EXPECT_EQ(shape_of_result(squeeze, {zeros({2, 1, 1})}), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(shape_of_result({.op = "Squeeze", .opset = 11}, {zeros({2, 1, 1})}),
            (std::vector<int64_t>{2}));
}

TEST(View, ReadsTheSameElementsAsADefinition) {
  // Not as a view, but as it stands inside of a kernel: row-major order must stay.
  std::vector<double> order(48);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<double>(i);
  const te::Symbol n = te::symbol("n");
  const Dim d = n.ir();
  const auto read = [&](const graph::Shape& in, const graph::Shape& out) {
    const te::Tensor x = te::placeholder("x", ir::Elem::F32, graph::te_shape(in));
    const ir::LoopFunc f = lower::to_blocks(te::program("p", {x}, {reshaped(x, out)}, {n}));
    std::vector<ir::Array> args = {ir::from_bytes(ir::Elem::F32, {48}, floats({48}, order)->bytes),
                                   ir::make_array(ir::Elem::F32, {48})};
    for (const int i : {0, 1}) {
      args[static_cast<size_t>(i)].shape.clear();
      for (const Dim& extent : i == 0 ? in : out)
        args[static_cast<size_t>(i)].shape.push_back(ir::const_int(extent).value_or(4));
    }
    ir::interpret(f, args, {4});
    return graph::numbers_of(*graph::make_constant(ir::Elem::F32, {48}, ir::to_bytes(args[1])));
  };
  EXPECT_EQ(read({d, Dim(12)}, {Dim(3), d, Dim(4)}), order);
  EXPECT_EQ(read({d, Dim(2), Dim(6)}, {d, Dim(1), Dim(3), Dim(4)}), order);
  EXPECT_EQ(read({Dim(2), Dim(6), d}, {Dim(12), Dim(1), d}), order);
  EXPECT_EQ(read({Dim(1), Dim(48)}, {Dim(6), Dim(8), Dim(1)}), order);
}

TEST(Range, CountsByValuesOfTheRun) {
  EXPECT_EQ(numbers(run_node({.op = "Range"}, {ints({}, {10}), ints({}, {3}), ints({}, {-3})})[0]),
            (std::vector<double>{10, 7, 4}));
  EXPECT_EQ(
      numbers(run_node({.op = "Range"}, {floats({}, {0}), floats({}, {1}), floats({}, {0.4})})[0])
          .size(),
      3u);
  EXPECT_EQ(shape_of_result({.op = "Range"}, {ints({}, {5}), ints({}, {1}), ints({}, {1})}),
            (std::vector<int64_t>{0}));
}

TEST(Full, RefusesAValueOfSeveralElements) {
  const TestNode node{.op = "ConstantOfShape", .attributes = {{"value", ints({2}, {1, 2})}}};
  EXPECT_EQ(diagnostic_of([&] { run_node(node, {ints({1}, {3})}); }).code, "ops.full.value");
  EXPECT_EQ(shape_of_result({.op = "ConstantOfShape"}, {ints({2}, {0, 3})}),
            (std::vector<int64_t>{0, 3}));
}

}  // namespace
}  // namespace tilewright::ops
