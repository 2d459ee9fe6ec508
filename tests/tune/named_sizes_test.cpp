// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/named_sizes.h"

#include "ir/print.h"
#include "ir/verify.h"
#include "tune/taken_apart.h"

namespace tilewright::tune {
namespace {

std::vector<std::string> formulas_of(const NamedSizes& sizes) {
  std::vector<std::string> out;
  for (size_t i = 0; i < sizes.formulas.size(); ++i)
    out.push_back(str(sizes.func.symbols.at(i).var.name(), " = ", ir::print(sizes.formulas[i])));
  return out;
}

TEST(NamedSizes, GiveQuotientsASymbol) {
  const NamedSizes sizes =
      with_named_sizes(blocks_of("te t(A: f32[(w + 3) / 8, 12]) where w in 1..999 {\n"
                                 "  Y[j in (w + 3) / 8] = sum(k in 12) A[j, k]\n  return Y\n}"));
  EXPECT_EQ(formulas_of(sizes), (std::vector<std::string>{"size1 = (w + 3) / 8"}));
  EXPECT_EQ(sizes.func.symbols[0].min, 0);
  EXPECT_EQ(sizes.func.symbols[0].max, 125);
  EXPECT_EQ(ir::print(sizes.func.params[0].buffer->shape[0]), "size1");
  ir::verify(sizes.func);
}

TEST(NamedSizes, KnowOneSizeThatIsWrittenInTwoWays) {
  const NamedSizes sizes = with_named_sizes(
      blocks_of("te t(A: f32[((w + 31) / 32 + 3) / 4], B: f32[(w + 127) / 128]) where w in 1..999 "
                "{\n  Y[j in (w + 127) / 128] = A[j] + B[j]\n  return Y\n}"));
  EXPECT_EQ(formulas_of(sizes).size(), 1u);
}

TEST(NamedSizes, GiveProductsOfSizesASymbolWhereDimensionsAreOne) {
  const NamedSizes sizes =
      with_named_sizes(blocks_of("te t(A: f32[b, h, 8]) where b in 1..9, h in 1..99 {\n"
                                 "  Y[i in b, j in h, k in 8] = exp(A[i, j, k])\n  return Y\n}"));
  EXPECT_EQ(formulas_of(sizes), (std::vector<std::string>{"size1 = b * h"}));
  EXPECT_EQ(sizes.func.symbols[0].min, 1);
  EXPECT_EQ(ir::print(sizes.func.params[0].buffer->shape[0]), "size1 * 8");
}

TEST(NamedSizes, GiveDifferencesThatMayBeEmptyASymbol) {
  const char* text =
      "te t(A: f32[n], B: f32[m + 1]) where n in 4..99, m in 1..9 {\n"
      "  Y[i in n - 4] = A[i + 4]\n  Z[i in m + 1] = B[i]\n  return Y, Z\n}";
  const NamedSizes sizes = with_named_sizes(blocks_of(text));
  // A symbol that nothing else tells stays, and so does a sum of no less than 1.
  EXPECT_EQ(formulas_of(sizes), (std::vector<std::string>{"n = n", "m = m", "size1 = n - 4"}));
}

TEST(NamedSizes, KnowLikelyValuesByTheirFormulas) {
  ir::LoopFunc blocks = blocks_of(
      "te t(A: f32[(w + 1) / 2]) where w in 1..999 {\n"
      "  Y[j in (w + 1) / 2] = exp(A[j])\n  return Y\n}");
  blocks.symbols[0].likely = {224, 320, 75};
  const NamedSizes sizes = with_named_sizes(blocks);
  EXPECT_EQ(sizes.func.symbols.at(0).likely, (std::vector<int64_t>{112, 160, 38}));
}

TEST(NamedSizes, AreNotLikelyToBeMoreThanTheyCan) {
  const NamedSizes sizes = with_named_sizes(blocks_of(
      "te t(A: f32[a, b, c, d, e, f, g]) where a in 1..999, b in 1..999, c in 1..999, d in 1..999, "
      "e in 1..999, f in 1..999, g in 1..999 {\n"
      "  Y[i in a, j in b, k in c, l in d, m in e, n in f, o in g] = exp(A[i, j, k, l, m, n, o])\n"
      "  return Y\n}"));
  ir::verify(sizes.func);
}

/// The parameters after a run at these values of the symbols.
std::vector<std::vector<uint64_t>> results_of(const ir::LoopFunc& f,
                                              const std::vector<int64_t>& symbols) {
  const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact};
  std::vector<ir::Array> args;
  for (const std::vector<int64_t>& shape : shapes_at(f, symbols))
    args.push_back(ir::random_array(ir::Elem::F32, shape, 17 + args.size(), ir::Arithmetic::Exact));
  ir::interpret(f, args, symbols, options);
  std::vector<std::vector<uint64_t>> out;
  for (const ir::Array& a : args) out.push_back(a.cells);
  return out;
}

TEST(NamedSizes, ComputeTheSame) {
  const ir::LoopFunc blocks = blocks_of(
      "te t(A: f32[b, (w + 1) / 2]) where b in 1..9, w in 1..99 {\n"
      "  Y[i in b, j in (w + 1) / 2] = A[i, j] * 2.0\n"
      "  Z[i in b] = sum(j in (w + 1) / 2) A[i, j]\n  return Y, Z\n}");
  const NamedSizes sizes = with_named_sizes(blocks);
  for (const std::vector<int64_t>& at : {std::vector<int64_t>{1, 1}, {3, 8}, {2, 5}}) {
    ir::VarMap values;
    for (size_t i = 0; i < at.size(); ++i)
      values[blocks.symbols[i].var] = ir::int_imm(ir::Elem::I64, at[i]);
    std::vector<int64_t> named;
    for (const ir::Expr& e : sizes.formulas)
      named.push_back(*ir::const_int(arith::Context().simplify(ir::substitute(e, values))));
    EXPECT_EQ(results_of(sizes.func, named), results_of(blocks, at));
  }
}

TEST(NamedSizes, LeaveFunctionsOfConstantSizesAsTheyAre) {
  const ir::LoopFunc blocks =
      blocks_of("te t(A: f32[4, 8]) {\n  Y[i in 4, j in 8] = exp(A[i, j])\n  return Y\n}");
  const NamedSizes sizes = with_named_sizes(blocks);
  EXPECT_EQ(ir::print(ir::Unit{{}, {}, {sizes.func}}), ir::print(ir::Unit{{}, {}, {blocks}}));
  EXPECT_TRUE(sizes.formulas.empty());
}

}  // namespace
}  // namespace tilewright::tune
