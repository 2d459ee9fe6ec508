// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

const graph::Constant kNone = nullptr;

Numbers resized(const TestNode& node, const graph::Constant& x, const graph::Constant& scales,
                const graph::Constant& sizes) {
  return numbers(run_node(node, {x, kNone, scales, sizes})[0]);
}

TEST(Resize, NearestRepeatsByWholeScales) {
  const auto x = floats({1, 2}, {1, 2});
  const Numbers twice = {1, 1, 2, 2};
  for (const bool known : {false, true}) {
    TestNode node{.op = "Resize"};
    if (known) node.constants = {2};
    EXPECT_EQ(resized(node, x, floats({2}, {1, 2}), kNone), twice);
  }
  const TestNode symbolic{.op = "Resize", .constants = {2}, .symbolic = true};
  EXPECT_EQ(resized(symbolic, x, floats({2}, {1, 2}), kNone), twice);
}

TEST(Resize, NearestModesDifferAtHalves) {
  const auto run = [](const char* mode) {
    return resized({.op = "Resize",
                    .attributes = {{"coordinate_transformation_mode", std::string("asymmetric")},
                                   {"nearest_mode", std::string(mode)}}},
                   floats({2}, {1, 2}), kNone, ints({1}, {4}));
  };
  EXPECT_EQ(run("floor"), (Numbers{1, 1, 2, 2}));
  EXPECT_EQ(run("ceil"), (Numbers{1, 2, 2, 2}));
  EXPECT_EQ(run("round_prefer_floor"), (Numbers{1, 1, 2, 2}));
  EXPECT_EQ(run("round_prefer_ceil"), (Numbers{1, 2, 2, 2}));
}

TEST(Resize, NearestTakesEverySoManyOfAWholeStep) {
  Numbers given;
  for (int i = 0; i < 23; ++i) given.push_back(i);
  for (const char* coordinates : {"asymmetric", "half_pixel"})
    for (const char* mode : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})
      for (const double scale : {0.5, 0.25}) {
        const TestNode by_table{
            .op = "Resize",
            .attributes = {{"coordinate_transformation_mode", std::string(coordinates)},
                           {"nearest_mode", std::string(mode)}}};
        TestNode evenly = by_table;
        evenly.constants = {2};
        const auto scales = floats({1}, {scale});
        EXPECT_EQ(resized(evenly, floats({23}, given), scales, kNone),
                  resized(by_table, floats({23}, given), scales, kNone))
            << coordinates << ' ' << mode << ' ' << scale;
      }
}

TEST(Resize, LinearInterpolatesAndClampsAtTheBorder) {
  EXPECT_EQ(resized({.op = "Resize", .attributes = {{"mode", std::string("linear")}}},
                    floats({2}, {0, 4}), kNone, ints({1}, {4})),
            (Numbers{0, 1, 3, 4}));
  EXPECT_EQ(
      resized({.op = "Resize",
               .attributes = {{"mode", std::string("linear")},
                              {"coordinate_transformation_mode", std::string("align_corners")}}},
              floats({2}, {0, 4}), kNone, ints({1}, {3})),
      (Numbers{0, 2, 4}));
}

TEST(Resize, KeepsTheAspectRatio) {
  const auto y = run_node(
      {.op = "Resize", .attributes = {{"keep_aspect_ratio_policy", std::string("not_larger")}}},
      {floats({1, 2}, {1, 2}), kNone, kNone, ints({2}, {3, 4})});
  EXPECT_EQ(y[0]->shape, (Ints{2, 4}));
}

TEST(Upsample, ReadsScalesFromItsAttributeInOpset7) {
  const auto y =
      run_node({.op = "Upsample", .opset = 7, .attributes = {{"scales", std::vector<float>{1, 2}}}},
               {floats({1, 2}, {1, 2})});
  EXPECT_EQ(numbers(y[0]), (Numbers{1, 1, 2, 2}));
}

TEST(Resize, RefusesAnUnknownMode) {
  const Diagnostic d = diagnostic_of([] {
    run_node({.op = "Resize", .attributes = {{"mode", std::string("sharp")}}},
             {floats({1}, {1}), kNone, floats({1}, {2})});
  });
  EXPECT_EQ(d.code, "ops.resize.mode");
}

}  // namespace
}  // namespace tilewright::ops
