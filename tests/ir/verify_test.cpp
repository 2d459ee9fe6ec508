// SPDX-License-Identifier: Apache-2.0
// What may occur at each stage, scopes, blocks, instructions. One broken text per rule.
#include "ir/broken_text.h"
#include "ir/build.h"

namespace tilewright::ir {
namespace {

constexpr Broken kStages[] = {
    {"ParallelAtLoops", "ir.verify.stage", "the `parallel` loop `i` may not occur", R"(
loops f(A: out f32[4]) {
  parallel for i in 0..4 { A[i] = 0.0 } // here
})"},
    {"BarrierAtLoops", "ir.verify.stage", "`barrier block` may not occur", R"(
loops f(A: out f32[4]) {
  barrier block // here
  A[0] = 0.0
})"},
    {"VectorAtLoops", "ir.verify.stage", "a vector of type i64x4", R"(
loops f(A: out f32[4]) {
  A[ramp(0, 1, 4)] = broadcast(0.0, 4) // here
})"},
    {"VectorInsideAScalarAtLoops", "ir.verify.stage", "a vector of type f32x4", R"(
loops f(A: out f32[]) {
  A[] = reduce_add(broadcast(1.0, 4)) // here
})"},
    {"LayoutAtLoops", "ir.verify.stage", "buffer `A` has a layout", R"(
loops f(
  A: out f32[4] layout (i) -> [address: i] extents [4]) { // here
  A[0] = 0.0
})"},
    {"BlockAtFinal", "ir.verify.stage", "the block `b` may not occur", R"(
loops f(A: out f32[4]) stage final {
  for i in 0..4 {
    block b(v: spatial 4 = i) writes A[v] { A[v] = 0.0 } // here
  }
})"},
    {"UpdateAtFinal", "ir.verify.stage", "the update of `A` may not occur", R"(
loops f(A: inout f32[4]) stage final {
  A[0] sum= 1.0 // here
})"},
    {"VThreadAtFinal", "ir.verify.stage", "the `vthread` loop `v`", R"(
loops f(A: out f32[4]) stage final {
  vthread for v in 0..4 { A[v] = 1.0 } // here
})"},
    {"RankTwoAtFinal", "ir.verify.stage", "buffer `B` has 2 dimensions", R"(
loops f(A: out f32[4]) stage final {
  alloc B: f32[2, 2] // here
  A[0] = 1.0
})"},
    {"LayoutAtFinal", "ir.verify.stage", "buffer `B` has a layout", R"(
loops f(A: out f32[4]) stage final {
  alloc B: f32[4] layout (i) -> [address: i] extents [8] // here
  A[0] = 1.0
})"},
};

constexpr Broken kBlocks[] = {
    {"UnlistedRead", "ir.verify.block_region", "block `b` reads `A`, which its `reads` do not", R"(
loops f(A: in f32[4], B: out f32[4]) {
  for i in 0..4 {
    block b(v: spatial 4 = i) writes B[v] {
      B[v] = A[v] // here
    }
  }
})"},
    {"UnlistedWrite", "ir.verify.block_region", "block `b` writes `B`, which its `writes` do not",
     R"(
loops f(A: in f32[4], B: out f32[4]) {
  for i in 0..4 {
    opaque block b(v: spatial 4 = i) reads A[v] {
      B[v] = A[v] // here
    }
  }
})"},
    {"UnlistedReadOfAnInnerBlock", "ir.verify.block_region", "block `outer` reads `A`", R"(
loops f(A: in f32[4], B: out f32[4]) {
  block outer(u: spatial 1 = 0) writes B[0..4] {
    for i in 0..4 {
      block b(v: spatial 4 = i) reads A[v] writes B[v] {
        B[v] = A[v] // here
      }
    }
  }
})"},
    {"RegionReadsMemory", "ir.verify.block_region", "the region of `A` stated by block `b` reads",
     R"(
loops f(A: in f32[4], I: in i64[4], B: out f32[4]) {
  for i in 0..4 {
    block b(v: spatial 4 = i) reads A[I[v]], I[v] writes B[v] { // here
      B[v] = A[I[v]]
    }
  }
})"},
    {"BindingReadsMemory", "ir.verify.block_binding", "iterator `v` of block `b` depends on loaded",
     R"(
loops f(I: in i64[4], B: out f32[4]) {
  for i in 0..4 {
    block b(v: spatial 4 = I[i]) writes B[v] { B[v] = 0.0 } // here
  }
})"},
    {"ReductionOverwrites", "ir.verify.block_reduction", "block `b` has reduction iterators, but",
     R"(
loops f(A: in f32[4], B: out f32[]) {
  for i in 0..4 {
    block b(v: reduce 4 = i) reads A[v] writes B[] {
      B[] = A[v] // here
    }
  }
})"},
    {"ReductionByComputeForm", "ir.verify.block_reduction", "the call of `copy` overwrites `B`", R"(
instr copy(s: in f32[1], d: out f32[1]) { compute { d[0] = s[0] } }
loops f(A: in f32[4], B: out f32[1]) stage scheduled {
  for i in 0..4 {
    block b(v: reduce 4 = i) reads A[v] writes B[0] {
      call copy(A[v], B[0]) // here
    }
  }
})"},
    {"InitUpdates", "ir.verify.block_init", "the update of `B` stands in the `init` of block `b`",
     R"(
loops f(A: in f32[4], B: out f32[]) {
  for i in 0..4 {
    block b(v: reduce 4 = i) reads A[v] writes B[] {
      init { B[] sum= 0.0 } // here
      B[] sum= A[v]
    }
  }
})"},
    {"InitReadsItsResult", "ir.verify.block_init", "the `init` of block `b` reads `B`", R"(
loops f(A: in f32[4], B: inout f32[]) {
  for i in 0..4 {
    block b(v: reduce 4 = i) reads A[v], B[] writes B[] {
      init { B[] = B[] * 2.0 } // here
      B[] sum= A[v]
    }
  }
})"},
};

constexpr Broken kInstructions[] = {
    {"WritesNothing", "ir.verify.instr", "`x` has no operand that it writes", R"(
instr x(a: in f32[4]) { compute { } } // here
)"},
    {"SymbolicOperand", "ir.verify.instr_operand", "another one", R"(
instr x(a: out f32[4]) { compute { for i in 0..4 { a[i] = 0.0 } } }
loops f(A: out f32[n]) where n in 1..9 stage scheduled {
  call x(A[0..n]) // here
})"},
    {"BarrierInMeaning", "ir.verify.instr", "`barrier warp` stands in the `compute` of instruction",
     R"(
instr x(a: out f32[4]) {
  compute {
    barrier warp // here
  }
})"},
    {"ParallelInMeaning", "ir.verify.instr", "the `parallel` loop `i` stands in the `compute`", R"(
instr x(a: out f32[4]) {
  compute {
    parallel for i in 0..4 { a[i] = 0.0 } // here
  }
})"},
    {"ResetReads", "ir.verify.instr", "the `reset` of instruction `x` reads its result `a`", R"(
instr x(a: inout f32[4]) {
  compute { a[0] = 0.0 }
  reset {
    a[0] = a[1] // here
  }
})"},
    {"MeaningWritesIn", "ir.verify.access", "`a` is written but declared `in`", R"(
instr x(a: in f32[4], b: out f32[4]) {
  compute {
    a[0] = 0.0 // here
  }
})"},
    {"OperandInAnotherScope", "ir.verify.instr_operand", "lives in `shared`, `A` in `global`", R"(
instr x(a: out f32[4] shared) { compute { for i in 0..4 { a[i] = 0.0 } } }
loops f(A: out f32[4]) stage scheduled {
  call x(A[0..4]) // here
})"},
    {"OperandInAnotherNamedScope", "ir.verify.instr_operand",
     "lives in `vdla.inp`, `b` in `vdla.acc`",
     R"(
instr x(a: out i8[4] vdla.inp) { compute { for i in 0..4 { a[i] = 0:i8 } } }
loops f(A: out f32[4]) stage scheduled {
  alloc b: i8[4] vdla.acc
  call x(b[0..4]) // here
})"},
    {"OperandOfAnotherShape", "ir.verify.instr_operand", "has the shape [4, 8], the region of `A`",
     R"(
instr x(a: out f32[4, 8]) { compute { a[0, 0] = 0.0 } }
loops f(A: out f32[16, 16]) stage scheduled {
  call x(A[0..8, 0..4]) // here
})"},
    {"StridesBeforeFinal", "ir.verify.instr_strides", "has strides at stage `scheduled`", R"(
instr x(a: out f32[4]) { compute { for i in 0..4 { a[i] = 0.0 } } }
loops f(A: out f32[4]) stage scheduled {
  call x(A[0..4]) strides ([1]) // here
})"},
    {"NoStridesAtFinal", "ir.verify.instr_strides", "has no strides at stage `final`", R"(
instr x(a: out f32[4]) { compute { for i in 0..4 { a[i] = 0.0 } } }
loops f(A: out f32[4]) stage final {
  call x(A[0..4]) // here
})"},
    {"FragmentHeldByOtherThreads", "ir.verify.instr_operand", "held by other threads", R"(
instr x(d: inout f32[4, 4] register layout (i, j) -> [lane: i, register: j] extents [4, 4]) {
  compute { d[0, 0] = 0.0 }
}
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    alloc d: f32[4, 4] register layout (i, j) -> [lane: j, register: i] extents [4, 4]
    call x(d[0..4, 0..4]) // here
  }
})"},
    {"FragmentNotSpread", "ir.verify.instr_operand", "is spread over the lanes, `d` is not", R"(
instr x(d: inout f32[4, 4] register layout (i, j) -> [lane: i, register: j] extents [4, 4]) {
  compute { d[0, 0] = 0.0 }
}
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    alloc d: f32[4, 4] register
    call x(d[0..4, 0..4]) // here
  }
})"},
};

