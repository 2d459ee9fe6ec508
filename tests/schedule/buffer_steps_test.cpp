// SPDX-License-Identifier: Apache-2.0
// set_layout, reindex, pad.
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

ir::Layout layout(const std::string& text) {
  ir::Cursor cursor(std::make_shared<Source>(Source{"layout", "layout " + text}));
  return ir::parse_layout(cursor);
}

/// A strided window: C[y] = sum over k of A[2y + k] * W[k].
ir::LoopFunc window() {
  return ir::parse_function(R"(
loops window(A: in f32[13], W: in f32[3], C: out f32[6]) {
  for y in 0..6 { for k in 0..3 {
    block C(vy: spatial 6 = y, vk: reduce 3 = k) reads A[vy * 2 + vk], W[vk] writes C[vy] {
      init { C[vy] = 0.0 }
      C[vy] sum= A[vy * 2 + vk] * W[vk] } } }
})");
}

TEST(SetLayout, PlacesElementsAndKeepsIndices) {
  const ir::LoopFunc f = matmul(8, 8, 8);
  Schedule s(f);
  const BlockRef c = s.block("C");
  const BlockRef a = s.cache_read(c, "A", ir::ScopeKind::Shared);
  const BlockRef b = s.cache_read(c, "B", ir::ScopeKind::Global);
  s.set_layout(a, "A_shared", layout("(i, j) -> [address: i, address: j ^ i] extents [8, 8]"));
  s.set_layout(c, "B_global",
               layout("(k, n) -> [address: k / 2, address: n, address: k % 2] extents [4, 8, 2]"));
  expect_same(f, s);
  const std::string text = ir::print(s.func());
  EXPECT_NE(text.find("alloc A_shared: f32[8, 8] shared layout (i, j) -> [address: i, address: j ^ "
                      "i] extents [8, 8]"),
            std::string::npos)
      << text;
  // Another one may take its place: indices never depended on it.
  s.set_layout(b, "B_global", layout("(k, n) -> [address: k * 9 + n] extents [80] pad zero"));
  expect_same(f, s);
}

TEST(SetLayout, RefusesWhatIsNoPlacement) {
  Schedule s(matmul_relu());
  const BlockRef c = s.block("C");
  const auto refused = [&](const std::string& text, std::string_view code,
                           std::string_view phrase) {
    expect_refused([&] { s.set_layout(c, "C", layout(text)); }, code, phrase);
  };
  refused("(i, j) -> [address: i / 2, address: j] extents [5, 12]", "schedule.set_layout.places",
          "layout of `C`");
  refused("(i, j) -> [address: i, address: j] extents [10, 11]", "schedule.set_layout.places",
          "layout of `C`");
  refused("(i) -> [address: i] extents [10]", "schedule.set_layout.rank", "2 dimensions");
  refused("(i, j) -> [lane: i, register: j] extents [10, 12]", "schedule.set_layout.lane",
          "other than instructions");
  refused("(i, j) -> [register: i, address: j] extents [10, 12]", "schedule.set_layout.places",
          "registers");
  expect_refused([&] { s.set_layout(c, "A", layout("(i, j) -> [address: i] extents [10]")); },
                 "schedule.set_layout.buffer", "parameter");
  expect_refused([&] { s.set_layout(c, "Q", layout("(i) -> [address: i] extents [10]")); },
                 "schedule.set_layout.buffer", "no buffer of that name");
  const ir::Var n("n"), i("i"), j("j");
  ir::LayoutNode symbolic{.indices = {i, j},
                          .replica = {},
                          .replicas = 1,
                          .dims = {{ir::PhysKind::Address, i, 10}, {ir::PhysKind::Address, j, n}},
                          .padding = {}};
  expect_refused(
      [&] { s.set_layout(c, "C", ir::Layout(std::make_shared<const ir::LayoutNode>(symbolic))); },
      "schedule.set_layout.extent", "the extent n of a place is not a constant");
  expect_same(matmul_relu(), s);  // nothing half-done
}

TEST(SetScope, KeepsALayoutThatFitsTheScope) {
  Schedule s(matmul_relu());
  const BlockRef c = s.block("C");
  s.set_scope(c, "C", ir::ScopeKind::Register);
  s.set_layout(c, "C", layout("(i, j) -> [register: i, register: j] extents [10, 12]"));
  expect_same(matmul_relu(), s);
  expect_refused([&] { s.set_scope(c, "C", ir::ScopeKind::Global); }, "schedule.set_scope.layout",
                 "over registers");
}

