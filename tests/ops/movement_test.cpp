// SPDX-License-Identifier: Apache-2.0
// concat, slice, gather, pad, rearrange, one_hot: elements in other places.
#include <algorithm>

#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Ints = std::vector<int64_t>;
using Numbers = std::vector<double>;

const graph::Constant kMatrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(Concat, JoinsManySymbolicInputs) {
  const TestNode node{.op = "Concat", .attributes = {{"axis", int64_t{0}}}, .symbolic = true};
  const auto out = run_node(node, {floats({1}, {1}), floats({0}, {}), floats({2}, {2, 3}),
                                   floats({1}, {4}), floats({1}, {5})});
  EXPECT_EQ(numbers(out[0]), (Numbers{1, 2, 3, 4, 5}));
}

TEST(Concat, RefusesOtherDimensions) {
  const TestNode node{.op = "Concat", .attributes = {{"axis", int64_t{0}}}};
  EXPECT_EQ(diagnostic_of([&] { run_node(node, {kMatrix, floats({1, 2}, {1, 2})}); }).code,
            "graph.shape.mismatch");
}

TEST(Split, LeavesLessForTheLastResult) {
  const TestNode node{.op = "Split",
                      .attributes = {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}},
                      .outputs = 2,
                      .symbolic = true};
  const auto out = run_node(node, {kMatrix});
  EXPECT_EQ(numbers(out[0]), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(numbers(out[1]), (Numbers{3, 6}));
}

