// SPDX-License-Identifier: Apache-2.0
// The schedule of Winograd's convolutions (tune/choose/winograd.cpp), whose stages `ops` makes.
#include "tune/choose/winograd.h"

#include <gtest/gtest.h>

#include "driver/build_kernels.h"
#include "graph/parse.h"
#include "ops/all.h"
#include "support/str.h"
#include "tune/choose/canonical.h"
#include "tune/chosen.h"

namespace tilewright::driver {
namespace {

struct Channels {
  int64_t in = 8, out = 8, batch = 1;
  const char* algorithm = "winograd";
};

/// A 3x3 convolution that keeps its size, channels in blocks of four, its weights no constants.
ir::LoopFunc convolution(int64_t rows, int64_t columns, const char* pads, Channels n = {}) {
  const auto map = [&](int64_t channels) {
    return str("f32[", n.batch, ", ", channels, ", ", rows, ", ", columns, "] blocks(4)");
  };
  graph::Graph graph =
      graph::parse(str("graph main(%x: ", map(n.in), ", %w: f32[", n.out, ", ", n.in,
                       ", 3, 3], %b: f32[", n.out, "]) { %y: ", map(n.out),
                       " = conv(%x, %w, %b) {pads = ", pads, "} by ", n.algorithm, " return %y }"),
                   ops::find);
  return plain_kernels(graph).at(0).blocks;
}

ir::TargetSpec machine() {
  ir::TargetSpec out = tune::small_machine();
  out.l2_bytes = 64 << 10;  // one row of 16 tiles and the weights
  return out;
}

/// Are the products inside of a loop together with the results?
bool in_bands(const ir::LoopFunc& f) {
  bool found = false;
  ir::walk(f.body, [&](const ir::For& loop) {
    bool products = false, results = false;
    ir::walk(loop.body, [&](const ir::Block& b) {
      products = products || b.name == "winograd_products";
      results = results || (!b.writes.empty() && b.writes[0].buffer == f.params.back().buffer);
    });
    found = found || (products && results);
  });
  return found;
}

TEST(Winograd, RunsInBandsWhereAllRowsDoNotFitTheCache) {
  ir::TargetSpec spec = machine();
  const ir::LoopFunc f = convolution(68, 64, "[1, 1, 1, 1]");
  EXPECT_TRUE(in_bands(tune::choose(f, spec, {"w", "b"})));
  EXPECT_FALSE(in_bands(tune::choose(convolution(20, 64, "[1, 1, 1, 1]"), spec, {"w", "b"})))
      << "too few tasks";
  spec.l2_bytes = 1 << 20;
  EXPECT_FALSE(in_bands(tune::choose(f, spec, {"w", "b"}))) << "everything fits";
  spec.l2_bytes = 16 << 10;
  EXPECT_TRUE(in_bands(tune::choose(f, spec, {"w", "b"}))) << "a part of a row fits";
  const ir::LoopFunc many = convolution(36, 36, "[1, 1, 1, 1]", {.in = 128, .out = 128});
  EXPECT_FALSE(in_bands(tune::choose(many, spec, {"w", "b"})))
      << "each band would read all weights again";
}

TEST(Winograd, KeepsResultsInBands) {
  const ir::LoopFunc f = convolution(67, 61, "[0, 2, 2, 0]");
  EXPECT_TRUE(in_bands(tune::choose(f, machine(), {"w", "b"})));
  EXPECT_EQ(tune::wrong_choice(f, machine()), "");

  const ir::LoopFunc uneven = convolution(64, 66, "[1, 1, 1, 1]", {.in = 8, .out = 12});
  EXPECT_TRUE(in_bands(tune::choose(uneven, machine(), {"w", "b"})));
  EXPECT_EQ(tune::wrong_choice(uneven, machine()), "") << "17 tiles in a row, 3 blocks of channels";
}

/// Is the input copied with its margins before its patches are transformed?
bool copies_input(const ir::LoopFunc& f) {
  bool found = false;
  ir::walk(f.body, [&](const ir::Block& b) { found = found || b.name == "winograd_input"; });
  return found;
}

TEST(Winograd, ReadsItsInputWhereItLies) {
  const std::vector<std::string> constants = {"w", "b"};
  for (const auto& [rows, columns] : {std::pair(68, 64), std::pair(40, 40), std::pair(19, 21)}) {
    const ir::LoopFunc f = convolution(rows, columns, "[1, 1, 1, 1]");
    EXPECT_FALSE(copies_input(tune::choose(f, machine(), constants))) << rows;
    EXPECT_EQ(tune::wrong_choice(f, machine()), "") << rows;
    tune::Choices choices;
    choices.answer("winograd_input.inlined", "no");
    schedule::Schedule s(tune::canonical(f));
    tune::schedule_stages(s, machine(), constants, choices);
    EXPECT_TRUE(copies_input(s.func())) << "it can be asked for";
    EXPECT_EQ(tune::wrong_schedule(f, s.func(), machine()), "") << rows;
  }
}

TEST(Winograd, RowsOfTilesAreLoopsOfTheirOwnWherePatchesAreRead) {
  // 19 columns are five tiles, which make one row with those of the other rows.
  const ir::LoopFunc f = tune::choose(convolution(19, 19, "[1, 1, 1, 1]"), machine(), {"w", "b"});
  bool found = false;
  ir::walk(f.body, [&](const ir::For& loop) {
    ir::walk(loop.body, [&](const ir::Block& b) {
      found = found || (b.name == "winograd_moved" && ir::is_const(loop.extent, 5) &&
                        loop.loop == ir::ForKind::Serial);
    });
  });
  EXPECT_TRUE(found) << ir::print(f);
}

TEST(Winograd, LeavesASingleTileOfASingleBlockToOthers) {
  const ir::LoopFunc f = convolution(4, 4, "[1, 1, 1, 1]", {.in = 4, .out = 4});
  EXPECT_FALSE(tune::winograd_fits(tune::canonical(f), machine()));
  EXPECT_EQ(tune::wrong_choice(f, machine()), "");
  const ir::LoopFunc two = convolution(4, 4, "[1, 1, 1, 1]", {.in = 8, .out = 4});
  EXPECT_TRUE(tune::winograd_fits(tune::canonical(two), machine()));
  EXPECT_EQ(tune::wrong_choice(two, machine()), "");
}

TEST(Winograd, RunsEachImageOfABatchInBands) {
  const ir::LoopFunc f = convolution(68, 61, "[1, 1, 1, 1]", {.batch = 2});
  EXPECT_TRUE(in_bands(tune::choose(f, machine(), {"w", "b"})));
  EXPECT_EQ(tune::wrong_choice(f, machine()), "");
}

/// A convolution of any batch, height and width, as the driver hands it to schedules.
ir::LoopFunc free_convolution(const char* dims, const char* algorithm = "winograd") {
  const auto map = [&](int64_t channels) {
    return str("f32[n, ", channels, ", ", dims, "] blocks(4)");
  };
  graph::Graph graph =
      graph::parse(str("symbol n in 0..100 = dim(%x, 0) symbol h in 0..1000 = dim(%x, 2)",
                       " symbol w in 0..1000 = dim(%x, 3) graph main(%x: ", map(8),
                       ", %w: f32[12, 8, 3, 3], %b: f32[12]) { %y: ", map(12),
                       " = conv(%x, %w, %b) {pads = [1, 1, 1, 1]} by ", algorithm, " return %y }"),
                   ops::find);
  return plain_kernels(graph).at(0).blocks;
}

TEST(Winograd, TakesFreeSizes) {
  const ir::LoopFunc f = free_convolution("h, w");
  ASSERT_TRUE(tune::winograd_fits(tune::canonical(f), machine()));
  // The symbols are n, h, w, the rows and columns of tiles, and the tiles of both.
  ASSERT_EQ(f.symbols.size(), 6u) << ir::print(f);
  const auto at = [](int64_t n, int64_t h, int64_t w) {
    const int64_t rows = (h + 3) / 4, columns = (w + 3) / 4;
    return std::vector<int64_t>{n, h, w, rows, columns, rows * columns};
  };
  EXPECT_EQ(tune::wrong_choice(f, machine(), {at(1, 8, 8), at(2, 1, 19), at(3, 13, 4)}), "");
}

/// Rows of up to eight tiles are one: their products have more rows.
TEST(Winograd, ManyTilesShareWeightsWhereRowsAreShort) {
  const auto rows_of_products = [](int64_t columns) {
    const ir::LoopFunc f = convolution(12, columns, "[1, 1, 1, 1]");
    int64_t out = 0;
    ir::walk(f.body, [&](const ir::Block& b) {
      if (b.name == "winograd_products")
        out = *ir::const_int(*(b.writes[0].buffer->shape.end() - 2));  // before the lanes
    });
    return out;
  };
  EXPECT_EQ(rows_of_products(32), 3 * 8);
  EXPECT_EQ(rows_of_products(36), 9) << "a row of them is one of three";
}

class WinogradOf : public testing::TestWithParam<std::tuple<const char*, int64_t, int64_t>> {};

/// The same as the plain sum, but for rounding; scheduled the same as not.
TEST_P(WinogradOf, GivesThePlainSums) {
  const auto [algorithm, rows, columns] = GetParam();
  for (const char* pads : {"[1, 1, 1, 1]", "[2, 0, 0, 2]"}) {
    Channels n{.in = 8, .out = 12, .batch = rows == 7 ? 2 : 1, .algorithm = algorithm};
    const ir::LoopFunc f = convolution(rows, columns, pads, n);
    EXPECT_EQ(tune::wrong_choice(f, machine()), "");
    n.algorithm = "direct";
    const ir::LoopFunc plain = convolution(rows, columns, pads, n);
    std::vector<ir::Array> got;
    for (size_t i = 0; i < f.params.size(); ++i)
      got.push_back(ir::random_array(ir::Elem::F32, tune::shapes_at(f, {})[i], 5 + i));
    std::vector<ir::Array> want = got;
    ir::interpret(f, got, {}, {});
    ir::interpret(plain, want, {}, {});
    for (int64_t i = 0; i < want.back().size(); ++i)
      ASSERT_NEAR(got.back().as_double(i), want.back().as_double(i), 1e-3) << pads << " " << i;
  }
}

/// A 3x3x3 convolution, or one with another extent and step along the first axis.
ir::LoopFunc of_three_axes(const char* algorithm, int64_t batch, int64_t depth, int64_t taps,
                           const char* attributes, int64_t out_depth) {
  graph::Graph graph = graph::parse(
      str("graph main(%x: f32[", batch, ", 8, ", depth, ", 9, 13] blocks(4), %w: f32[12, 8, ", taps,
          ", 3, 3], %b: f32[12]) { %y: f32[", batch, ", 12, ", out_depth,
          ", 9, 13] blocks(4) = conv(%x, %w, %b) {", attributes, "} by ", algorithm,
          " return %y }"),
      ops::find);
  return plain_kernels(graph).at(0).blocks;
}

TEST(Winograd, SumsPlainlyAlongAThirdAxis) {
  const auto check = [&](int64_t batch, int64_t depth, int64_t taps, const char* attributes,
                         int64_t out_depth) {
    for (const char* algorithm : {"winograd", "winograd_2x2"}) {
      const ir::LoopFunc f = of_three_axes(algorithm, batch, depth, taps, attributes, out_depth);
      EXPECT_TRUE(tune::winograd_fits(tune::canonical(f), machine()));
      EXPECT_EQ(tune::wrong_choice(f, machine()), "");
      const ir::LoopFunc plain = of_three_axes("direct", batch, depth, taps, attributes, out_depth);
      std::vector<ir::Array> got;
      for (size_t i = 0; i < f.params.size(); ++i)
        got.push_back(ir::random_array(ir::Elem::F32, tune::shapes_at(f, {})[i], 5 + i));
      std::vector<ir::Array> want = got;
      ir::interpret(f, got, {}, {});
      ir::interpret(plain, want, {}, {});
      for (int64_t i = 0; i < want.back().size(); ++i)
        ASSERT_NEAR(got.back().as_double(i), want.back().as_double(i), 1e-3) << attributes << i;
    }
  };
  check(1, 3, 3, "pads = [1, 1, 1, 1, 1, 1]", 3);
  check(2, 2, 2, "pads = [0, 1, 1, 1, 1, 1]", 2);
  check(1, 7, 3, "strides = [2, 1, 1], pads = [0, 1, 1, 0, 1, 1]", 3);
  check(1, 7, 3, "dilations = [2, 1, 1], pads = [1, 1, 1, 2, 1, 1]", 6);
}

INSTANTIATE_TEST_SUITE_P(Sizes, WinogradOf,
                         testing::Combine(testing::Values("winograd", "winograd_2x2"),
                                          testing::Values(4, 7, 18), testing::Values(4, 7, 37)));

}  // namespace
}  // namespace tilewright::driver