TEST(SetLayout, RefusesToMoveNeighboursOfOneByteUnderThreads) {
  Schedule s(ir::parse_function(R"(
loops nibbles(A: in i4[4, 8], C: out i4[4, 8]) {
  alloc B: i4[4, 8]
  for i in 0..4 { for j in 0..8 {
    block B(v: spatial 4 = i, w: spatial 8 = j) reads A[v, w] writes B[v, w] {
      B[v, w] = A[v, w] } } }
  for i in 0..4 { for j in 0..8 {
    block C(v: spatial 4 = i, w: spatial 8 = j) reads B[v, w] writes C[v, w] {
      C[v, w] = B[v, w] } } }
})"));
  s.parallel(s.loops("B")[0]);
  expect_refused(
      [&] {
        s.set_layout(s.block("B"), "B",
                     layout("(i, j) -> [address: j, address: i] extents [8, 4]"));
      },
      "schedule.set_layout.packed", "smaller than a byte");
}

TEST(Reindex, ReadsThroughTheIteratorsOfTheBlock) {
  Schedule s(window());
  const BlockRef copy = s.reindex(s.block("C"), "A");
  expect_same(window(), s);
  expect_text(s.func(), R"(
loops window(A: in f32[13], W: in f32[3], C: out f32[6]) stage scheduled {
  alloc A_reindex: f32[6, 3]
  for vy in 0..6 { for vk in 0..3 {
    block A_reindex(vy1: spatial 6 = vy, vk1: spatial 3 = vk)
      reads A[vy1 * 2 + vk1] writes A_reindex[vy1, vk1] {
      A_reindex[vy1, vk1] = A[vy1 * 2 + vk1] } } }
  for y in 0..6 { for k in 0..3 {
    block C(vy: spatial 6 = y, vk: reduce 3 = k)
      reads A_reindex[vy, vk], W[vk] writes C[vy] {
      init { C[vy] = 0.0 }
      C[vy] sum= A_reindex[vy, vk] * W[vk] } } }
})");
  s.parallel(s.loops(copy)[0]);
  expect_same(window(), s);
}

TEST(Reindex, WritesThroughTheIteratorsOfTheBlock) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops spread(A: in f32[5, 4], C: inout f32[9, 4]) {
  for y in 0..5 { for x in 0..4 {
    block C(vx: spatial 4 = x, vy: spatial 5 = y) reads A[vy, vx] writes C[vy * 2, vx] {
      C[vy * 2, vx] = A[vy, vx] + 1.0 } } }
})");
  Schedule s(f);
  s.split(s.loops("C")[0], {kOpen, 2});
  s.reindex(s.block("C"), "C");
  expect_same(f, s);
  const std::string text = ir::print(s.func());
  EXPECT_NE(text.find("C_reindex[vx, vy] = A[vy, vx] + 1.0"), std::string::npos) << text;
  EXPECT_NE(text.find("C[vy_1 * 2, vx_1] = C_reindex[vx_1, vy_1]"), std::string::npos) << text;
}

