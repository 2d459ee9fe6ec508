// SPDX-License-Identifier: Apache-2.0
// Parameters, sizes, scopes of memory, layout functions. One broken text per rule.
#include "ir/broken_text.h"

namespace tilewright::ir {
namespace {

constexpr Broken kMemory[] = {
    {"StoreToIn", "ir.verify.access", "`A` is written but declared `in`", R"(
loops f(A: in f32[4]) {
  A[0] = 0.0 // here
})"},
    {"UpdateOfIn", "ir.verify.access", "`A` is written but declared `in`", R"(
loops f(A: in f32[4]) {
  A[0] sum= 0.0 // here
})"},
    {"AtomicOnIn", "ir.verify.access", "`A` is written but declared `in`", R"(
loops f(A: in i32[4]) stage scheduled {
  atomic add relaxed (A[0], 1:i32) // here
})"},
    {"CallWritesIn", "ir.verify.access", "`A` is written but declared `in`", R"(
instr clear(d: out f32[4]) { compute { for i in 0..4 { d[i] = 0.0 } } }
loops f(A: in f32[4]) stage scheduled {
  call clear(A[0..4]) // here
})"},
    {"StoreToConstant", "ir.verify.access", "lives in `constant`", R"(
loops f(A: out f32[4]) {
  alloc c: f32[4] constant
  c[0] = 1.0 // here
})"},
    {"ParamInShared", "ir.verify.param", "parameter `A` lives in scope `shared`", R"(
loops f(A: in f32[4] shared) { // here
})"},
    {"OutParamInConstant", "ir.verify.param", "is `out` but `constant`", R"(
loops f(A: out f32[4] constant) { // here
})"},
    {"LoadInAShape", "ir.verify.shape", "an extent of buffer `B` reads memory", R"(
loops f(n: in i64[], A: out f32[4]) {
  alloc B: f32[n[]] // here
  A[0] = 0.0
})"},
    {"OddAlignment", "ir.verify.shape", "aligned to 24 bytes", R"(
loops f(A: in f32[4] align 24) { // here
})"},
    {"NegativeExtent", "ir.verify.size", "an extent of buffer `A` is -4", R"(
loops f(A: in f32[-4]) { // here
})"},
    {"TooLarge", "ir.verify.size", "`A` is larger than 2^47 bytes", R"(
loops f(A: in f32[35184372088833]) { // here
})"},
    {"TooLargeByOverflow", "ir.verify.size", "`A` is larger than 2^47 bytes", R"(
loops f(A: in f32[4294967296, 4294967296, 4294967296]) { // here
})"},
    {"TooLargePhysically", "ir.verify.size", "`A` is larger than 2^47 bytes", R"(
loops f(A: in f32[2] layout (i) -> [address: i] extents [70368744177664]) stage scheduled { // here
})"},
    {"NegativeIterator", "ir.verify.size", "iterator `v` of block `b` has the extent -1", R"(
loops f(A: out f32[4]) {
  block b(v: spatial -1 = 0) writes A[v] { A[v] = 0.0 } // here
})"},
    {"SymbolDivisor", "ir.verify.symbol", "no multiple of 16", R"(
loops f(A: in f32[n]) where n in 5..9 div 16 { // here
})"},
    {"SymbolLikely", "ir.verify.symbol", "likely to be 3", R"(
loops f(A: in f32[n]) where n in 0..9 div 2 likely [3] { // here
})"},
    {"RegisterOutsideOfThreads", "ir.verify.alloc_scope",
     "`s` of scope `register` is used inside of the `bind(thread.x)` loop", R"(
loops f(A: out f32[4]) stage scheduled {
  alloc s: f32[] register
  bind(thread.x) for t in 0..4 {
    s[] = 0.0 // here
  }
})"},
    {"RegisterOutsideOfAgents", "ir.verify.alloc_scope", "used inside of agent `a`", R"(
loops f(A: out f32[4]) stage scheduled {
  alloc s: f32[4] register layout (i) -> [lane: i] extents [4]
  agents {
    a(t in 0..4): {
      s[t] = 0.0 // here
    }
  }
})"},
    {"SharedOutsideOfBlocks", "ir.verify.alloc_scope", "the `bind(block.x)` loop `b`", R"(
loops f(A: out f32[4]) stage scheduled {
  alloc s: f32[4] shared
  bind(block.x) for b in 0..4 {
    A[b] = s[b] // here
  }
})"},
    {"ClusterOutsideOfBlocks", "ir.verify.alloc_scope", "of scope `cluster` is used inside of", R"(
loops f(A: out f32[4]) stage scheduled {
  alloc s: f32[4] cluster
  bind(block.x) for b in 0..4 {
    s[b] = 0.0 // here
  }
})"},
    {"RankOfAGlobal", "ir.verify.rank", "`A` lives in `global`", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(cluster.x) for r in 0..4 {
    A@0[r] = 0.0 // here
  }
})"},
    {"RankWithoutCluster", "ir.verify.rank", "another block's `s` is named outside of a cluster",
     R"(
loops f(A: out f32[4]) stage scheduled {
  bind(block.x) for b in 0..4 {
    alloc s: f32[4] shared
    A[b] = s@0[b] // here
  }
})"},
    {"Unroll", "ir.verify.unroll", "unrolling loop `i` would make more than 1000000 copies", R"(
loops f(A: out f32[4]) stage scheduled {
  unrolled for i in 0..1000001 { A[0] = 0.0 } // here
})"},
    {"UnrollNested", "ir.verify.unroll", "unrolling loop `j`", R"(
loops f(A: out f32[4]) stage scheduled {
  unrolled for i in 0..2000 {
    for k in 0..9 {
      unrolled for j in 0..2000 { A[0] = 0.0 } // here
    }
  }
})"},
};

constexpr Broken kLayouts[] = {
    {"Subtraction", "ir.verify.layout_form", "contains the operator `-`", R"(
loops f(A: in f32[4] layout (i) -> [address: 3 - i] extents [4]) stage scheduled { // here
})"},
    {"ModByAVariable", "ir.verify.layout_form", "`%` by something else than a positive constant",
     R"(
loops f(A: in f32[4, 4] layout (i, j) -> [address: i % j, address: j] extents [4, 4]) // here
  stage scheduled {
})"},
    {"DivByZero", "ir.verify.layout_form", "`/` by something else than a positive constant", R"(
loops f(A: in f32[4] layout (i) -> [address: i / 0] extents [4]) stage scheduled { // here
})"},
    {"ProductOfIndices", "ir.verify.layout_form", "a product without a constant factor", R"(
loops f(A: in f32[4, 4] layout (i, j) -> [address: i * j] extents [16]) stage scheduled { // here
})"},
    {"SymbolInside", "ir.verify.layout_form", "a product without a constant factor", R"(
loops f(A: in f32[4] layout (i) -> [address: i * n % 8] extents [8]) where n in 1..4 // here
  stage scheduled {
})"},
    {"SymbolAsTerm", "ir.verify.layout_form", "contains `n`", R"(
loops f(A: in f32[4] layout (i) -> [address: i + n] extents [8]) where n in 1..4 // here
  stage scheduled {
})"},
    {"Function", "ir.verify.layout_form", "contains the operator `min`", R"(
loops f(A: in f32[4] layout (i) -> [address: min(i, 3)] extents [8]) stage scheduled { // here
})"},
    {"Unary", "ir.verify.layout_form", "contains a function that layouts do not know", R"(
loops f(A: in f32[4] layout (i) -> [address: abs(i)] extents [8]) stage scheduled { // here
})"},
    {"NegativeConstant", "ir.verify.layout_form", "contains the negative constant -1", R"(
loops f(A: in f32[4] layout (i) -> [address: i * 2 + -1] extents [8]) stage scheduled { // here
})"},
    {"ExtentOfALoop", "ir.verify.layout_form", "contains the extent `n`", R"(
loops f(A: out f32[4]) stage scheduled {
  for n in 0..4 {
    alloc B: f32[4] layout (i) -> [address: i] extents [n] // here
    A[n] = 0.0
  }
})"},
    {"LanesInGlobal", "ir.verify.layout_form", "spreads `global` memory over lanes", R"(
loops f(A: in f32[4] layout (i) -> [lane: i] extents [4]) stage scheduled { // here
})"},
    {"Collision", "ir.verify.layout_injective", "`A` maps [0, 0] and [0, 4] to one place", R"(
loops f(A: in f32[8, 8] layout (i, j) -> [address: i, address: j % 4] extents [8, 8]) // here
  stage scheduled {
})"},
    {"SwizzleOfTheWrongDigit", "ir.verify.layout_injective", "to one place", R"(
loops f(A: in f32[8, 64] // here
    layout (i, k) -> [address: i, address: (k / 8 ^ i % 8) * 8 + k % 4] extents [8, 64])
  stage scheduled {
})"},
    {"CollisionFarAway", "ir.verify.layout_injective", "to one place", R"(
loops f(A: in f32[1000000, 1000] // here
    layout (i, j) -> [address: i / 16, address: j, address: i % 8] extents [62500, 1000, 16])
  stage scheduled {
})"},
    {"SymbolicCollision", "ir.verify.layout_injective", "to one place", R"(
loops f(A: in f32[n, 8] layout (i, j) -> [address: i, address: j / 2] extents [n, 8]) // here
  where n in 0..100000 stage scheduled {
})"},
    {"ReplicasInOnePlace", "ir.verify.layout_injective", "[0] replica 0 and [0] replica 1", R"(
loops f(A: in f32[8] layout (i; r in 0..2) -> [address: i] extents [8]) stage scheduled { // here
})"},
    {"ExtentTooSmall", "ir.verify.layout_range", "to place 4 of a dimension with 4 places", R"(
loops f(A: in f32[8] layout (i) -> [address: i * 2 % 8 + i / 4] extents [4]) stage scheduled { // here
})"},
    {"ExtentTooSmallFarAway", "ir.verify.layout_range", "index 1023 of dimension 0 to place 63", R"(
loops f(A: in f32[1024] layout (i) -> [address: i / 16, address: i % 16] extents [60, 16]) // here
  stage scheduled {
})"},
};

class VerifyBrokenMemory : public testing::TestWithParam<Broken> {};
TEST_P(VerifyBrokenMemory, IsReportedAtItsPlace) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Memory, VerifyBrokenMemory, testing::ValuesIn(kMemory), name_of);
INSTANTIATE_TEST_SUITE_P(Layout, VerifyBrokenMemory, testing::ValuesIn(kLayouts), name_of);

}  // namespace
}  // namespace tilewright::ir
