// SPDX-License-Identifier: Apache-2.0
// Windows over channels in blocks whose results lie row by row.
#include <gtest/gtest.h>

#include "support/str.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/choose/in_blocks.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

struct Window {
  int64_t batch, channels, block, rows, columns, stride;
  const char* after;  // what follows on the sum S, "" for nothing
};

/// With X in blocks of channels, the result row-major.
ir::LoopFunc depthwise(const Window& w) {
  const int64_t h = (w.rows - 1) / w.stride + 1, v = (w.columns - 1) / w.stride + 1;
  const std::string at =
      str("[n in ", w.batch, ", c in ", w.channels, ", y in ", h, ", x in ", v, "] =\n      ");
  const std::string sum = str("sum(i in 3, j in 3) P[n, c, y * ", w.stride, " + i, x * ", w.stride,
                              " + j] * W[c, i, j]\n");
  const std::string rows = std::to_string(w.rows), columns = std::to_string(w.columns);
  const std::string text = str(
      "te d(X: f32[", w.batch, ", ", w.channels, ", ", rows, ", ", columns, "], W: f32[",
      w.channels, ", 3, 3], b: f32[", w.channels, "], R: f32[", w.batch, ", ", w.channels, ", ", h,
      ", ", v, "]) {\n  P[n in ", w.batch, ", c in ", w.channels, ", y in ", rows, " + 2, x in ",
      columns, " + 2] =\n      guard(1 <= y && y < ", rows, " + 1 && 1 <= x && x < ", columns,
      " + 1, X[n, c, y - 1, x - 1], 0.0)\n",
      *w.after ? str("  S", at, sum, "  Y", at, w.after) : str("  Y", at, sum), "\n  return Y\n}");
  return *in_blocks(lower::to_blocks(te::parse_program(text)), {{0, 1, w.block}});
}

const char* const kClip = "min(max(S[n, c, y, x] + b[c], 0.0), 6.0)";
const char* const kAdd = "S[n, c, y, x] + b[c] + R[n, c, y, x]";

std::vector<ir::TargetSpec> machines() {
  return {small_machine(), target::parse_target("x86-64-v3"), target::parse_target("x86-64-v4")};
}

TEST(Turned, KeepsResults) {
  for (const Window& w :
       std::vector<Window>{{1, 32, 16, 4, 24, 1, kClip},
                           {1, 16, 16, 3, 7, 1, kClip},  // fewer rows than a block
                           {2, 32, 16, 5, 21, 1, kAdd},  // several, and some left over
                           {1, 32, 16, 7, 29, 2, kClip},
                           {1, 24, 8, 5, 13, 1, kClip},  // blocks of half a vector
                           {1, 16, 4, 3, 9, 2, kAdd},
                           {1, 16, 16, 2, 600, 1, kClip},  // more than is kept
                           {1, 32, 16, 4, 17, 1, ""},
                           {1, 16, 16, 6, 5, 2, ""},
                           {1, 16, 16, 1, 1, 1, kClip}})
    for (const ir::TargetSpec& spec : machines())
      EXPECT_EQ(wrong_choice(depthwise(w), spec), "")
          << spec.name << " " << w.channels << " " << w.columns << " " << w.stride;
}

TEST(Turned, KeepsResultsOfAPoolWithoutAStageBehind) {
  const auto pool =
      in_blocks(lower::to_blocks(te::parse_program(
                    "te p(X: f32[1, 32, 9, 18]) {\n"
                    "  M[n in 1, c in 32, y in 4, x in 8] = "
                    "max(i in 3, j in 3) X[n, c, y * 2 + i, x * 2 + j]\n  return M\n}")),
                {{0, 1, 16}});
  for (const ir::TargetSpec& spec : machines())
    EXPECT_EQ(wrong_choice(*pool, spec), "") << spec.name;
}

/// Does the last stage store vectors along the last index of what it writes?
bool stores_rows(const ir::LoopFunc& f) {
  const ir::Buffer result = f.params.back().buffer;
  bool found = false;
  ir::walk(f.body, [&](const ir::For& loop) {
    if (loop.loop != ir::ForKind::Vectorized) return;
    ir::walk(loop.body, [&](const ir::Block& b) {
      if (b.writes.empty() || b.writes[0].buffer != result) return;
      const ir::Expr last = b.body.as<ir::Store>()->indices.back();
      for (const ir::BlockIter& it : b.iters)
        found = found || (it.var == last && ir::uses(it.binding, loop.var));
    });
  });
  return found;
}

TEST(Turned, StoresVectorsOfARow) {
  const ir::TargetSpec spec = target::parse_target("x86-64-v4");
  for (const char* after : {kClip, kAdd})
    EXPECT_TRUE(stores_rows(choose(depthwise({1, 32, 16, 16, 24, 1, after}), spec, {"W", "b"})));
}

}  // namespace
}  // namespace tilewright::tune