class VerifyBroken : public testing::TestWithParam<Broken> {};
TEST_P(VerifyBroken, IsReportedAtItsPlace) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Stage, VerifyBroken, testing::ValuesIn(kStages), name_of);
INSTANTIATE_TEST_SUITE_P(Block, VerifyBroken, testing::ValuesIn(kBlocks), name_of);
INSTANTIATE_TEST_SUITE_P(Instruction, VerifyBroken, testing::ValuesIn(kInstructions), name_of);

/// What looks like a broken rule and is none.
constexpr std::pair<const char*, const char*> kRight[] = {
    {"ExtentZero", "loops f(A: in f32[0], B: out f32[0, 4]) { for i in 0..0 { B[i, 0] = 0.0 } }"},
    {"ChannelInsideVThread", R"(
loops f(A: out f32[4]) stage scheduled {
  vthread for v in 0..4 {
    channel c[1] commits=1 releases=1 over block
    acquire c[0]
    commit c[0]
    wait c[0]
    release c[0]
    A[v] = 0.0
  }
})"},
    {"EachThreadIssues", R"(
loops f(A: in f32[4]) stage scheduled {
  alloc s: f32[4] shared
  channel c[1] commits=1 releases=1 over block
  bind(thread.x) for t in 0..4 {
    if t < 2 {
      async -> c[0] { s[t] = A[t] }
    }
    commit c[0] bytes 8
  }
})"},
    {"ScalarVariableCounts", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    alloc i: i64[] register
    i[] = 0
    while i[] < 4 {
      barrier block
      i[] = i[] + 1
    }
    A[t] = 0.0
  }
})"},
    {"DataDependentLoopWithoutSync", R"(
loops f(n: in i64[4], A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    A[t] = 0.0
    for i in 0..n[t] { A[t] sum= 1.0 }
    barrier block
  }
})"},
    {"ReductionIntoItsOwnScratch", R"(
loops f(A: in f32[4], B: out f32[]) {
  for i in 0..4 {
    block b(v: reduce 4 = i) reads A[v] writes B[] {
      init { B[] = 0.0 }
      alloc s: f32[] register
      s[] = A[v] * 2.0
      B[] sum= s[]
    }
  }
})"},
    {"InitWithABias", R"(
loops f(A: in f32[4], c: in f32[], B: out f32[]) {
  for i in 0..4 {
    block b(v: reduce 4 = i) reads A[v], c[] writes B[] {
      init { B[] = c[] }
      B[] sum= A[v]
    }
  }
})"},
    {"OrderedBlockStores", R"(
loops f(A: in f32[4], B: inout f32[5]) {
  for i in 0..4 {
    block b(v: ordered 4 = i) reads A[v], B[v] writes B[v + 1] { B[v + 1] = B[v] + A[v] }
  }
})"},
    {"LargePackedLayout", R"(
loops f(A: in f32[4096, n] layout (k, i) -> [address: i / 16, address: k, address: i % 16]
    extents [n / 16, 4096, 16]) where n in 16..4096 div 16 stage scheduled {
})"},
    {"SymbolicRowStride", R"(
loops f(A: in f32[m, 8] layout (i, j) -> [address: i * n + j] extents [m * n])
    where m in 0..64, n in 8..64 stage scheduled {
})"},
    {"PartOfAFragment", R"(
instr x(d: inout f32[4, 4] register layout (i, j) -> [lane: i, register: j] extents [4, 4]) {
  compute { d[0, 0] = 0.0 }
}
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    alloc d: f32[4, 8] register layout (i, j) -> [lane: i, register: j] extents [4, 8]
    call x(d[0..4, 4..8])
  }
})"},
    {"FormThatIgnoresAnOperand", R"(
instr x(a: in f32[4], d: inout f32[4]) {
  compute { for i in 0..4 { d[i] = a[i] } }
  reset { for i in 0..4 { d[i] = 0.0 } }
}
loops f(A: in f32[4], D: inout f32[4]) stage scheduled {
  block b() writes D[0..4] { call x.reset(A[0..4], D[0..4]) }
})"},
};

