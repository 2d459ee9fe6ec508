// SPDX-License-Identifier: Apache-2.0
#include "te/over_time.h"

#include <gtest/gtest.h>

#include "te/print.h"
#include "te/scan.h"

namespace tilewright::te {
namespace {

class OverTime : public testing::Test {
 protected:
  const Tensor x = placeholder("x", ir::Elem::F32, {7, 4});
  const Tensor w = placeholder("w", ir::Elem::F32, {4, 3});
  const Axis k = reduce_axis(4, "k");
  const Iter time{ir::Var("t"), 7};

  /// r[i] = sum(k) x[t, k] * w[k, i]
  Tensor product() {
    return compute("r", {3}, [&](const Var& i) { return sum(x(Var(time.var), k) * w(k, i), k); });
  }
};

TEST_F(OverTime, ASumGetsAnAxis) {
  const std::optional<Tensor> all = over_time(product(), time.var, 7);
  ASSERT_TRUE(all);
  EXPECT_EQ(print(program("p", {x, w}, {*all})),
            "te p(x: f32[7, 4], w: f32[4, 3]) {\n"
            "  r[t in 7, i0 in 3] = sum(k in 4) x[t, k] * w[k, i0]\n"
            "  return r\n}\n");
}

TEST_F(OverTime, SoDoStagesBeforeIt) {
  const Tensor doubled =
      compute("doubled", {4}, [&](const Var& j) { return x(Var(time.var), j) * 2.0f; });
  const Tensor r = compute("r", {3}, [&](const Var& i) { return sum(doubled(k) * w(k, i), k); });
  const std::optional<Tensor> all = over_time(r, time.var, 7);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->stage()->reads.size(), 2u);
  EXPECT_EQ(all->stage()->reads[0].shape().size(), 2u);
  EXPECT_EQ(all->stage()->reads[1].buffer(), w.buffer());
}

TEST_F(OverTime, WhatDoesNotChangeIsRepeated) {
  const Tensor same = compute("same", {3}, [&](const Var& i) { return w(0, i); });
  const std::optional<Tensor> all = over_time(same, time.var, 7);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->shape().size(), 2u);
  EXPECT_EQ(all->stage()->reads[0].buffer(), same.buffer());
}

TEST_F(OverTime, NotThroughAScan) {
  const Tensor start = compute("start", {3}, [&](const Var&) { return Expr(0.0f); });
  const Tensor r = product();
  const Tensor h = scan("h", 5, start, [&](const Var&, const Tensor& before) {
    return compute("next", {3}, [&](const Var& i) { return before(i) + r(i); });
  });
  const Tensor last = compute("last", {3}, [&](const Var& i) { return h(4, i); });
  EXPECT_FALSE(over_time(last, time.var, 7));
}

}  // namespace
}  // namespace tilewright::te
