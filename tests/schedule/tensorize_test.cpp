// SPDX-License-Identifier: Apache-2.0
// Instructions declared here, outside of src/: by structure, never by name, a nest is found to be
// one or is refused with the axis, operand or expression that differs.
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

using ir::ScopeKind;

constexpr const char* kOuter = R"(
instr outer(c: inout f32[2, 4], a: in f32[2], b: in f32[4]) {
  compute { for i in 0..2 { for j in 0..4 { c[i, j] = a[i] * b[j] } } }
  reset { for i in 0..2 { for j in 0..4 { c[i, j] = 0.0 } } }
  update { for i in 0..2 { for j in 0..4 { c[i, j] sum= a[i] * b[j] } } }
}
)";

constexpr const char* kGemm = R"(
instr gemm(c: inout f32[2, 4], a: in f32[2, 3], b: in f32[3, 4]) {
  compute {
    for i in 0..2 { for j in 0..4 { c[i, j] = 0.0 } }
    for i in 0..2 { for j in 0..4 { for l in 0..3 { c[i, j] sum= b[l, j] * a[i, l] } } }
  }
  reset { for j in 0..4 { for i in 0..2 { c[i, j] = 0.0 } } }
  update { for l in 0..3 { for i in 0..2 { for j in 0..4 { c[i, j] sum= b[l, j] * a[i, l] } } } }
}
)";

std::vector<ir::Instruction> instructions(const std::string& text) {
  const ir::Unit unit = ir::parse(text);
  for (const ir::Instruction& i : unit.instructions) ir::verify(*i);
  return unit.instructions;
}

/// The same for what a schedule made; the printed trace replays to the same program.
void expect_same_with(const ir::LoopFunc& before, const Schedule& s,
                      const std::vector<ir::Instruction>& instructions) {
  expect_same(before, s.func());
  const Trace trace = parse_trace(print(s.trace()));
  EXPECT_EQ(ir::print(apply(trace, before, instructions)), ir::print(s.func()));
}

std::vector<std::string> calls_in(const ir::LoopFunc& f) {
  std::vector<std::string> out;
  ir::walk(f.body, [&](const ir::InstrCall& c) {
    out.push_back(c.instr->name + "." + std::string(ir::name(c.form)));
  });
  return out;
}

/// y0 x0 k y1 x1
std::array<LoopRef, 5> tiled(Schedule& s, int rows, int columns) {
  auto [y, x, k] = s.loops<3>("C");
  auto [y0, y1] = s.split<2>(y, {kOpen, rows});
  auto [x0, x1] = s.split<2>(x, {kOpen, columns});
  s.reorder({y0, x0, k, y1, x1});
  return {y0, x0, k, y1, x1};
}

TEST(Blockize, MakesTilesOneBlock) {
  const ir::LoopFunc f = matmul(6, 8, 5);
  Schedule s(f);
  const auto loops = tiled(s, 2, 4);
  s.blockize(loops[3]);
  EXPECT_EQ(ir::print(s.func()),
            R"(loops matmul(A: in f32[6, 5], B: in f32[5, 8], C: out f32[6, 8]) stage scheduled {
  for y_0 in 0..3 {
    for x_0 in 0..2 {
      for k in 0..5 {
        block C_outer(vy: spatial 3 = y_0, vx: spatial 2 = x_0, vk: reduce 5 = k)
            reads A[vy * 2 +: 2, vk], B[vk, vx * 4 +: 4]
            writes C[vy * 2 +: 2, vx * 4 +: 4] {
          init {
            for y_1_init in 0..2 {
              for x_1_init in 0..4 {
                block C_init(vy_1: spatial 6 = vy * 2 + y_1_init,
                    vx_1: spatial 8 = vx * 4 + x_1_init)
                    writes C[vy_1, vx_1] {
                  C[vy_1, vx_1] = 0.0
                }
              }
            }
          }
          for y_1 in 0..2 {
            for x_1 in 0..4 {
              block C(vy_1: spatial 6 = vy * 2 + y_1, vx_1: spatial 8 = vx * 4 + x_1,
                  vk_1: reduce 5 = vk)
                  reads A[vy_1, vk_1], B[vk_1, vx_1]
                  writes C[vy_1, vx_1] {
                C[vy_1, vx_1] sum= A[vy_1, vk_1] * B[vk_1, vx_1]
              }
            }
          }
        }
      }
    }
  }
}
)");
  expect_same(f, s);
}

