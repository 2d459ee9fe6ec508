// SPDX-License-Identifier: Apache-2.0
#include "te/expr.h"

#include <cmath>
#include <gtest/gtest.h>

#include "common/errors.h"
#include "ir/print.h"
#include "te/math.h"
#include "te/reduce.h"

namespace tilewright::te {
namespace {

using enum ir::Elem;

std::string text(const Expr& e) { return ir::print(e.ir()); }

class TeExpr : public testing::Test {
 protected:
  const Tensor f16 = placeholder("h", F16, {8});
  const Tensor f32 = placeholder("x", F32, {8, 8});
  const Tensor i8 = placeholder("b", I8, {8});
  const Tensor u8 = placeholder("u", U8, {8});
  const Tensor idx = placeholder("idx", I32, {8});
  const Var i{ir::Var("i")}, j{ir::Var("j")};
};

TEST_F(TeExpr, ReadsAsWritten) {
  EXPECT_EQ(text(f32(i, 2 * j + 1) * 2 - exp(f32(0, j))), "x[i, 2 * j + 1] * 2.0 - exp(x[0, j])");
  EXPECT_EQ(text(select(i < j && !(j == 3), f32(i, j), 0)),
            "select(i < j && !(j == 3), x[i, j], 0.0)");
  EXPECT_EQ(text(guard(i >= 1 || i != j, f32(i - 1, j), -1)),
            "guard(i >= 1 || i != j, x[i - 1, j], -1.0)");
  EXPECT_EQ(text(((u8(i) & 3) << 1) | ((u8(j) >> 2) ^ ~u8(0))),
            "(u[i] & 3:u8) << 1:u8 | u[j] >> 2:u8 ^ ~u[0]");
  EXPECT_EQ(text(max(min(f32(i, j), 6), abs(f32(0, 0)))), "max(min(x[i, j], 6.0), abs(x[0, 0]))");
  EXPECT_EQ(text(pow(f32(i, j), 2)), "pow(x[i, j], 2.0)");
  EXPECT_EQ(text(fma(f32(i, j), 2, f32(j, i))), "fma(x[i, j], 2.0, x[j, i])");
}

TEST_F(TeExpr, LiteralsTakeTheTypeOfTheOtherOperand) {
  EXPECT_EQ(text(f16(i) * 2), "h[i] * 2.0:f16");
  EXPECT_EQ(text(0.1 + f16(i)), "0.1:f16 + h[i]");
  EXPECT_EQ(text(i8(i) - 100), "b[i] - 100:i8");
}

TEST_F(TeExpr, LiteralsAloneAreIndicesOrF32) {
  EXPECT_EQ(Expr(3).elem(), I64);
  EXPECT_EQ(Expr(3.0).elem(), F32);
  EXPECT_EQ(Expr(true).elem(), Bool);
  EXPECT_EQ(Expr(size_t{3}).elem(), I64);
  EXPECT_EQ((Expr(1) + 2.5).elem(), F32);
  EXPECT_EQ(text(exp(1)), "exp(1.0)");
  EXPECT_EQ(text(-Expr(2) * f16(i)), "-2.0:f16 * h[i]");
}

TEST_F(TeExpr, RationalConstantsStayDivisions) {
  EXPECT_EQ(text(f32(i, j) * rational(1, 6)), "x[i, j] * (1.0 / 6.0)");
  EXPECT_EQ(text(f16(i) * -rational(1, 3)), "h[i] * (-1.0:f16 / 3.0:f16)");
}

TEST_F(TeExpr, CastsAreWritten) {
  EXPECT_EQ(text(cast(I32, i8(i)) * cast(I32, i8(j))), "i32(b[i]) * i32(b[j])");
  EXPECT_EQ(text(cast(F16, 2)), "2.0:f16");
  EXPECT_EQ(text(f32(cast(I64, idx(i)), j)), "x[i64(idx[i]), j]");
  EXPECT_EQ(reinterpret(U32, idx(i)).elem(), U32);
}

TEST_F(TeExpr, KnowsTheTensorsItReads) {
  const Expr e = f32(cast(I64, idx(i)), j) + f32(0, 0) * cast(F32, f16(i));
  EXPECT_EQ(e.reads(), (std::vector<Tensor>{idx, f32, f16}));
}

TEST_F(TeExpr, RefusesOperandsOfDifferentTypes) {
  const Diagnostic d = diagnostic_of([&] { f32(i, j) + f16(i); });
  EXPECT_EQ(d.code, "te.type.operands");
  EXPECT_NE(d.message.find("f32 and f16"), std::string::npos) << d.message;
  EXPECT_NE(d.help.find("cast"), std::string::npos);
  EXPECT_EQ(diagnostic_of([&] { f32(i, j) % 2; }).code, "te.type.operands");
  EXPECT_EQ(diagnostic_of([&] { exp(i); }).code, "te.type.operands");
  EXPECT_EQ(diagnostic_of([&] { select(i, f32(i, j), 0); }).code, "te.type.operands");
  EXPECT_EQ(diagnostic_of([&] { select(1, f32(i, j), 0); }).code, "te.type.operands");
  EXPECT_EQ(diagnostic_of([&] { i < j && 1; }).code, "te.literal.type");
  EXPECT_EQ(diagnostic_of([&] { reinterpret(F16, idx(i)); }).code, "te.type.operands");
}

TEST_F(TeExpr, RefusesLiteralsThatDoNotFit) {
  const Diagnostic d = diagnostic_of([&] { u8(i) + 256; });
  EXPECT_EQ(d.code, "te.literal.type");
  EXPECT_NE(d.message.find("256 cannot become u8"), std::string::npos) << d.message;
  EXPECT_NE(d.notes[0].find("0 to 255"), std::string::npos) << d.notes[0];
  EXPECT_EQ(diagnostic_of([&] { u8(i) - Expr(-1); }).code, "te.literal.type");
  EXPECT_EQ(diagnostic_of([&] { i8(i) * 0.5; }).code, "te.literal.type");
  EXPECT_EQ(diagnostic_of([&] { i* rational(1, 2); }).code, "te.literal.type");
  EXPECT_EQ(diagnostic_of([&] { Expr(~uint64_t{0}); }).code, "te.literal.type");
}

TEST_F(TeExpr, RefusesWrongIndices) {
  const Diagnostic rank = diagnostic_of([&] { f32(i); });
  EXPECT_EQ(rank.code, "te.index.rank");
  EXPECT_NE(rank.message.find("`x` has 2 dimensions and is read with 1 index"), std::string::npos);
  const Diagnostic type = diagnostic_of([&] { f32(i, idx(j)); });
  EXPECT_EQ(type.code, "te.index.type");
  EXPECT_NE(type.message.find("index 1 of `x` is i32"), std::string::npos) << type.message;
  EXPECT_EQ(diagnostic_of([&] { f32(i, 0.5); }).code, "te.index.type");
}

TEST_F(TeExpr, RefusesForeignExpressions) {
  const ir::Buffer b = ir::make_buffer("b", F32, {4});
  EXPECT_EQ(diagnostic_of([&] { Expr(ir::load(b, {0})); }).code, "te.expr.foreign");
  EXPECT_EQ(diagnostic_of([&] { Expr{ir::Expr()}; }).code, "te.expr.foreign");
  EXPECT_EQ(diagnostic_of([&] { Expr(ir::broadcast(ir::Expr(1), 4)); }).code, "te.expr.foreign");
}

TEST_F(TeExpr, RefusesExpressionsTooLargeToWalk) {
  const Diagnostic wide = diagnostic_of([&] {
    Expr e = f32(i, j);
    for (int n = 0; n < 60; ++n) e = e + e;
  });
  EXPECT_EQ(wide.code, "te.expr.size");
  const Diagnostic deep = diagnostic_of([&] {
    Expr e = f32(i, j);
    for (int n = 0; n < 100000; ++n) e = e + 1;
  });
  EXPECT_EQ(deep.code, "te.expr.size");
  EXPECT_NE(deep.help.find("stages of their own"), std::string::npos);
}

TEST(TeShape, ZeroIsAShape) {
  EXPECT_EQ(placeholder("A", F32, {0, int64_t{1} << 62}).rank(), 2);
  EXPECT_EQ(placeholder("s", F32, {}).rank(), 0);
}

TEST(TeShape, RefusesSizesThatAreNone) {
  const Diagnostic negative = diagnostic_of([] { placeholder("A", F32, {4, -1}); });
  EXPECT_EQ(negative.code, "te.shape.negative");
  EXPECT_NE(negative.message.find("extent 1 of `A` is -1"), std::string::npos) << negative.message;

  const int64_t big = int64_t{1} << 24;
  EXPECT_EQ(diagnostic_of([&] { placeholder("A", F32, {big, big}); }).code, "te.shape.overflow");
  EXPECT_EQ(diagnostic_of([&] { placeholder("A", F32, {big, big, big, big}); }).code,
            "te.shape.overflow");
  placeholder("fits", U8, {big, 1 << 23});
  placeholder("packed", I2, {big, 1 << 25});

  EXPECT_EQ(diagnostic_of([] { placeholder("A", F32, {2.5}); }).code, "te.shape.type");
  const Tensor n = placeholder("n", I64, {});
  const Diagnostic data = diagnostic_of([&] { placeholder("A", F32, {n()}); });
  EXPECT_EQ(data.code, "te.shape.data");
  EXPECT_NE(data.message.find("extent 0 of `A`"), std::string::npos) << data.message;
  EXPECT_EQ(diagnostic_of([] { reduce_axis(-3, "k"); }).code, "te.shape.negative");
}

}  // namespace
}  // namespace tilewright::te