TEST(Verify, AcceptsWhatIsRight) {
  for (const auto& [name, text] : kRight) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(verify(parse(text)));
  }
}

/// Programs that no text can say, as a wrong pass would make them.
std::string code_of(const LoopFunc& f) {
  try {
    verify(f);
    return "accepted";
  } catch (const Error& e) {
    EXPECT_FALSE(e.diagnostic.help.empty());
    return std::string(e.diagnostic.code);
  }
}

LoopFunc function(Stmt body, std::vector<Param> params = {}) {
  LoopFunc f;
  f.name = "f";
  f.params = std::move(params);
  f.body = std::move(body);
  f.stage = Stage::Scheduled;
  return f;
}

Stmt store(const Buffer& b, std::vector<Expr> indices) {
  return make_stmt<Store>({}, b, std::move(indices), imm(b->elem, 0));
}

TEST(Verify, ReportsWhatIsUsedOutsideOfItsScope) {
  const Buffer a = make_buffer("A", Elem::F32, {Expr(4)});
  const Var i("i");
  const Stmt loop = make_stmt<For>({}, i, Expr(0), Expr(4), store(a, {i}));
  EXPECT_EQ(code_of(function(loop, {{a, Access::Out}})), "accepted");
  EXPECT_EQ(code_of(function(loop)), "ir.verify.unbound");
  EXPECT_EQ(code_of(function(store(a, {i}), {{a, Access::Out}})), "ir.verify.unbound");
  EXPECT_EQ(code_of(function(seq({loop, store(a, {i})}), {{a, Access::Out}})), "ir.verify.unbound");

  const Channel c(std::make_shared<const ChannelNode>(ChannelNode{.name = "c"}));
  const Stmt wait = make_stmt<ChannelOp>({}, ChannelOpKind::Wait, c, Expr(0));
  EXPECT_EQ(code_of(function(make_stmt<ChannelScope>({}, c, wait))), "accepted");
  EXPECT_EQ(code_of(function(wait)), "ir.verify.unbound");

  const Buffer sized = make_buffer("B", Elem::F32, {i});
  EXPECT_EQ(code_of(function(make_stmt<Alloc>({}, sized, nothing()))), "ir.verify.unbound");
}