TEST(Split, TakesExtentsFromAttributeOrInput) {
  const TestNode old{.op = "Split",
                     .opset = 11,
                     .attributes = {{"axis", int64_t{1}}, {"split", Ints{1, 2}}},
                     .outputs = 2};
  EXPECT_EQ(numbers(run_node(old, {kMatrix})[1]), (Numbers{2, 3, 5, 6}));
  const TestNode node{.op = "Split", .attributes = {{"axis", int64_t{1}}}, .outputs = 2};
  EXPECT_EQ(numbers(run_node(node, {kMatrix, ints({2}, {3, 0})})[0]), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(run_node(node, {kMatrix, ints({2}, {1, 1})}), Error);
}

TEST(Slice, GoesBothWaysByValuesOfTheRun) {
  const auto slice = [](const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
    const auto list = [](const Ints& v) { return ints({static_cast<int64_t>(v.size())}, v); };
    std::vector<Numbers> found;
    for (const std::vector<size_t>& constants : {std::vector<size_t>{}, {1, 2, 3, 4}})
      for (const bool symbolic : {false, true}) {
        // The lengths of the lists must be known.
        if (symbolic && constants.empty()) continue;
        found.push_back(
            numbers(run_node({.op = "Slice", .constants = constants, .symbolic = symbolic},
                             {kMatrix, list(starts), list(ends), list(axes), list(steps)})[0]));
      }
    for (const Numbers& each : found) EXPECT_EQ(each, found[0]);
    return found[0];
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(slice({-1}, {-kMost}, {1}, {-2}), (Numbers{3, 1, 6, 4}));
  EXPECT_EQ(slice({1, 0}, {kMost, -1}, {-1, 0}, {1, 1}), (Numbers{2, 3}));
  EXPECT_EQ(slice({5}, {0}, {1}, {-1}), (Numbers{3, 2, 6, 5}));
  EXPECT_EQ(slice({2}, {1}, {1}, {1}), (Numbers{}));
  EXPECT_EQ(slice({0}, {-9}, {0}, {-1}), (Numbers{1, 2, 3}));
}

TEST(Slice, TakesAttributesBeforeOpset10) {
  const TestNode node{.op = "Slice",
                      .opset = 9,
                      .attributes = {{"starts", Ints{1}}, {"ends", Ints{3}}, {"axes", Ints{1}}}};
  EXPECT_EQ(numbers(run_node(node, {kMatrix})[0]), (Numbers{2, 3, 5, 6}));
}

TEST(Gather, CountsNegativeIndicesFromTheEnd) {
  const TestNode node{.op = "Gather", .attributes = {{"axis", int64_t{1}}}, .symbolic = true};
  EXPECT_EQ(numbers(run_node(node, {kMatrix, ints({2}, {-1, 0}, ir::Elem::I32)})[0]),
            (Numbers{3, 1, 6, 4}));
  EXPECT_THROW(run_node(node, {floats({2, 0}, {}), ints({1}, {0})}), Error);
}

TEST(Gather, FindsPlacesBehindBatchDimensions) {
  const TestNode node{.op = "GatherND", .attributes = {{"batch_dims", int64_t{1}}}};
  EXPECT_EQ(numbers(run_node(node, {kMatrix, ints({2, 1}, {2, -3})})[0]), (Numbers{3, 4}));
}

TEST(Gather, TakesWhatAConditionHolds) {
  const auto out = run_node({.op = "Compress", .symbolic = true},
                            {kMatrix, ints({5}, {0, 1, 0, 0, 1}, ir::Elem::Bool)});
  EXPECT_EQ(numbers(out[0]), (Numbers{2, 5}));
}

TEST(Gather, HearsNoConditionPastTheEnd) {
  for (const bool symbolic : {false, true}) {
    const TestNode node{
        .op = "Compress", .attributes = {{"axis", int64_t{-1}}}, .symbolic = symbolic};
    const auto out = run_node(node, {kMatrix, ints({5}, {0, 1, 1, 1, 1}, ir::Elem::Bool)});
    EXPECT_EQ(out[0]->shape, (Ints{2, 2}));
    EXPECT_EQ(numbers(out[0]), (Numbers{2, 3, 5, 6}));
  }
}

TEST(Pad, RepeatsCropsAndFills) {
  const auto pad = [](const std::string& mode, const Ints& pads) {
    return numbers(run_node({.op = "Pad", .attributes = {{"mode", mode}}},
                            {floats({3}, {1, 2, 3}), ints({2}, pads)})[0]);
  };
  EXPECT_EQ(pad("constant", {1, 2}), (Numbers{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(pad("constant", {-1, 1}), (Numbers{2, 3, 0}));
  EXPECT_EQ(pad("reflect", {3, 3}), (Numbers{2, 3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(pad("edge", {1, 2}), (Numbers{1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(pad("wrap", {2, 4}), (Numbers{2, 3, 1, 2, 3, 1, 2, 3, 1}));
  const TestNode old{
      .op = "Pad", .opset = 7, .attributes = {{"pads", Ints{0, 1, 0, 0}}, {"value", 9.0F}}};
  EXPECT_EQ(numbers(run_node(old, {kMatrix})[0]), (Numbers{9, 1, 2, 3, 9, 4, 5, 6}));
}

TEST(Pad, RepeatsWithConstantPadsOfEverySize) {
  for (const std::string mode : {"reflect", "edge", "wrap"})
    for (const int64_t before : {-1, 0, 2, 3, 7})
      for (const int64_t after : {-2, 0, 1, 3, 8}) {
        const TestNode node{.op = "Pad", .attributes = {{"mode", mode}}, .constants = {1}};
        Numbers expected;
        for (int64_t i = -before; i < 3 + after; ++i) {
          int64_t from = ((i % 3) + 3) % 3;
          if (mode == "edge") from = std::clamp<int64_t>(i, 0, 2);
          if (mode == "reflect") from = 2 - std::abs(2 - ((i % 4) + 4) % 4);
          expected.push_back(static_cast<double>(from + 1));
        }
        EXPECT_EQ(numbers(run_node(node, {floats({3}, {1, 2, 3}), ints({2}, {before, after})})[0]),
                  expected)
            << mode << " " << before << " " << after;
      }
}

TEST(Pad, RefusesToRepeatNothing) {
  const TestNode node{.op = "Pad", .attributes = {{"mode", std::string("edge")}}};
  EXPECT_THROW(run_node(node, {floats({0}, {}), ints({2}, {1, 0})}), Error);
}

TEST(Rearrange, TransposesBackwardsWithoutAnOrder) {
  EXPECT_EQ(numbers(run_node({.op = "Transpose", .symbolic = true}, {kMatrix})[0]),
            (Numbers{1, 4, 2, 5, 3, 6}));
  const TestNode twice{.op = "Transpose", .attributes = {{"perm", Ints{0, 0}}}};
  EXPECT_EQ(diagnostic_of([&] { run_node(twice, {kMatrix}); }).code, "ops.transpose.order");
}

TEST(Rearrange, ExpandsADimensionThatIsOneWhenItRuns) {
  for (const bool symbolic : {false, true}) {
    const TestNode node{.op = "Expand", .constants = {1}, .symbolic = symbolic};
    EXPECT_EQ(numbers(run_node(node, {floats({2, 1}, {1, 2}), ints({3}, {1, 1, 2})})[0]),
              (Numbers{1, 1, 2, 2}));
    EXPECT_THROW(run_node(node, {kMatrix, ints({2}, {2, 4})}), Error);
  }
}

TEST(Rearrange, TilesByValuesOfTheRun) {
  EXPECT_EQ(numbers(run_node({.op = "Tile"}, {floats({1, 2}, {1, 2}), ints({2}, {2, 2})})[0]),
            (Numbers{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(Rearrange, UndoesSpaceToDepthByDepthToSpace) {
  std::vector<double> values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const graph::Constant x = floats({1, 2, 4, 4}, values);
  for (const std::string mode : {"DCR", "CRD"}) {
    const auto node = [&](const std::string& op) {
      return TestNode{.op = op,
                      .opset = 28,
                      .attributes = {{"blocksize", int64_t{2}}, {"mode", mode}},
                      .symbolic = true};
    };
    const graph::Constant deep = run_node(node("SpaceToDepth"), {x})[0];
    EXPECT_EQ(deep->shape, (Ints{1, 8, 2, 2}));
    EXPECT_NE(numbers(deep), values);
    EXPECT_EQ(numbers(run_node(node("DepthToSpace"), {deep})[0]), values);
  }
}

TEST(OneHot, TakesADepthOfTheRunAndFloats) {
  const auto out = run_node({.op = "OneHot"}, {floats({3}, {1, -1, 7}), floats({}, {3}),
                                               ints({2}, {5, 9}, ir::Elem::I32)});
  EXPECT_EQ(numbers(out[0]), (Numbers{5, 9, 5, 5, 5, 9, 5, 5, 5}));
}

TEST(Dropout, ScalesWhatItKeeps) {
  const auto out = run_node(
      {.op = "Dropout", .outputs = 2},
      {floats({64}, std::vector<double>(64, 1)), floats({}, {0.5}), ints({}, {1}, ir::Elem::Bool)});
  int kept = 0;
  for (size_t i = 0; i < 64; ++i) {
    const double mask = numbers(out[1])[i];
    EXPECT_EQ(numbers(out[0])[i], mask * 2);
    kept += static_cast<int>(mask);
  }
  EXPECT_GT(kept, 16);
  EXPECT_LT(kept, 48);
}

}  // namespace
}  // namespace tilewright::ops