TEST(Blockize, KeepsTheInitInsideWhereTheWholeReductionIs) {
  const ir::LoopFunc f = matmul(6, 8, 5);
  Schedule s(f);
  auto [y, x, k] = s.loops<3>("C");
  auto [x0, x1] = s.split<2>(x, {kOpen, 4});
  s.blockize(x1);
  const ir::LoopFunc after = s.func();
  ir::walk(after.body,
           [&](const ir::Block& b) { EXPECT_EQ(static_cast<bool>(b.init), b.name == "C"); });
  expect_same(f, s);
  s.parallel(x0);  // the outer block is spatial
  expect_same(f, s);
}

TEST(Blockize, ItsBlockDecomposes) {
  const ir::LoopFunc f = matmul(6, 8, 6);
  Schedule s(f);
  auto loops = tiled(s, 2, 4);
  auto [k0, k1] = s.split<2>(loops[2], {kOpen, 3});
  const BlockRef outer = s.blockize(k1);
  s.decompose_reduction(outer, k0);
  expect_same(f, s);
}

TEST(Blockize, RefusesATileThatIsNotWhole) {
  Schedule s(matmul(7, 8, 5));
  const auto loops = tiled(s, 2, 4);
  const Diagnostic d = diagnostic_of([&] { s.blockize(loops[3]); });
  EXPECT_EQ(d.code, "schedule.blockize.predicate");
  EXPECT_NE(d.notes.at(0).find("`y_1`"), std::string::npos) << d.notes.at(0);
}

TEST(Blockize, RefusesLoopsThatShareAnIteratorInAnotherWay) {
  Schedule s(matmul(6, 8, 5));
  auto [y, x, k] = s.loops<3>("C");
  auto [x0, x1] = s.split<2>(x, {kOpen, 4});
  s.reorder({x1, x0, k});  // x = x0*4 + x1, x0 inside
  const Diagnostic d = diagnostic_of([&] { s.blockize(x0); });
  EXPECT_EQ(d.code, "schedule.blockize.binding");
  EXPECT_NE(d.notes.at(0).find("`vx`"), std::string::npos) << d.notes.at(0);
}

TEST(Tensorize, AnOuterProductWithItsInit) {
  const ir::LoopFunc f = matmul(6, 8, 5);
  const auto list = instructions(kOuter);
  Schedule s(f, list);
  const auto loops = tiled(s, 2, 4);
  const BlockRef tile = s.tensorize(loops[3], "outer");
  EXPECT_EQ(calls_in(s.func()), (std::vector<std::string>{"outer.reset", "outer.update"}));
  expect_same_with(f, s, list);
  s.decompose_reduction(tile, loops[2]);
  expect_same_with(f, s, list);
}

TEST(Tensorize, CommutedOperandsAndLoopsInAnotherOrder) {
  const ir::LoopFunc f = matmul(6, 8, 6);
  const auto list = instructions(kGemm);
  Schedule s(f, list);
  const auto loops = tiled(s, 2, 4);
  auto [k0, k1] = s.split<2>(loops[2], {kOpen, 3});
  s.reorder({k0, loops[4], k1, loops[3]});
  s.tensorize(s.blockize(loops[4]), "gemm");
  EXPECT_EQ(calls_in(s.func()), (std::vector<std::string>{"gemm.reset", "gemm.update"}));
  expect_same_with(f, s, list);
}

TEST(Tensorize, AWholeReductionIsCompute) {
  const ir::LoopFunc f = matmul(6, 8, 3);
  const auto list = instructions(kGemm);
  Schedule s(f, list);
  const auto loops = tiled(s, 2, 4);
  s.reorder({loops[3], loops[4], loops[2]});
  s.tensorize(loops[3], "gemm");
  EXPECT_EQ(calls_in(s.func()), (std::vector<std::string>{"gemm.compute"}));
  expect_same_with(f, s, list);
}

TEST(Tensorize, AnInitWithoutALikeInComputeIsResetAndUpdate) {
  const ir::LoopFunc f = matmul(6, 8, 1);
  const auto list = instructions(kOuter);
  Schedule s(f, list);
  const auto loops = tiled(s, 2, 4);
  s.reorder({loops[3], loops[4], loops[2]});
  s.tensorize(loops[3], "outer");
  EXPECT_EQ(calls_in(s.func()), (std::vector<std::string>{"outer.reset", "outer.update"}));
  expect_same_with(f, s, list);
}

/// The note of the refusal to tensorize the 2 x 4 tile of a matmul.
std::string refusal(const std::string& instruction, const std::string& name) {
  Schedule s(matmul(6, 8, 5), instructions(instruction));
  const auto loops = tiled(s, 2, 4);
  const ir::LoopFunc before = s.func();
  const Diagnostic d = diagnostic_of([&] { s.tensorize(loops[3], name); });
  EXPECT_EQ(d.code, "schedule.tensorize.match");
  EXPECT_EQ(ir::print(s.func()), ir::print(before)) << "the program must stay as it was";
  return d.notes.at(0);
}