TEST(Reindex, RefusesWhatTheIteratorsDoNotDecideOrKeepInRange) {
  Schedule s(blur());
  expect_refused([&] { s.reindex(s.block("C"), "B"); }, "schedule.reindex.index", "several places");
  expect_refused([&] { s.reindex(s.block("C"), "Q"); }, "schedule.reindex.buffer",
                 "no buffer of that name");
  const ir::LoopFunc f = ir::parse_function(R"(
loops odd(A: in f32[8], p: in i64[8], C: out f32[9], D: out f32[8], E: inout f32[8]) {
  for i in 0..9 {
    block C(v: spatial 9 = i) reads A[v] writes C[v] { C[v] = guard(v < 8, A[v], 0.5) } }
  for i in 0..8 {
    block D(v: spatial 8 = i) reads A[0..8], p[v] writes D[v] { D[v] = A[p[v]] } }
  for i in 0..8 {
    block E(v: spatial 8 = i) reads E[v] writes E[v] { E[v] = E[v] * 2.0 } }
})");
  Schedule t(f);
  expect_refused([&] { t.reindex(t.block("C"), "A"); }, "schedule.reindex.range", "outside");
  expect_refused([&] { t.reindex(t.block("D"), "A"); }, "schedule.reindex.index",
                 "read from memory");
  expect_refused([&] { t.reindex(t.block("E"), "E"); }, "schedule.reindex.buffer",
                 "reads it and writes it");
  // A part of a result: the copy would read what nobody wrote.
  Schedule u(matmul_relu());
  u.decompose_reduction(u.block("C"), u.loops("C")[2]);
  expect_refused([&] { u.reindex(u.block("C"), "C"); }, "schedule.reindex.init", "another block");
  Schedule v(matmul_relu());
  v.merge(v.loops("C")[0], v.loops("D")[0]);
  v.reorder({v.loops("C")[2], v.loops("C")[1]});
  v.reindex(v.block("D"), "C");
  expect_same(matmul_relu(), v);
  Schedule w(ir::parse_function(R"(
loops half(A: in f32[8], C: inout f32[8]) {
  for i in 0..8 {
    block C(v: spatial 8 = i) where v % 2 == 0 reads A[v] writes C[v] { C[v] = A[v] } }
})"));
  expect_refused([&] { w.reindex(w.block("C"), "C"); }, "schedule.reindex.partial",
                 "leaves elements out");
  Schedule x(ir::parse_function(R"(
loops fold(A: in f32[8], C: inout f32[4]) {
  for i in 0..8 {
    block C(v: spatial 8 = i) reads A[v] writes C[v / 2] { C[v / 2] = A[v] } }
})"));
  expect_refused([&] { x.reindex(x.block("C"), "C"); }, "schedule.reindex.index", "v");
  Schedule y(ir::parse_function(R"(
loops unwritten(A: in f32[8], C: out f32[4]) {
  alloc B: f32[8]
  for i in 0..4 { block B(v: spatial 8 = i) reads A[v] writes B[v] { B[v] = A[v] } }
  for i in 0..8 {
    block C(v: spatial 4 = i) where i < 4 reads B[v] writes C[v] { C[v] = B[v] } }
  for i in 0..4 {
    block D(v: spatial 8 = i * 2) where i < 2 reads B[v] writes C[v] { C[v] = B[v] } }
})"));
  expect_refused([&] { y.reindex(y.block("D"), "B"); }, "schedule.reindex.unwritten",
                 "known to be written before");
}

TEST(Pad, ComputesOnMultiplesAndCopiesTheValidPart) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops dot(A: in f32[5, 7], B: in f32[7], C: out f32[5]) {
  for y in 0..5 { for k in 0..7 {
    block C(vy: spatial 5 = y, vk: reduce 7 = k) reads A[vy, vk], B[vk] writes C[vy] {
      init { C[vy] = 0.0 }
      C[vy] sum= A[vy, vk] * B[vk] } } }
})");
  Schedule s(f);
  const std::vector<BlockRef> made = s.pad(s.block("C"), {4, 8});
  ASSERT_EQ(made.size(), 3u);
  expect_same(f, s);
  expect_text(s.func(), R"(
loops dot(A: in f32[5, 7], B: in f32[7], C: out f32[5]) stage scheduled {
  alloc C_pad: f32[8]
  alloc B_pad: f32[8]
  alloc A_pad: f32[8, 8]
  for y in 0..8 { for k in 0..8 {
    block A_pad(vy: spatial 8 = y, vk: spatial 8 = k) reads A[vy, vk] writes A_pad[vy, vk] {
      A_pad[vy, vk] = guard(vy < 5 && vk < 7, A[vy, vk], 0.0) } } }
  for k in 0..8 {
    block B_pad(vk: spatial 8 = k) reads B[vk] writes B_pad[vk] {
      B_pad[vk] = guard(vk < 7, B[vk], 0.0) } }
  for y in 0..8 { for k in 0..8 {
    block C(vy: spatial 8 = y, vk: reduce 8 = k) reads A_pad[vy, vk], B_pad[vk] writes C_pad[vy] {
      init { C_pad[vy] = 0.0 }
      C_pad[vy] sum= A_pad[vy, vk] * B_pad[vk] } } }
  for y in 0..5 {
    block C_unpad(v: spatial 5 = y) reads C_pad[v] writes C[v] { C[v] = C_pad[v] } }
})");
  s.split(s.loops("C")[0], {2, 4});
  expect_same(f, s);
}

/// A reduction of A (and B) over k by `reducer` of `term`.
ir::LoopFunc reduction(const std::string& reducer, const std::string& identity,
                       const std::string& term) {
  return ir::parse_function(
      "loops r(A: in f32[5, 7], B: in f32[5], C: out f32[5]) {\n"
      "  for y in 0..5 { for k in 0..7 {\n"
      "    block C(vy: spatial 5 = y, vk: reduce 7 = k) reads A[vy, vk], B[vy] writes C[vy] {\n"
      "      init { C[vy] = " +
      identity +
      " }\n"
      "      C[vy] " +
      reducer + "= " + term + " } } }\n}");
}

TEST(Pad, ChoosesANeutralValueOrRefuses) {
  const auto padded = [](const ir::LoopFunc& f) {
    Schedule s(f);
    s.pad(s.block("C"), {1, 4});
    expect_same(f, s);
    return ir::print(s.func());
  };
  EXPECT_NE(padded(reduction("max", "-inf", "A[vy, vk]")).find("A[vy_1, vk_1], -inf)"),
            std::string::npos);
  EXPECT_NE(padded(reduction("prod", "1.0", "A[vy, vk]")).find("A[vy_1, vk_1], 1.0)"),
            std::string::npos);
  EXPECT_NE(padded(reduction("sum", "0.0", "A[vy, vk] * A[vy, vk]")).find("A[vy_1, vk_1], 0.0)"),
            std::string::npos);
  for (const ir::LoopFunc& f :
       {reduction("sum", "0.0", "A[vy, vk] + 1.0"), reduction("max", "-inf", "A[vy, vk] + B[vy]"),
        reduction("sum", "0.0", "A[vy, vk] * B[vy]"),  // 0 * inf is not 0
        reduction("sum", "0.0", "exp(A[vy, vk])"), reduction("sum", "0.0", "f32(vk)")}) {
    Schedule s(f);
    expect_refused([&] { s.pad(s.block("C"), {1, 4}); }, "schedule.pad.neutral", "beyond `vk`");
    s.pad(s.block("C"), {3, 7});  // spatial rows need no neutral value
    expect_same(f, s);
  }
}

TEST(Pad, PadsSymbolicSizes) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops dot(A: in f32[n, 7], C: out f32[n]) where n in 1..64 {
  for y in 0..n { for k in 0..7 {
    block C(vy: spatial n = y, vk: reduce 7 = k) reads A[vy, vk] writes C[vy] {
      init { C[vy] = 0.0 }
      C[vy] sum= A[vy, vk] } } }
})");
  Schedule s(f);
  s.reindex(s.block("C"), "C");
  s.pad(s.block("C"), {4, 8});
  s.split(s.loops("C")[0], {kOpen, 4});
  EXPECT_EQ(s.loops("C").size(), 3u);
  for (const int64_t n : {1, 4, 5, 12}) expect_same_at(f, s.func(), n, {{n, 7}, {n}});
}

