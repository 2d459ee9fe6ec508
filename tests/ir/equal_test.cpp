// SPDX-License-Identifier: Apache-2.0
#include "ir/equal.h"

#include <gtest/gtest.h>
#include <limits>

#include "ir/build.h"
#include "ir/parse.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

class Equal : public ::testing::Test {
 protected:
  Var i{"i"}, j{"j"};
  Buffer a = make_buffer("a", Elem::F32, {Expr(8)});
  Buffer b = make_buffer("b", Elem::F32, {Expr(8)});
  Channel ch = make_channel("ch");
  Environment names{.vars = {i, j}, .buffers = {a, b}, .channels = {ch}};

  static Channel make_channel(std::string name) {
    auto node = std::make_shared<ChannelNode>();
    node->name = std::move(name);
    return Channel(std::shared_ptr<const ChannelNode>(std::move(node)));
  }
  Stmt stmt(std::string_view text) const { return parse_stmt(text, names); }
  void expect_equal(std::string_view x, std::string_view y) const {
    EXPECT_TRUE(equal(stmt(x), stmt(y))) << x << "\n" << y;
    EXPECT_EQ(hash(stmt(x)), hash(stmt(y))) << x << "\n" << y;
  }
  void expect_different(std::string_view x, std::string_view y) const {
    EXPECT_FALSE(equal(stmt(x), stmt(y))) << x << "\n" << y;
  }
};

TEST_F(Equal, ComparesFreeVariablesAndBuffersByIdentity) {
  EXPECT_TRUE(equal(i + j, i + j));
  EXPECT_FALSE(equal(i + j, j + i));
  EXPECT_FALSE(equal(i, Var("i")));
  EXPECT_EQ(hash(i + j), hash(i + j));
  expect_different("a[i] = 0.0", "b[i] = 0.0");
}

TEST_F(Equal, ForgetsTheNamesOfBoundThings) {
  expect_equal("for x in 0..4 { a[x] = 0.0 }", "for y in 0..4 { a[y] = 0.0 }");
  expect_equal("let x = 1.5  a[i] = x", "let y = 1.5  a[i] = y");
  expect_equal("alloc t: f32[4] t[i] = 0.0", "alloc u: f32[4] u[i] = 0.0");
  expect_equal("channel c[2] commits=1 releases=1 over block acquire c[i]",
               "channel d[2] commits=1 releases=1 over block acquire d[i]");
  expect_equal("block m(x: spatial 4 = i) writes a[x] { a[x] = 0.0 }",
               "block m(y: spatial 4 = i) writes a[y] { a[y] = 0.0 }");
  expect_equal("agents { l[c in 0..2](t in 0..4): { a[c] = f32(t) } }",
               "agents { l[d in 0..2](u in 0..4): { a[d] = f32(u) } }");
  expect_equal("alloc t: f32[4] layout (x) -> [address: x * 2] extents [8]",
               "alloc t: f32[4] layout (y) -> [address: y * 2] extents [8]");
}

TEST_F(Equal, TellsBoundThingsApart) {
  const char* const swapped = "for x in 0..4 { for y in 0..4 { a[y] = f32(x) } }";
  expect_different("for x in 0..4 { for y in 0..4 { a[x] = f32(y) } }", swapped);
  expect_different("alloc t: f32[4] alloc u: f32[4] t[i] = 0.0",
                   "alloc t: f32[4] alloc u: f32[4] u[i] = 0.0");
  expect_different("for x in 0..4 { a[x] = 0.0 }", "for x in 0..4 { a[i] = 0.0 }");
  expect_different("for x in 0..4 { a[i] = 0.0 }", "for x in 0..4 { a[x] = 0.0 }");
}

TEST_F(Equal, SharedPartsAreComparedUnderTheirOwnBindings) {
  const Var x("x"), y("y");
  const Stmt body = stmt("a[i] = 0.0");
  const Stmt reads_x = make_stmt<Store>({}, a, std::vector<Expr>{x}, float_imm(Elem::F32, 0));
  EXPECT_FALSE(equal(make_stmt<For>({}, x, 0, 4, reads_x), make_stmt<For>({}, y, 0, 4, reads_x)));
  EXPECT_TRUE(equal(make_stmt<For>({}, x, 0, 4, body), make_stmt<For>({}, y, 0, 4, body)));
}

