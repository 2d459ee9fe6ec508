// SPDX-License-Identifier: Apache-2.0
// The schedule of Winograd's convolutions (tune/choose/winograd.cpp), whose stages `ops` makes.
#include <gtest/gtest.h>

#include "driver/build_kernels.h"
#include "graph/parse.h"
#include "ops/all.h"
#include "support/str.h"
#include "tune/chosen.h"

namespace tilewright::driver {
namespace {

struct Channels {
  int64_t in = 8, out = 8, batch = 1;
};

/// A 3x3 convolution that keeps its size, channels in blocks of four, its weights no constants.
ir::LoopFunc convolution(int64_t rows, int64_t columns, const char* pads, Channels n = {}) {
  const auto map = [&](int64_t channels) {
    return str("f32[", n.batch, ", ", channels, ", ", rows, ", ", columns, "] blocks(4)");
  };
  graph::Graph graph =
      graph::parse(str("graph main(%x: ", map(n.in), ", %w: f32[", n.out, ", ", n.in,
                       ", 3, 3], %b: f32[", n.out, "]) { %y: ", map(n.out),
                       " = conv(%x, %w, %b) {pads = ", pads, "} by winograd return %y }"),
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
  EXPECT_FALSE(in_bands(tune::choose(f, spec, {"w", "b"}))) << "not even one row fits";
}

TEST(Winograd, KeepsResultsInBands) {
  const ir::LoopFunc f = convolution(67, 61, "[0, 2, 2, 0]");
  EXPECT_TRUE(in_bands(tune::choose(f, machine(), {"w", "b"})));
  EXPECT_EQ(tune::wrong_choice(f, machine()), "");

  const ir::LoopFunc uneven = convolution(64, 66, "[1, 1, 1, 1]", {.in = 8, .out = 12});
  EXPECT_TRUE(in_bands(tune::choose(uneven, machine(), {"w", "b"})));
  EXPECT_EQ(tune::wrong_choice(uneven, machine()), "") << "17 tiles in a row, 3 blocks of channels";
}

TEST(Winograd, RunsBatchesAsAWhole) {
  const ir::LoopFunc f = convolution(64, 64, "[1, 1, 1, 1]", {.in = 4, .out = 8, .batch = 2});
  EXPECT_FALSE(in_bands(tune::choose(f, machine(), {"w", "b"})));
  EXPECT_EQ(tune::wrong_choice(f, machine()), "");
}

}  // namespace
}  // namespace tilewright::driver