TEST(Verify, ReportsWhatIsBoundInsideItsOwnScope) {
  const Buffer a = make_buffer("A", Elem::F32, {Expr(4)});
  const Var i("i");
  const Stmt loop = make_stmt<For>({}, i, Expr(0), Expr(4), store(a, {i}));
  const std::vector<Param> params = {{a, Access::Out}};
  EXPECT_EQ(code_of(function(seq({loop, loop}), params)), "accepted");
  EXPECT_EQ(code_of(function(make_stmt<For>({}, i, Expr(0), Expr(4), loop), params)),
            "ir.verify.rebound");
  EXPECT_EQ(code_of(function(make_stmt<Let>({}, i, Expr(0), loop), params)), "ir.verify.rebound");
  EXPECT_EQ(code_of(function(make_stmt<Alloc>({}, a, loop), params)), "ir.verify.rebound");
}

TEST(Verify, ReportsABindingToTheBlocksOwnIterator) {
  const Buffer a = make_buffer("A", Elem::F32, {Expr(4), Expr(4)});
  const Var u("u"), v("v");
  const auto block = [&](const Expr& binding) {
    return make_stmt<Block>(Span{}, "b",
                            std::vector<BlockIter>{{u, IterKind::Spatial, Expr(4), Expr(0)},
                                                   {v, IterKind::Spatial, Expr(4), binding}},
                            Expr(), std::vector<Region>{},
                            std::vector<Region>{{a, {{u, Expr(1)}, {v, Expr(1)}}, Expr()}}, Stmt(),
                            store(a, {u, v}));
  };
  EXPECT_EQ(code_of(function(block(Expr(1)), {{a, Access::Out}})), "accepted");
  EXPECT_EQ(code_of(function(block(u), {{a, Access::Out}})), "ir.verify.block_binding");
}