TEST_F(Equal, AVariableMayBeBoundAgainInADisjointScope) {
  const Var x("x"), y("y"), z("z");
  const auto loop = [&](const Var& v) {
    return make_stmt<For>({}, v, 0, 4,
                          make_stmt<Store>({}, a, std::vector<Expr>{v}, float_imm(Elem::F32, 0)));
  };
  EXPECT_TRUE(equal(seq({loop(x), loop(x)}), seq({loop(y), loop(z)})));
  EXPECT_TRUE(equal(seq({loop(y), loop(z)}), seq({loop(x), loop(x)})));
  EXPECT_EQ(hash(seq({loop(x), loop(x)})), hash(seq({loop(y), loop(z)})));
}

TEST_F(Equal, TwoVariablesAreNeverOne) {
  const Var x("x"), y("y"), z("z");
  const auto loops = [&](const Var& outer, const Var& inner) {
    const Stmt body = make_stmt<Store>({}, a, std::vector<Expr>{outer}, float_imm(Elem::F32, 0));
    return make_stmt<For>({}, outer, 0, 4, make_stmt<For>({}, inner, 0, 4, body));
  };
  EXPECT_FALSE(equal(loops(x, y), loops(z, z)));
  EXPECT_FALSE(equal(loops(z, z), loops(x, y)));
}

TEST_F(Equal, SeesEveryField) {
  expect_different("for x in 0..4 { }", "for x in 0..5 { }");
  expect_different("for x in 0..4 { }", "parallel for x in 0..4 { }");
  expect_different("bind(thread.x) for x in 0..4 { }", "bind(thread.y) for x in 0..4 { }");
  expect_different("if i < j { }", "if i < j { } else { }");
  expect_different("a[i] = 0.0", "a[i] mask (true) = 0.0");
  expect_different("a[i] = 0.0", "a@1[i] = 0.0");
  expect_different("a[i] sum= 0.0", "a[i] prod= 0.0");
  expect_different("alloc t: f32[4]", "alloc t: f32[4] shared");
  expect_different("alloc t: f32[4]", "alloc t: f32[4] align 16");
  expect_different("alloc t: f32[4]", "alloc t: f32[4] layout (x) -> [address: x] extents [4]");
  expect_different("alloc t: f32[]", "alloc t: f16[]");
  expect_different("block p() { }", "block q() { }");
  expect_different("block p() { }", "opaque block p() { }");
  expect_different("block p() { }", "block p() { init { } }");
  expect_different("block p() { }", "block p() hints (depth = 2) { }");
  expect_different("for x in 0..4 hints (depth = 2) { }", "for x in 0..4 hints (depth = 3) { }");
  expect_different("for x in 0..4 hints (role = \"a\") { }",
                   "for x in 0..4 hints (role = \"b\") { }");
  expect_different("block p(x: spatial 1 = 0) { }", "block p(x: ordered 1 = 0) { }");
  expect_different("block p() reads a[0] { }", "block p() writes a[0] { }");
  expect_different("channel c[2] commits=1 releases=1 over block",
                   "channel c[3] commits=1 releases=1 over block");
  expect_different("wait ch[i]", "release ch[i]");
  expect_different("commit ch[i]", "commit ch[i] bytes 4");
  expect_different("barrier named \"x\" 32", "barrier named \"x\" 64");
  expect_different("atomic add (a[i], 1.0)", "atomic add release (a[i], 1.0)");
  expect_different("prefetch 1 a[i]", "prefetch 1 write a[i]");
  expect_different("agents { l(t in 0..4): { } }", "agents { l(t in 0..4, regs=8): { } }");
}

TEST_F(Equal, ComparesFloatsByTheirBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(equal(float_imm(Elem::F32, nan), float_imm(Elem::F32, -nan)));
  EXPECT_EQ(hash(float_imm(Elem::F32, nan)), hash(float_imm(Elem::F32, -nan)));
  EXPECT_FALSE(equal(float_imm(Elem::F32, 0.0), float_imm(Elem::F32, -0.0)));
  EXPECT_FALSE(equal(float_imm(Elem::F32, 1.0), float_imm(Elem::F64, 1.0)));
}

TEST_F(Equal, ComparesReducersAndInstructionsByWhatTheyAre) {
  const auto function = [](std::string_view name, std::string_view combine) {
    return parse_function(
        str("reducer ", name, "(x: f32 | y: f32) = (", combine, ") identity (0.0)\n", "instr z",
            name, "(a: inout f32[]) { compute { a[] ", name, "= 1.0 } }\n",
            "loops f(a: inout f32[]) { call z", name, "(a[]) a[] ", name, "= 2.0 }"));
  };
  EXPECT_TRUE(equal(function("p", "x + y"), function("q", "x + y")));
  EXPECT_FALSE(equal(function("p", "x + y"), function("p", "y + x")));
}

}  // namespace
}  // namespace tilewright::ir
