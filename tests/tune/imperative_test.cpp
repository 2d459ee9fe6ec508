// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/imperative.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

/// A function whose opaque block has this body, for tables of 40 elements and a symbol n.
ir::LoopFunc with_body(const std::string& body) {
  return ir::parse_function(
      "loops f(x: in f32[40], y: inout f32[40], t: inout f32[4, 40])\n"
      "    where n in 0..40 {\n"
      "  opaque block b() reads x[0 +: 40], y[0 +: 40], t[0 +: 4, 0 +: 40]\n"
      "      writes y[0 +: 40], t[0 +: 4, 0 +: 40] {\n" +
      body + "\n  }\n}");
}

size_t vector_loops(const ir::LoopFunc& f) {
  size_t n = 0;
  ir::walk(f.body, [&](const ir::For& l) { n += l.loop == ir::ForKind::Vectorized; });
  return n;
}

struct Rows {
  const char* body;
  size_t vectors;
};

TEST(Imperative, MovesRowsInVectorsWhereNothingForbidsIt) {
  const Rows cases[] = {
      {"for i in 0..40 { y[i] = x[i] }", 1},
      {"for i in 0..n { y[i] = x[i] * 2.0 }", 1},
      {"for i in 0..37 { t[2, i] = t[2, i] + x[i + 3] }", 1},
      {"for i in 0..3 { y[i] = x[i] }", 0},             // shorter than a vector
      {"for i in 0..20 { y[2 * i] = x[i] }", 0},        // no neighbours
      {"for i in 0..4 { t[i, 1] = x[i] }", 0},          // no neighbours
      {"for i in 0..39 { y[i + 1] = y[i] + 1.0 }", 0},  // each needs the one before
      {"for i in 0..40 { y[i] = t[2, 39 - i] }", 0},    // backwards
  };
  for (const Rows& c : cases) {
    const ir::LoopFunc f = with_body(c.body);
    const ir::LoopFunc now = with_rows_in_vectors(f, small_machine());
    EXPECT_EQ(vector_loops(now), c.vectors) << c.body;
    EXPECT_EQ(wrong_schedule(f, now, small_machine(), {{0}, {1}, {23}, {40}}), "") << c.body;
  }
}

}  // namespace
}  // namespace tilewright::tune
