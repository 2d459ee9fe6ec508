// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(Conv, PadsStridesAndDilates) {
  const auto x = floats({1, 1, 5}, {1, 2, 3, 4, 5});
  const auto w = floats({1, 1, 2}, {1, 10});
  const TestNode node{
      .op = "Conv",
      .attributes = {{"pads", Ints{1, 1}}, {"strides", Ints{2}}, {"dilations", Ints{2}}}};
  EXPECT_EQ(numbers(run_node(node, {x, w})[0]), (Numbers{20, 42, 4}));
  TestNode symbolic = node;
  symbolic.symbolic = true;
  symbolic.constants = {1};
  EXPECT_EQ(numbers(run_node(symbolic, {x, w})[0]), (Numbers{20, 42, 4}));
}

TEST(Conv, GroupsSeeTheirOwnChannels) {
  const auto y = run_node({.op = "Conv", .attributes = {{"group", int64_t{2}}}},
                          {floats({1, 2, 2}, {1, 2, 3, 4}), floats({4, 1, 1}, {1, 10, 100, 1000}),
                           floats({4}, {0, 0, 0, 5})});
  EXPECT_EQ(numbers(y[0]), (Numbers{1, 2, 10, 20, 300, 400, 3005, 4005}));
}

TEST(Conv, SameUpperPutsTheOddPadAtTheEnd) {
  const auto run = [](const char* mode) {
    return numbers(run_node({.op = "Conv", .attributes = {{"auto_pad", std::string(mode)}}},
                            {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 2}, {1, 10})})[0]);
  };
  EXPECT_EQ(run("SAME_UPPER"), (Numbers{21, 32, 3}));
  EXPECT_EQ(run("SAME_LOWER"), (Numbers{10, 21, 32}));
}

TEST(Conv, RefusesChannelsThatDoNotFit) {
  const Diagnostic d = diagnostic_of(
      [] { run_node({.op = "Conv"}, {floats({1, 2, 1}, {1, 2}), floats({1, 1, 1}, {1})}); });
  EXPECT_EQ(d.code, "graph.shape.mismatch");
}

TEST(ConvInteger, PadsWithTheZeroPoint) {
  const auto u8 = [](Ints shape, const Ints& v) { return ints(shape, v, ir::Elem::U8); };
  const auto y = run_node({.op = "ConvInteger", .attributes = {{"pads", Ints{1, 0}}}},
                          {u8({1, 1, 2}, {3, 4}), u8({1, 1, 2}, {1, 2}), u8({}, {1})});
  EXPECT_EQ(numbers(y[0]), (Numbers{4, 8}));
}

TEST(ConvTranspose, DilatesGroupsAndPads) {
  const auto y = run_node({.op = "ConvTranspose",
                           .attributes = {{"group", Ints::value_type{2}},
                                          {"dilations", Ints{2}},
                                          {"pads", Ints{1, 0}}}},
                          {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2, 1, 2}, {1, 10, 100, 1000})});
  EXPECT_EQ(numbers(y[0]), (Numbers{2, 10, 20, 400, 3000, 4000}));
}

TEST(ConvTranspose, TakesGroupsInPhases) {
  const auto y = run_node({.op = "ConvTranspose",
                           .attributes = {{"group", Ints::value_type{2}},
                                          {"strides", Ints{2}},
                                          {"pads", Ints{1, 0}},
                                          {"output_padding", Ints{1}}},
                           .constants = {1},
                           .symbolic = true},
                          {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2, 1, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(y[0]), (Numbers{2, 5, 4, 6, 0, 15, 34, 20, 24, 0}));
}

TEST(ConvTranspose, CutsWholeBlocksOff) {
  const auto y = [](Ints pads, const Numbers& x, const Numbers& w) {
    return numbers(run_node({.op = "ConvTranspose",
                             .attributes = {{"strides", Ints{2}}, {"pads", pads}},
                             .constants = {1}},
                            {floats({1, 1, static_cast<int64_t>(x.size())}, x),
                             floats({1, 1, static_cast<int64_t>(w.size())}, w)})[0]);
  };
  EXPECT_EQ(y({0, 0}, {1, 2, 3}, {1, 10}), (Numbers{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(y({2, 0}, {1, 2, 3}, {1, 10}), (Numbers{2, 20, 3, 30}));
  EXPECT_EQ(y({1, 0}, {1, 2, 3}, {1, 10}), (Numbers{10, 2, 20, 3, 30}));
  EXPECT_EQ(y({2, 0}, {1, 10, 100}, {1, 2, 3, 4}), (Numbers{13, 24, 130, 240, 300, 400}));
  EXPECT_EQ(y({3, 1}, {1, 10, 100}, {1, 2, 3, 4}), (Numbers{24, 130, 240, 300}));
}

TEST(ConvTranspose, SumsOverTheFewPlacesOfTheInput) {
  const auto w = floats({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const auto y = [&](Ints strides, Ints pads, const graph::Constant& x) {
    return numbers(run_node({.op = "ConvTranspose",
                             .attributes = {{"strides", strides}, {"pads", pads}},
                             .constants = {1}},
                            {x, w})[0]);
  };
  EXPECT_EQ(y({1}, {0, 0}, floats({1, 1, 1}, {10})), (Numbers{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(y({3}, {1, 2}, floats({1, 1, 1}, {10})), (Numbers{20, 30, 40}));
  EXPECT_EQ(y({1}, {2, 0}, floats({1, 1, 2}, {1, 10})), (Numbers{23, 34, 45, 56, 60}));
  EXPECT_EQ(y({2}, {0, 1}, floats({1, 1, 2}, {1, 10})), (Numbers{1, 2, 13, 24, 35, 46, 50}));
  const auto both = run_node(
      {.op = "ConvTranspose", .attributes = {{"group", Ints::value_type{2}}}, .constants = {1}},
      {floats({1, 2, 1}, {1, 10}), floats({2, 1, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(both[0]), (Numbers{1, 2, 3, 40, 50, 60}));
}

TEST(ConvTranspose, SpreadsTheInput) {
  const TestNode node{.op = "ConvTranspose", .attributes = {{"strides", Ints{2}}}};
  const auto x = floats({1, 1, 2}, {1, 2}), w = floats({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(numbers(run_node(node, {x, w})[0]), (Numbers{1, 10, 102, 20, 200}));
  TestNode shaped = node;
  shaped.attributes.push_back({"output_shape", Ints{4}});
  EXPECT_EQ(numbers(run_node(shaped, {x, w})[0]), (Numbers{10, 102, 20, 200}));
}

}  // namespace
}  // namespace tilewright::ops