TEST(Tensorize, NamesTheAxisOfAnotherExtent) {
  const std::string note = refusal(R"(
instr outer(c: inout f32[2, 8], a: in f32[2], b: in f32[8]) {
  compute { for i in 0..2 { for j in 0..8 { c[i, j] = a[i] * b[j] } } }
  reset { for i in 0..2 { for j in 0..8 { c[i, j] = 0.0 } } }
  update { for i in 0..2 { for j in 0..8 { c[i, j] sum= a[i] * b[j] } } }
})",
                                   "outer");
  EXPECT_NE(note.find("axis `j` of the instruction has 8 iterations, loop `x_1` of the nest 4"),
            std::string::npos)
      << note;
}

TEST(Tensorize, NamesTheAxisThatTheNestLacks) {
  const std::string note = refusal(kGemm, "gemm");
  EXPECT_NE(note.find("no loop of the nest runs as axis `l`"), std::string::npos) << note;
}

TEST(Tensorize, NamesTheExpressionThatDiffers) {
  const std::string note = refusal(R"(
instr squares(c: inout f32[2, 4], a: in f32[2], b: in f32[4]) {
  compute { for i in 0..2 { for j in 0..4 { c[i, j] = a[i] + b[j] } } }
  reset { for i in 0..2 { for j in 0..4 { c[i, j] = 0.0 } } }
  update { for i in 0..2 { for j in 0..4 { c[i, j] sum= a[i] + b[j] } } }
})",
                                   "squares");
  EXPECT_NE(note.find("`a[i] + b[j]`"), std::string::npos) << note;
}

TEST(Tensorize, NamesTheReducer) {
  const std::string note = refusal(R"(
instr most(c: inout f32[2, 4], a: in f32[2], b: in f32[4]) {
  compute { for i in 0..2 { for j in 0..4 { c[i, j] = a[i] * b[j] } } }
  reset { for i in 0..2 { for j in 0..4 { c[i, j] = 0.0 } } }
  update { for i in 0..2 { for j in 0..4 { c[i, j] max= a[i] * b[j] } } }
})",
                                   "most");
  EXPECT_NE(note.find("reduces by `max`"), std::string::npos) << note;
}

TEST(Tensorize, NamesTheOperandThatIsTransposed) {
  const std::string note = refusal(R"(
instr outer(c: inout f32[4, 2], a: in f32[2], b: in f32[4]) {
  compute { for i in 0..2 { for j in 0..4 { c[j, i] = a[i] * b[j] } } }
  reset { for i in 0..2 { for j in 0..4 { c[j, i] = 0.0 } } }
  update { for i in 0..2 { for j in 0..4 { c[j, i] sum= a[i] * b[j] } } }
})",
                                   "outer");
  EXPECT_NE(note.find("operand `c` cannot stand for `C`"), std::string::npos) << note;
}

TEST(Tensorize, NamesTheOperandInAnotherScope) {
  const std::string note = refusal(R"(
instr outer(c: inout f32[2, 4] register, a: in f32[2], b: in f32[4]) {
  compute { for i in 0..2 { for j in 0..4 { c[i, j] = a[i] * b[j] } } }
  reset { for i in 0..2 { for j in 0..4 { c[i, j] = 0.0 } } }
  update { for i in 0..2 { for j in 0..4 { c[i, j] sum= a[i] * b[j] } } }
})",
                                   "outer");
  EXPECT_NE(note.find("it lives in `register`, `C` in `global`"), std::string::npos) << note;
}

TEST(Tensorize, NamesTheOperandWhoseRowsAreApart) {
  const std::string note = refusal(R"(
instr outer(c: inout f32[2, 4] layout (i, j) -> [address: i*4 + j] extents [8], a: in f32[2], b: in f32[4]) {
  compute { for i in 0..2 { for j in 0..4 { c[i, j] = a[i] * b[j] } } }
  reset { for i in 0..2 { for j in 0..4 { c[i, j] = 0.0 } } }
  update { for i in 0..2 { for j in 0..4 { c[i, j] sum= a[i] * b[j] } } }
})",
                                   "outer");
  EXPECT_NE(note.find("operand `c` cannot lie in `C`: along its axis 0"), std::string::npos)
      << note;
}

TEST(Tensorize, RefusesAnInitThatIsAnother) {
  const std::string note = refusal(R"(
instr outer(c: inout f32[2, 4], a: in f32[2], b: in f32[4]) {
  compute { for i in 0..2 { for j in 0..4 { c[i, j] = a[i] * b[j] } } }
  reset { for i in 0..2 { for j in 0..4 { c[i, j] = 1.0 } } }
  update { for i in 0..2 { for j in 0..4 { c[i, j] sum= a[i] * b[j] } } }
})",
                                   "outer");
  EXPECT_NE(note.find("`1.0` where the nest has `0.0`"), std::string::npos) << note;
}