TEST(Verify, ReportsAReducerThatIsNoFunctionOfItsValues) {
  const auto reducer = [](auto edit) {
    ReducerNode r;
    r.name = "add";
    r.lhs = {Var("x", kF32)};
    r.rhs = {Var("y", kF32)};
    r.combine = {r.lhs[0] + r.rhs[0]};
    r.identity = {float_imm(Elem::F32, 0)};
    edit(r);
    try {
      verify(r);
      return std::string("accepted");
    } catch (const Error& e) {
      return std::string(e.diagnostic.code);
    }
  };
  EXPECT_EQ(reducer([](ReducerNode&) {}), "accepted");
  EXPECT_EQ(reducer([](ReducerNode& r) { r.combine = {r.lhs[0] + Var("z", kF32)}; }),
            "ir.verify.reducer");
  EXPECT_EQ(reducer([](ReducerNode& r) { r.identity = {r.lhs[0]}; }), "ir.verify.reducer");
  EXPECT_EQ(reducer([](ReducerNode& r) { r.identity = {int_imm(Elem::I32, 0)}; }),
            "ir.verify.reducer");
  EXPECT_EQ(reducer([](ReducerNode& r) { r.rhs.clear(); }), "ir.verify.reducer");
  EXPECT_EQ(
      reducer([](ReducerNode& r) { r.combine = {load(make_buffer("A", Elem::F32, {}), {})}; }),
      "ir.verify.reducer");
}

TEST(Verify, ReportsASymbolWithoutValues) {
  const auto with = [](Symbol symbol) {
    LoopFunc f = function(nothing());
    f.symbols = {std::move(symbol)};
    return code_of(f);
  };
  EXPECT_EQ(with({.var = Var("n"), .min = 3, .max = 5}), "accepted");
  EXPECT_EQ(with({.var = Var("n"), .min = 5, .max = 3}), "ir.verify.symbol");
  EXPECT_EQ(with({.var = Var("n"), .min = 1, .max = 3, .divisor = 0}), "ir.verify.symbol");
}

TEST(Verify, ReportsReplicasWithoutAVariable) {
  const Var i("i");
  LayoutNode layout;
  layout.indices = {i};
  layout.replicas = 2;
  layout.dims = {{PhysKind::Address, i, Expr(4)}};
  const Buffer a = make_buffer("A", Elem::F32, {Expr(4)}, {},
                               Layout(std::make_shared<const LayoutNode>(layout)));
  EXPECT_EQ(code_of(function(nothing(), {{a, Access::In}})), "ir.verify.layout_form");
}

TEST(Verify, ReportsAnInstructionWithoutConstantShape) {
  const Var n("n");
  const Buffer d = make_buffer("d", Elem::F32, {n});
  InstructionNode instr;
  instr.name = "x";
  instr.operands = {{d, Access::Out}};
  instr.compute = nothing();
  try {
    verify(instr);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, "ir.verify.instr");
    EXPECT_NE(e.diagnostic.message.find("an extent that is not a constant"), std::string::npos);
  }
}

TEST(Verify, ReportsTwoFunctionsOfOneName) {
  Unit unit;
  unit.functions = {function(nothing()), function(nothing())};
  try {
    verify(unit);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, "ir.verify.duplicate");
    EXPECT_NE(e.diagnostic.message.find("two functions named `f`"), std::string::npos);
  }
}

TEST(Verify, SaysInWhichFunctionAFindingIs) {
  try {
    verify(parse("loops broken(A: in f32[4]) { A[0] = 0.0 }"));
    FAIL();
  } catch (const Error& e) {
    ASSERT_FALSE(e.diagnostic.notes.empty());
    EXPECT_EQ(e.diagnostic.notes.back(), "in function `broken`");
  }
}

}  // namespace
}  // namespace tilewright::ir
