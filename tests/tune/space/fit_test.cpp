// SPDX-License-Identifier: Apache-2.0
#include "tune/space/fit.h"

#include <gtest/gtest.h>

#include "lower/to_blocks.h"
#include "support/str.h"
#include "te/parse.h"

namespace tilewright::tune {
namespace {

Space space_of(int64_t extent, bool first_unrolled = false) {
  const ir::LoopFunc f = lower::to_blocks(te::parse_program(
      str("te f(A: f32[", extent, "]) {\n  B[i in ", extent, "] = A[i] + 1.0\n  return B\n}")));
  return Space(f, {"test", [=](schedule::Schedule& s, Knobs& k) {
                     const auto [loop] = s.loops<1>("B");
                     const Value rows = k.split("rows", extent, {.parts = 2, .most = 16});
                     const size_t unroll =
                         k.choice("unroll", first_unrolled ? std::vector<std::string>{"yes", "no"}
                                                           : std::vector<std::string>{"no", "yes"});
                     k.order("order", 2);
                     k.require("small", {"rows"},
                               [](const Values& v) { return (*v[0])[0] * (*v[0])[1] <= 64; });
                     const auto [i0, i1, i2] =
                         s.split<3>(loop, {schedule::kOpen, rows[0], rows[1]});
                     if ((unroll == 0) == first_unrolled) s.unroll(i2);
                   }});
}

std::string fitted_text(const Space& to, std::string_view point) {
  const std::optional<Point> p = fitted(to, point);
  if (!p) return "nothing";
  EXPECT_TRUE(to.legal(*p));
  EXPECT_NO_THROW(to.apply(*p));
  return to.encode(*p);
}

TEST(Fitted, KeepsWhatIsThereAndTakesTheNearestOfWhatIsNot) {
  const Space to = space_of(56);
  EXPECT_EQ(fitted_text(to, "rows=4x7 unroll=yes order=1.0"), "rows=4x7 unroll=yes order=1.0");
  EXPECT_EQ(fitted_text(to, "rows=4x8 unroll=yes order=1.0"), "rows=4x7 unroll=yes order=1.0");
  EXPECT_EQ(fitted_text(to, "gone=3 rows=1x16 order=5.4"), "rows=1x14 unroll=no order=0.1");
}

TEST(Fitted, IsLegalOrNothing) {
  const Space to = space_of(4096);
  EXPECT_EQ(fitted_text(to, "rows=4096x16 order=0.1").find("rows=4096"), std::string::npos);
  EXPECT_EQ(fitted_text(to, "other=1"), "nothing");
  EXPECT_EQ(fitted_text(to, ""), "nothing");
  EXPECT_EQ(fitted_text(to, "no point"), "nothing");
  EXPECT_EQ(fitted_text(to, "rows=" + std::string(500, '9') + "x1").substr(0, 5), "rows=");
}

TEST(Fitted, WhatWasLeftToTheModelStaysWithIt) {
  const Space from = space_of(32), to = space_of(56, true);
  EXPECT_EQ(fitted_text(to, "rows=2x4 unroll=no order=0.1"), "rows=2x4 unroll=no order=0.1");
  EXPECT_EQ(decided(from, "rows=2x4 unroll=no order=0.1"), "rows=2x4");
  EXPECT_EQ(decided(from, "rows=2x4 unroll=yes gone=7 nothing"), "rows=2x4 unroll=yes gone=7");
  EXPECT_EQ(fitted_text(to, "rows=2x4"), "rows=2x4 unroll=yes order=0.1");
}

}  // namespace
}  // namespace tilewright::tune
