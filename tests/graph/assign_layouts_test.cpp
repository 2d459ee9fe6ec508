// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/layout.h"
#include "graph/parse.h"
#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Pads = std::vector<int64_t>;

ValueId conv(Net& g, ValueId x, int64_t in, int64_t out) {
  return g("conv", {x, g.weights({out, in, 3, 3})}, {{"pads", Pads{1, 1, 1, 1}}});
}

struct Laid {
  Graph graph;
  LayoutReport report;

  int64_t block(const std::string& name) const {
    for (const Value& v : graph.values)
      if (v.name == name) return channel_block(*v.type.tensor());
    return -1;
  }
};

/// With blocks of 8, and a cost for each value of a kernel: blocks cost 1, row-major costs 2, and
/// what differs from the first value of the kernel costs `mixed` more.
Laid laid(const Graph& graph, double mixed) {
  PassContext context = test_context();
  context.services.vector_bits = 256;
  context.services.cycles = [&](Graph& g, const Node& n) -> std::optional<double> {
    double cost = 0;
    std::optional<bool> first;
    for (const auto* ids : {&n.inputs, &n.outputs})
      for (const ValueId id : *ids) {
        const TensorType* t = g.type(id).tensor();
        if (g.value(id).constant || t->rank() != 4) continue;
        const bool blocked = channel_block(*t) > 0;
        cost += blocked ? 1 : 2;
        if (first && *first != blocked) cost += mixed;
        if (!first) first = blocked;
      }
    return cost;
  };
  const Pass passes[] = {{"fuse", fuse}, {"assign_layouts", assign_layouts}};
  Laid out{run(passes, graph, context), {}};
  verify_types(out.graph);
  out.report = context.layouts;
  return out;
}

/// x (3 channels) -> conv -> conv_1 -> conv_2
Graph chain(int64_t channels = 16) {
  Net g;
  const ValueId x = g.in("x", dims({1, 3, 8, 8}));
  const ValueId a = conv(g, x, 3, channels), b = conv(g, a, channels, channels);
  g.output(conv(g, b, channels, 4));
  return g.take();
}

TEST(AssignLayouts, BlocksWhatLiesBetweenConvolutions) {
  const Laid out = laid(chain(), 0);
  EXPECT_EQ(out.block("conv"), 8);
  EXPECT_EQ(out.block("conv_1"), 8);
  EXPECT_EQ(out.block("x"), 0);
  for (const ValueId id : out.graph.main().outputs)
    EXPECT_EQ(channel_block(*out.graph.type(id).tensor()), 0);
}

TEST(AssignLayouts, WeighsAllKernelsTogether) {
  // Blocks save 2 on each of a and b; the first and the last kernel mix layouts then.
  EXPECT_EQ(laid(chain(), 1.9).block("conv"), 8);
  const Laid dear = laid(chain(), 2.1);
  EXPECT_EQ(dear.block("conv"), 0);
  EXPECT_EQ(dear.block("conv_1"), 0);
  ASSERT_EQ(dear.report.size(), 2u);
  EXPECT_GT(dear.report[0].otherwise, dear.report[0].cycles);
}

TEST(AssignLayouts, LeavesChannelsThatBlocksDoNotFill) {
  EXPECT_EQ(laid(chain(12), 0).block("conv"), 4);
  EXPECT_EQ(laid(chain(10), 0).block("conv"), 0);
}

TEST(AssignLayouts, IsReadFromText) {
  const std::string text =
      "graph main(%x: f32[1, 16, 8, 8]) {\n"
      "  %t: f32[1, 16, 8, 8] blocks(8) = relu(%x)\n"
      "  %y: f32[1, 16, 8, 8] = relu(%t)\n"
      "  return %y\n"
      "}\n";
  EXPECT_EQ(print(parse(text, ops::find)), text);
  std::string wrong = text;
  wrong.replace(wrong.find("blocks(8)"), 9, "blocks(5)");
  EXPECT_THROW(parse(wrong, ops::find), Error);
}

}  // namespace
}  // namespace tilewright::graph
