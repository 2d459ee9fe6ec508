// SPDX-License-Identifier: Apache-2.0
#include "driver/likely_sizes.h"

#include <gtest/gtest.h>

#include "graph/parse.h"
#include "ops/all.h"

namespace tilewright::driver {
namespace {

graph::Graph sound(const char* formula) {
  return graph::parse(std::string("symbol batch in 0..1000 = dim(%x, 0)"
                                  " symbol samples in 0..1000000 = dim(%x, 1)"
                                  " symbol frames in 0..1000 = ") +
                          formula +
                          " graph main(%x: f32[batch, samples]) { %y: f32[batch, samples] = "
                          "relu(%x) return %y }",
                      ops::find);
}

std::vector<int64_t> sizes_of(const graph::Graph& g, const char* name) {
  for (const graph::SymbolInfo& s : g.symbols)
    if (s.symbol.var.name() == name) return likely_sizes(g, s.symbol);
  return {};
}

TEST(LikelySizes, AreLengthsAndBatches) {
  const graph::Graph g = sound("samples * 2");
  EXPECT_EQ(sizes_of(g, "batch"), (std::vector<int64_t>{1, 4, 16}));
  EXPECT_EQ(sizes_of(g, "samples"), (std::vector<int64_t>{128, 77, 300}));
  EXPECT_EQ(sizes_of(g, "frames"), (std::vector<int64_t>{256, 154, 600}));
}

TEST(LikelySizes, AreFewPicturesOfAFilm) {
  const graph::Graph g = graph::parse(
      "symbol frames in 0..1000 = dim(%x, 2) symbol h in 0..1000 = dim(%x, 3)"
      " graph main(%x: f32[1, 3, frames, h, 64]) { %y: f32[1, 3, frames, h, 64] = relu(%x) "
      "return %y }",
      ops::find);
  EXPECT_EQ(sizes_of(g, "frames"), (std::vector<int64_t>{16, 8, 32}));
  EXPECT_EQ(sizes_of(g, "h"), (std::vector<int64_t>{224, 320, 75}));
}

TEST(LikelySizes, LeaveEnoughForWhatFollows) {
  const graph::Graph g = sound("(samples - 256) / 128 + 1");
  EXPECT_EQ(sizes_of(g, "samples"), (std::vector<int64_t>{512, 616, 600}));
  EXPECT_EQ(sizes_of(g, "frames"), (std::vector<int64_t>{3, 3, 3}));
}

TEST(LikelySizes, StayWhereMoreIsNoHelp) {
  EXPECT_EQ(sizes_of(sound("samples * 0 + 1"), "samples"), (std::vector<int64_t>{128, 77, 300}));
  EXPECT_EQ(sizes_of(sound("batch"), "samples"), (std::vector<int64_t>{128, 77, 300}));
}

}  // namespace
}  // namespace tilewright::driver
