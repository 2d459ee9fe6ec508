// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graphs.h"

namespace tilewright::graph {
namespace {

std::string simplified_text(Graph graph) {
  PassContext context = test_context();
  graph = simplify_algebra(std::move(graph), context);
  verify(graph);
  graph = remove_dead(std::move(graph), context);
  verify_types(graph);
  return kernels(graph.main(), graph) + "return %" + graph.value(graph.main().outputs[0]).name;
}

using Ints = std::vector<int64_t>;

struct SimplifyAlgebra : testing::Test {
  Net g;
  ValueId x = g.in("x", dims({2, 3, 4}));
  ValueId f(double v) { return g.scalar(ir::Elem::F32, v); }
  std::string after(ValueId y) {
    g.output(y);
    return simplified_text(g.take());
  }
};

TEST_F(SimplifyAlgebra, DropsNeutralOperands) {
  ValueId y = g("add", {f(0), g("mul", {x, f(1)})});
  y = g("pow", {g("div", {g("sub", {y, f(0)}), f(1)}), f(1)});
  EXPECT_EQ(after(y), "return %x");
}

TEST_F(SimplifyAlgebra, KeepsANeutralOperandThatBroadcasts) {
  EXPECT_EQ(after(g("add", {x, g.weights({5, 1, 1, 1}, 0)})), "add -> %add\nreturn %add");
}

TEST_F(SimplifyAlgebra, MultipliesByPowersOfTwoInsteadOfDividing) {
  EXPECT_EQ(after(g("div", {x, f(8)})), "mul -> %div\nreturn %div");
}
TEST_F(SimplifyAlgebra, DividesByWhatHasNoExactInverse) {
  EXPECT_EQ(after(g("div", {x, f(3)})), "div -> %div\nreturn %div");
}

TEST_F(SimplifyAlgebra, UndoesPairs) { EXPECT_EQ(after(g("neg", {g("neg", {x})})), "return %x"); }

TEST_F(SimplifyAlgebra, JoinsTransposes) {
  const ValueId once = g("transpose", {x}, {{"axes", Ints{1, 2, 0}}});
  const ValueId twice = g("transpose", {once}, {{"axes", Ints{1, 2, 0}}});
  const ValueId thrice = g("transpose", {twice}, {{"axes", Ints{1, 2, 0}}});
  EXPECT_EQ(after(thrice), "return %x");
}

TEST_F(SimplifyAlgebra, MakesAViewOfATransposeThatMovesOnlyOnes) {
  const ValueId one = g.in("one", dims({1, 3, 1, 4}));
  EXPECT_EQ(after(g("transpose", {one}, {{"axes", Ints{2, 1, 0, 3}}})), "return %one");
}

TEST_F(SimplifyAlgebra, JoinsViews) {
  const ValueId flat = g("reshape", {x, g.ints({24})});
  const ValueId wide = g("unsqueeze", {flat, g.ints({0})});
  EXPECT_EQ(after(wide), "reshape -> %unsqueeze\nreturn %unsqueeze");
}
TEST_F(SimplifyAlgebra, DropsViewsThatComeBack) {
  const ValueId flat = g("reshape", {x, g.ints({24})});
  EXPECT_EQ(after(g("reshape", {flat, g.ints({2, 3, 4})})), "return %x");
}
TEST_F(SimplifyAlgebra, JoinsViewsOfSymbolicShapes) {
  const Dim n = g.symbol("n"), m = g.symbol("m");
  const ValueId z = g.in("z", {n, m, Dim(4)});
  const ValueId up = g("unsqueeze", {z, g.ints({0})});
  const ValueId y = g("unsqueeze", {up, g.ints({4})});
  EXPECT_EQ(after(y), "reshape -> %unsqueeze_1\nreturn %unsqueeze_1");
}

TEST_F(SimplifyAlgebra, LetsReductionsKeepTheirDimensions) {
  const ValueId mean = g("reduce_mean", {x}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}});
  EXPECT_EQ(after(g("unsqueeze", {mean, g.ints({1})})),
            "reduce_mean -> %unsqueeze\nreturn %unsqueeze");
}
TEST_F(SimplifyAlgebra, KeepsAViewThatPutsTheDimensionElsewhere) {
  const ValueId mean = g("reduce_mean", {x}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}});
  EXPECT_EQ(after(g("unsqueeze", {mean, g.ints({0})})),
            "reduce_mean -> %reduce_mean\nunsqueeze -> %unsqueeze\nreturn %unsqueeze");
}

