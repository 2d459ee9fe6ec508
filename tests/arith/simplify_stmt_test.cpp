// SPDX-License-Identifier: Apache-2.0
#include "arith/known.h"
#include "ir/equal.h"

namespace tilewright::arith {
namespace {

/// A context with a few symbols and buffers, and statements as text.
struct Program : Known {
  Program() {
    symbol("n", 1, 4096).symbol("m", 16, 4096, 16);
    buffer("A", ir::Elem::F32, {expr("n")}).buffer("B", ir::Elem::F32, {expr("m")});
    buffer("C", ir::Elem::I64, {64}).buffer("D", ir::Elem::I64, {64});
  }
  /// The simplified statement, compared with the expected one by text.
  void gives(const std::string& before, const std::string& after) {
    const ir::Stmt s = ir::parse_stmt(before, environment);
    const ir::Stmt simple = simplify(s, context);
    EXPECT_EQ(ir::print(simple), ir::print(ir::parse_stmt(after, environment))) << before;
    // Simple statements stay as they are.
    EXPECT_EQ(simplify(simple, context), simple) << before;
  }
};

TEST(SimplifyStmt, TailTestsGoWhereTheSizeDivides) {
  Program p;
  p.gives(
      "for io in 0..(m + 15)/16 { for ii in 0..16 { if io*16 + ii < m { B[io*16 + ii] = 1.0 } } }",
      "for io in 0..m/16 { for ii in 0..16 { B[io*16 + ii] = 1.0 } }");
  p.gives(
      "for io in 0..(n + 15)/16 { for ii in 0..16 { if io*16 + ii < n { A[io*16 + ii] = 1.0 } } }",
      "for io in 0..(n + 15)/16 { for ii in 0..16 { if io*16 + ii < n { A[io*16 + ii] = 1.0 } } }");
}

TEST(SimplifyStmt, WhatDoesNothingDisappears) {
  Program p;
  p.gives("for i in 0..0 { A[0] = 1.0 }\nA[0] = 2.0", "A[0] = 2.0");
  p.gives("for i in 0..n { if i < 0 { A[i] = 1.0 } }\nA[0] = 2.0", "A[0] = 2.0");
  p.gives("for i in 0..n - n*2 { A[i] = 1.0 }\nA[0] = 2.0", "A[0] = 2.0");
  p.gives("if n < 1 { A[0] = 1.0 } else { A[0] = 2.0 }", "A[0] = 2.0");
  p.gives("if n > 5 { } else { A[0] = 2.0 }", "if n < 6 { A[0] = 2.0 }");
  p.gives("alloc T : f32[4] register\nfor i in 3..3 { T[i] = 0.0 }", "");
  p.gives("while false { A[0] = 1.0 }\nA[0] = 2.0", "A[0] = 2.0");
}

TEST(SimplifyStmt, LoopsOfOneIteration) {
  Program p;
  p.gives("for i in 3..4 { C[i] = i }", "C[3] = 3");
  p.gives("unrolled for i in 0..1 { for j in 0..4 { C[i*4 + j] = j } }",
          "for j in 0..4 { C[j] = j }");
  p.gives("parallel for i in 3..4 { C[i] = i }", "parallel for i in 3..4 { C[3] = 3 }");
}

TEST(SimplifyStmt, LetsOfSimpleValues) {
  Program p;
  p.gives("let a = 3\nC[a] = a + 1", "C[3] = 4");
  p.gives("for i in 0..8 { let a = i\nC[a] = a/8 }", "for i in 0..8 { C[i] = 0 }");
  p.gives("for i in 0..8 { let a = i*4\nC[a] = a%4 + a }",
          "for i in 0..8 { let a = i*4\nC[a] = a }");
  p.gives("let unused = C[3]\nC[0] = 1", "C[0] = 1");
}

TEST(SimplifyStmt, ConditionsAreFactsInside) {
  Program p;
  p.gives("for i in 0..64 { if i < n { if i < n + 1 { C[i] = min(i, n) } else { C[i] = 0 } } }",
          "for i in 0..64 { if i < n { C[i] = i } }");
  p.gives("for i in 0..64 { if i < n { C[i] = 1 } else { C[i] = select(i < n, 2, 3) } }",
          "for i in 0..64 { if i < n { C[i] = 1 } else { C[i] = 3 } }");
}

TEST(SimplifyStmt, FactsAboutMemoryDoNotOutliveWrites) {
  Program p;
  p.gives("if C[0] < 4 { C[0] = 9\nif C[0] < 4 { D[0] = 1 } }",
          "if C[0] < 4 { C[0] = 9\nif C[0] < 4 { D[0] = 1 } }");
  p.gives("if C[0] < 4 { D[1] = 9\nif C[0] < 4 { D[0] = 1 } }",
          "if C[0] < 4 { D[1] = 9\nD[0] = 1 }");
  p.gives("let a = C[0]\nif a < 4 { C[0] = 9\nif C[0] < 4 { D[a] = 1 } }",
          "let a = C[0]\nif a < 4 { C[0] = 9\nif C[0] < 4 { D[a] = 1 } }");
}

TEST(SimplifyStmt, BlocksKeepTheirIterators) {
  Program p;
  p.gives(
      "for io in 0..m/16 { for ii in 0..16 { block b(v: spatial m = (io*16 + ii)/1) where io*16 + "
      "ii < m "
      "writes B[v +: 1] { B[(v*4 + 3)/4] = 1.0 } } }",
      "for io in 0..m/16 { for ii in 0..16 { block b(v: spatial m = io*16 + ii) "
      "writes B[v +: 1] { B[v] = 1.0 } } }");
  // One value only, but the block still says where it comes from.
  p.gives("for i in 0..1 { block b(v: spatial 1 = i) writes C[v +: 1] { C[v] = v*2 } }",
          "block b(v: spatial 1 = 0) writes C[v +: 1] { C[v] = v*2 }");
}

TEST(SimplifyStmt, InstancesAreInsideTheDomain) {
  Program p;
  p.gives(
      "for i in 0..64 { block b(v: spatial 60 = D[i]) writes C[v +: 1] { C[v] = v/60 + v%60 } }",
      "for i in 0..64 { block b(v: spatial 60 = D[i]) writes C[v +: 1] { C[v] = v } }");
}

TEST(SimplifyStmt, PredicatesAreSimplifiedBeforeTheDomainHolds) {
  Program p;
  // v < 60 follows from the domain, but it is the predicate that keeps instances inside of it.
  p.gives(
      "for i in 0..64 { block b(v: spatial 60 = i) where i < 60 writes C[v +: 1] { C[v] = v/60 } }",
      "for i in 0..64 { block b(v: spatial 60 = i) where i < 60 writes C[v +: 1] { C[v] = 0 } }");
}

TEST(SimplifyStmt, InitRunsAtTheFirstReduction) {
  Program p;
  p.gives(
      "for i in 0..8 { for k in 0..8 { block b(v: spatial 8 = i, r: reduce 8 = k) "
      "reads D[r +: 1] writes C[v +: 1] { init { C[v] = r*0 + r } C[v] sum= D[r] } } }",
      "for i in 0..8 { for k in 0..8 { block b(v: spatial 8 = i, r: reduce 8 = k) "
      "reads D[r +: 1] writes C[v +: 1] { init { C[v] = r } C[v] sum= D[r] } } }");
}

TEST(SimplifyStmt, VectorIndicesBecomeRamps) {
  Program p;
  p.gives(
      "for i in 0..m/16 { B[ramp(i*16, 1, 16)/broadcast(1, 16)] = "
      "B[ramp(0, 1, 16) + broadcast(i*16, 16)] mask (ramp(i*16, 1, 16) < broadcast(m, 16)) }",
      "for i in 0..m/16 { B[ramp(i*16, 1, 16)] = B[ramp(i*16, 1, 16)] }");
  p.gives("B[ramp(0, 1, 4)] mask (ramp(0, 1, 4) < broadcast(m, 4)) = broadcast(1.0, 4)",
          "B[ramp(0, 1, 4)] = broadcast(1.0, 4)");
  p.gives("B[ramp(0, 1, 4)] mask (ramp(0, 1, 4) < broadcast(0, 4)) = broadcast(1.0, 4)", "");
}

TEST(SimplifyStmt, NothingChangesKeepsTheHandle) {
  Program p;
  const ir::Stmt s = ir::parse_stmt(
      "parallel for i in 0..n { alloc T : f32[4] register\nfor j in 0..4 { T[j] = A[i] }\n"
      "if i < 7 { A[i] = T[2] * 3.0 } else { A[i] = exp(T[1]) }\n"
      "for k in 0..8 { block b(v: spatial 8 = k) reads D[v +: 1] writes C[v +: 1] { C[v] = D[v] } "
      "} }",
      p.environment);
  EXPECT_EQ(simplify(s, p.context), s);
}

}  // namespace
}  // namespace tilewright::arith
