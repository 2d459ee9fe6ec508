// SPDX-License-Identifier: Apache-2.0
// unary, activation, binary, pow and select: what ONNX's own cases leave out.
#include <cmath>

#include "ir/scalar.h"
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

TEST(Unary, RefusesATypeThatItIsNotDefinedOn) {
  EXPECT_EQ(diagnostic_of([] { run_node({.op = "Exp"}, {ints({2}, {1, 2})}); }).code,
            "ops.unary.type");
}

TEST(Unary, RoundsHalfToEvenAndKeepsNanOutOfSign) {
  EXPECT_EQ(numbers(run_node({.op = "Round"}, {floats({4}, {0.5, 1.5, -2.5, 2.4})})[0]),
            (std::vector<double>{0, 2, -2, 2}));
  EXPECT_EQ(numbers(run_node({.op = "Sign"}, {floats({3}, {-3, 0, 7})})[0]),
            (std::vector<double>{-1, 0, 1}));
}

TEST(Unary, ComputesShortFloatsInF32AndRoundsOnce) {
  const auto half = [](double v) { return graph::float_constant(ir::Elem::F16, {1}, {v}); };
  // 1 + exp(-8) is 1 in f16, whose logarithm is 0.
  EXPECT_EQ(numbers(run_node({.op = "Softplus"}, {half(-8)})[0])[0],
            ir::round_to(ir::Elem::F16, std::log1p(std::exp(-8.0))));
}

TEST(Unary, TakesASizeOfZero) {
  EXPECT_EQ(run_node({.op = "Relu", .symbolic = true}, {floats({0, 3}, {})})[0]->shape,
            (std::vector<int64_t>{0, 3}));
}

TEST(PRelu, BroadcastsBothWays) {
  for (const bool symbolic : {false, true}) {
    const auto y = run_node({.op = "PRelu", .symbolic = symbolic},
                            {floats({2, 1}, {-2, 3}), floats({3}, {1, 2, 4})});
    EXPECT_EQ(y[0]->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(numbers(y[0]), (std::vector<double>{-2, -4, -8, 3, 3, 3}));
  }
}

TEST(Activation, TakesItsNumbersFromTheNode) {
  const TestNode elu{.op = "Elu", .attributes = {{"alpha", 2.0F}}};
  EXPECT_NEAR(numbers(run_node(elu, {floats({2}, {-1, 3})})[0])[0], 2 * std::expm1(-1.0), 1e-6);
  const TestNode shrink{.op = "Shrink", .attributes = {{"lambd", 1.5F}, {"bias", 1.5F}}};
  EXPECT_EQ(numbers(run_node(shrink, {ints({3}, {-3, 0, 3}, ir::Elem::I32)})[0]),
            (std::vector<double>{-1, 0, 1}));
}

TEST(Binary, BroadcastsSymbolicShapes) {
  const auto out = run_node({.op = "Add", .symbolic = true},
                            {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3}, {10, 20, 30})});
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{11, 22, 33, 14, 25, 36}));
}

TEST(Binary, DividesIntegersTowardsZero) {
  const auto div = [](std::vector<int64_t> a, std::vector<int64_t> b) {
    return numbers(run_node({.op = "Div"}, {ints({4}, a), ints({4}, b)})[0]);
  };
  EXPECT_EQ(div({-7, 7, -7, 7}, {2, -2, -2, 2}), (std::vector<double>{-3, -3, 3, 3}));
  EXPECT_EQ(div({-6, 5, 0, -5}, {2, 0, -2, 0}), (std::vector<double>{-3, 0, 0, 0}));
}

TEST(Binary, GivesTheRemainderTheSignThatTheNodeAsksFor) {
  const auto mod = [](int64_t fmod, const graph::Constant& a, const graph::Constant& b) {
    return numbers(run_node({.op = "Mod", .attributes = {{"fmod", fmod}}}, {a, b})[0]);
  };
  const auto a = ints({2}, {-7, 7}), b = ints({2}, {3, -3});
  EXPECT_EQ(mod(0, a, b), (std::vector<double>{2, -2}));
  EXPECT_EQ(mod(1, a, b), (std::vector<double>{-1, 1}));
  const auto x = floats({2}, {-7.5, 7.5}), y = floats({2}, {3, -3});
  EXPECT_EQ(mod(0, x, y), (std::vector<double>{1.5, -1.5}));
  EXPECT_EQ(mod(1, x, y), (std::vector<double>{-1.5, 1.5}));
}

TEST(Binary, RefusesDifferentTypesAndShapesThatDoNotFit) {
  EXPECT_NO_THROW(run_node({.op = "Add"}, {floats({2}, {1, 2}), floats({1}, {1})}));
  EXPECT_EQ(diagnostic_of([] {
              run_node({.op = "Add"}, {floats({2}, {1, 2}), floats({3}, {1, 2, 3})});
            }).code,
            "graph.shape.mismatch");
  EXPECT_THROW(run_node({.op = "Add"}, {floats({1}, {1}), ints({1}, {1})}), Error);
}

TEST(Pow, IsExactOnIntegers) {
  const auto base = ints({6}, {3, -1, 2, -2, 0, 5}),
             exponent = ints({6}, {39, 1001, 62, 63, 0, -1});
  EXPECT_EQ(graph::ints_of(*run_node({.op = "Pow"}, {base, exponent})[0]),
            (std::vector<int64_t>{4052555153018976267, -1, int64_t{1} << 62,
                                  std::numeric_limits<int64_t>::min(), 1, 0}));
}

TEST(Pow, MultipliesForASmallConstantExponent) {
  const auto out =
      run_node({.op = "Pow", .constants = {1}}, {floats({2}, {-3, 0.5}), floats({}, {3})});
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{-27, 0.125}));
}

TEST(Select, ClipsByAttributesBeforeOpset11) {
  const TestNode clip{.op = "Clip", .opset = 7, .attributes = {{"min", -1.0F}}};
  EXPECT_EQ(numbers(run_node(clip, {floats({2}, {-5, 5})})[0]), (std::vector<double>{-1, 5}));
  EXPECT_EQ(numbers(run_node({.op = "Clip"}, {ints({2}, {-5, 5}), nullptr, ints({}, {2})})[0]),
            (std::vector<double>{-5, 2}));
}

}  // namespace
}  // namespace tilewright::ops