TEST(Pad, RefusesPartsAndOtherIndices) {
  Schedule s(window());
  const BlockRef c = s.block("C");
  expect_refused([&] { s.pad(c, {4}); }, "schedule.pad.multiples", "2 iterators");
  expect_refused([&] { s.pad(c, {4, 0}); }, "schedule.pad.multiples", "`vk` is 0");
  expect_refused([&] { s.pad(c, {4, 1}); }, "schedule.pad.index", "other places");
  s.reindex(c, "A");
  s.pad(c, {4, 4});
  expect_same(window(), s);

  Schedule t(matmul_relu());
  t.decompose_reduction(t.block("C"), t.loops("C")[2]);
  expect_refused([&] { t.pad(t.block("C"), {4, 1, 4}); }, "schedule.pad.init", "starts elsewhere");
  t.merge(t.loops("C")[0], t.loops("D")[0]);
  expect_refused([&] { t.pad(t.block("D"), {4, 8}); }, "schedule.pad.domain",
                 "only a part of `vy`");
  Schedule u(matmul_relu());
  u.pad(u.block("C"), {5, 4, 7});  // all are multiples already
  EXPECT_TRUE(ir::equal(u.func().body, matmul_relu().body) ||
              ir::print(u.func().body) == ir::print(matmul_relu().body));
  Schedule v(ir::parse_function(R"(
loops corner(A: in f32[5, 5], C: out f32[5]) {
  for i in 0..5 {
    block C(v: spatial 5 = i) reads A[v, v], A[0, 0] writes C[v] { C[v] = A[v, v] + A[0, 0] } }
})"));
  expect_refused([&] { v.pad(v.block("C"), {4}); }, "schedule.pad.index", "several places");
}

}  // namespace
}  // namespace tilewright::schedule
