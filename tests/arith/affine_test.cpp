// SPDX-License-Identifier: Apache-2.0
#include "arith/affine.h"

#include <gtest/gtest.h>

#include "arith/random_program.h"
#include "ir/build.h"
#include "ir/print.h"

namespace tilewright::arith {
namespace {

using ir::Expr;
using ir::Var;

std::string text(const Expr& e) {
  const std::optional<Affine> form = affine_of(e);
  return form ? ir::print(to_expr(*form)) : "none";
}

TEST(Affine, CollectsTermsInOrderOfAppearance) {
  const Var i("i"), j("j"), n("n");
  EXPECT_EQ(text((i * 4 + j) * 8 + i), "i * 33 + j * 8");
  EXPECT_EQ(text(j - i + 3 - j * 2), "3 - j - i");
  EXPECT_EQ(text(i - j - i), "-j");
  EXPECT_EQ(text(0 - (i - j)), "j - i");
  EXPECT_EQ(text(i / 4 * 8 - i / 4), "i / 4 * 7");
  EXPECT_EQ(text(i - i), "0");
  EXPECT_EQ(text(-i - 5), "-5 - i");
  EXPECT_EQ(text(Expr(7)), "7");
}

TEST(Affine, MultipliesOutProducts) {
  const Var i("i"), j("j"), n("n");
  EXPECT_EQ(text((i + 1) * n), "i * n + n");
  EXPECT_EQ(text(i * n - n * i), "0");
  EXPECT_EQ(text((i + j) * (i - j)), "i * i - j * j");
}

TEST(Affine, GivesUpWhenCoefficientsOverflow) {
  const Var i("i");
  EXPECT_EQ(text(i * INT64_MAX + i * 2), "none");
  EXPECT_EQ(text(i * (int64_t{1} << 62) * 4), "none");
  EXPECT_EQ(text(i + INT64_MAX - 1), "i + 9223372036854775806");
}

TEST(Affine, PureFormsHaveVariablesOnly) {
  const Var i("i"), j("j");
  const std::optional<Affine> form = pure_affine_of(i * 3 + j - 1);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->coefficient(i), 3);
  EXPECT_EQ(form->coefficient(j), 1);
  EXPECT_EQ(form->coefficient(Var("k")), 0);
  EXPECT_EQ(form->constant, -1);
  EXPECT_FALSE(pure_affine_of(i / 2));
  EXPECT_FALSE(pure_affine_of(i * j));
  EXPECT_FALSE(affine_of(ir::float_imm(ir::Elem::F32, 1)));
}

TEST(Affine, KeepsTheValue) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomFacts r(seed);
    const Expr e = r.index(4);
    const std::optional<Affine> form = affine_of(e);
    if (!form) continue;
    const Expr back = to_expr(*form);
    for (const Values& v : r.valuations)
      ASSERT_EQ(evaluate_int(back, v), evaluate_int(e, v)) << ir::print(e) << "\n"
                                                           << ir::print(back);
  }
}

}  // namespace
}  // namespace tilewright::arith