TEST_F(SimplifyAlgebra, JoinsCastsThatLoseNothing) {
  const auto cast = [&](ValueId v, ir::Elem to) {
    return g("cast", {v}, {{"to", static_cast<int64_t>(to)}});
  };
  EXPECT_EQ(after(cast(cast(x, ir::Elem::F64), ir::Elem::F32)), "return %x");
}
TEST_F(SimplifyAlgebra, KeepsCastsThatRound) {
  const auto cast = [&](ValueId v, ir::Elem to) {
    return g("cast", {v}, {{"to", static_cast<int64_t>(to)}});
  };
  EXPECT_EQ(after(cast(cast(x, ir::Elem::F16), ir::Elem::F32)),
            "cast -> %cast\ncast -> %cast_1\nreturn %cast_1");
}

TEST_F(SimplifyAlgebra, DropsWholeSlicesAndEmptyPads) {
  const ValueId s = g("slice", {x, g.ints({0}), g.ints({2}), g.ints({0})});
  EXPECT_EQ(after(g("concat", {g("pad", {s, g.ints({0, 0, 0, 0, 0, 0})})})), "return %x");
}
TEST_F(SimplifyAlgebra, JoinsAllPartsOfASplitToTheWhole) {
  const AttrList attrs = {{"axis", int64_t{0}}, {"outputs", int64_t{2}}};
  const std::vector<ValueId> p =
      g.calls(ops::op("split"), ops::op("split").read_attrs(attrs), {x, kNoValue}, 2);
  EXPECT_EQ(after(g("concat", {p[0], p[1]}, {{"axis", int64_t{-3}}})), "return %x");
}
TEST_F(SimplifyAlgebra, KeepsPartsOfASplitInAnotherOrder) {
  const AttrList attrs = {{"axis", int64_t{0}}, {"outputs", int64_t{2}}};
  const std::vector<ValueId> p =
      g.calls(ops::op("split"), ops::op("split").read_attrs(attrs), {x, kNoValue}, 2);
  EXPECT_EQ(after(g("concat", {p[1], p[0]}, {{"axis", int64_t{0}}})),
            "split -> %split %split_1\nconcat -> %concat\nreturn %concat");
}
TEST_F(SimplifyAlgebra, KeepsASliceThatReverses) {
  const ValueId s = g("slice", {x, g.ints({-1}), g.ints({-9}), g.ints({0}), g.ints({-1})});
  EXPECT_EQ(after(s), "slice -> %slice\nreturn %slice");
}

TEST(EliminateCommon, ComputesEqualThingsOnce) {
  Net g;
  const ValueId x = g.in("x", dims({8}));
  const ValueId a = g("mul", {g("exp", {x}), g.scalar(ir::Elem::F32, 2)});
  const ValueId b = g("mul", {g("exp", {x}), g.scalar(ir::Elem::F32, 2)});
  const ValueId c = g("mul", {g("exp", {x}), g.scalar(ir::Elem::F32, 3)});
  g.output(g("add", {g("add", {a, b}), c}));
  PassContext context = test_context();
  Graph after = eliminate_common(g.take(), context);
  verify_types(after);
  EXPECT_EQ(kernels(after.main(), after),
            "exp -> %exp\nmul -> %mul\nmul -> %mul_2\nadd -> %add\nadd -> %add_1\n");
}

TEST(EliminateCommon, LooksAtAttributes) {
  Net g;
  const ValueId x = g.in("x", dims({4, 4}));
  g.output(g("add", {g("softmax", {x}, {{"axis", int64_t{0}}}),
                     g("softmax", {x}, {{"axis", int64_t{1}}})}));
  PassContext context = test_context();
  const Graph after = eliminate_common(g.take(), context);
  EXPECT_EQ(after.main().nodes.size(), 3u);
}

}  // namespace
}  // namespace tilewright::graph
