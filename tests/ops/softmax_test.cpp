// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(Softmax, BeforeOpset13FlattensFromTheAxisOn) {
  const auto x = floats({1, 2, 2}, {0, 0, 0, 0});
  const TestNode old{.op = "Softmax", .opset = 11};
  EXPECT_EQ(numbers(run_node(old, {x})[0]), (Numbers{0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(numbers(run_node({.op = "Softmax"}, {x})[0]), (Numbers{0.5, 0.5, 0.5, 0.5}));
}

TEST(Softmax, TakesRowsOfNoElements) {
  const auto y = run_node({.op = "Softmax", .symbolic = true}, {floats({2, 0}, {})});
  EXPECT_EQ(y[0]->shape, (Ints{2, 0}));
}

TEST(LogSoftmax, StaysFinite) {
  const auto y = run_node({.op = "LogSoftmax"}, {floats({1, 2}, {0, 1000})});
  EXPECT_EQ(numbers(y[0]), (Numbers{-1000, 0}));
}

TEST(Hardmax, MarksTheFirstMaximum) {
  const auto y = run_node({.op = "Hardmax"}, {floats({1, 3}, {1, 3, 3})});
  EXPECT_EQ(numbers(y[0]), (Numbers{0, 1, 0}));
}

TEST(Softmax, RefusesAnAxisThatIsNotThere) {
  const Diagnostic d = diagnostic_of([] {
    run_node({.op = "Softmax", .attributes = {{"axis", int64_t{2}}}}, {floats({1, 1}, {1})});
  });
  EXPECT_EQ(d.code, "graph.axis.range");
}

}  // namespace
}  // namespace tilewright::ops