TEST(Tensorize, StepsThatMoveBlocksStayOutside) {
  Schedule s(matmul(6, 8, 5), instructions(kOuter));
  const auto loops = tiled(s, 2, 4);
  const BlockRef tile = s.blockize(loops[3]);
  EXPECT_EQ(diagnostic_of([&] { s.decompose_reduction(s.block("C"), loops[2]); }).code,
            "schedule.decompose.init");
  EXPECT_EQ(diagnostic_of([&] { s.compute_at(s.block("C"), loops[2]); }).code,
            "schedule.block.nested");
  s.tensorize(tile, "outer");
  EXPECT_EQ(diagnostic_of([&] { s.cache_read(tile, "A", ScopeKind::Shared); }).code,
            "schedule.cache.call");
}

TEST(Tensorize, NamesWhatItKnows) {
  Schedule s(matmul(6, 8, 5), instructions(kOuter));
  auto [y, x, k] = s.loops<3>("C");
  const Diagnostic d = diagnostic_of([&] { s.tensorize(y, "inner"); });
  EXPECT_EQ(d.code, "schedule.instruction.unknown");
  EXPECT_NE(d.notes.at(0).find("`outer`"), std::string::npos);
}

TEST(Tensorize, RefusesAStoreWhoseOrderMatters) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops shift(A: inout f32[5]) {
  for i in 0..4 { block A(v: ordered 4 = i) reads A[v] writes A[v + 1] { A[v + 1] = A[v] } }
})");
  Schedule s(f, instructions(R"(
instr copy(to: out f32[4], from: in f32[4]) { compute { for i in 0..4 { to[i] = from[i] } } }
)"));
  const auto [i] = s.loops<1>("A");
  const Diagnostic d = diagnostic_of([&] { s.tensorize(i, "copy"); });
  EXPECT_NE(d.notes.at(0).find("order of its points"), std::string::npos) << d.notes.at(0);
}

TEST(Tensorize, RefusesTermsThatReadTheirOwnResult) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops f(A: in f32[4], C: inout f32[1]) {
  for k in 0..4 { block C(v: ordered 4 = k) reads A[v], C[0] writes C[0] { C[0] sum= C[0] * A[v] } }
})");
  Schedule s(f, instructions(R"(
instr growth(c: inout f32[1], a: in f32[4]) {
  compute { c[0] = a[0] }
  update { for k in 0..4 { c[0] sum= c[0] * a[k] } }
})"));
  const auto [k] = s.loops<1>("C");
  const Diagnostic d = diagnostic_of([&] { s.tensorize(k, "growth"); });
  EXPECT_NE(d.notes.at(0).find("order of its points"), std::string::npos) << d.notes.at(0);
}

TEST(Tensorize, ALayoutOfTheOperandsOwn) {
  // The operand wants four columns of pairs; the program keeps B just so.
  const auto list = instructions(R"(
instr pairs(c: inout f32[4], a: in f32[2], b: in f32[2, 4] layout (k, n) -> [address: n, address: k] extents [4, 2]) {
  compute { for n in 0..4 { c[n] = a[0] * b[0, n] } }
  reset { for n in 0..4 { c[n] = 0.0 } }
  update { for n in 0..4 { for k in 0..2 { c[n] sum= a[k] * b[k, n] } } }
})");
  const ir::LoopFunc f = ir::parse_function(R"(
loops f(A: in f32[3, 6], B: in f32[6, 8] layout (k, n) -> [address: k / 2, address: n, address: k % 2] extents [3, 8, 2],
        C: out f32[3, 8]) stage scheduled {
  for y in 0..3 { for x in 0..8 { for k in 0..6 {
    block C(vy: spatial 3 = y, vx: spatial 8 = x, vk: reduce 6 = k) reads A[vy, vk], B[vk, vx] writes C[vy, vx] {
      init { C[vy, vx] = 0.0 }
      C[vy, vx] sum= A[vy, vk] * B[vk, vx]
    } } } }
})");
  Schedule s(f, list);
  auto [y, x, k] = s.loops<3>("C");
  auto [x0, x1] = s.split<2>(x, {kOpen, 4});
  auto [k0, k1] = s.split<2>(k, {kOpen, 2});
  s.reorder({y, x0, k0, x1, k1});
  s.tensorize(x1, "pairs");
  expect_same_with(f, s, list);
}

}  // namespace
}  // namespace tilewright::schedule
