// SPDX-License-Identifier: Apache-2.0
// What tests of rewrites that take stages apart share.
#pragma once

#include <gtest/gtest.h>

#include "te/parse.h"
#include "tune/choose/stage.h"
#include "tune/chosen.h"

namespace tilewright::tune {

inline ir::LoopFunc blocks_of(const char* text) {
  return lower::to_blocks(te::parse_program(text));
}

/// How many stages the canonical function has; a schedule of it that is wrong fails the test.
inline size_t stages_of_right(const char* text,
                              const std::vector<std::vector<int64_t>>& symbols = {{}}) {
  const ir::LoopFunc blocks = blocks_of(text);
  EXPECT_EQ(wrong_choice(blocks, small_machine(), symbols), "");
  EXPECT_EQ(wrong_choice(blocks, wide_machine(), symbols), "");
  return stages_of(canonical(blocks)).size();
}

/// Does an element ask where it comes from?
inline bool asks(const ir::LoopFunc& f) {
  bool found = false;
  ir::walk(f.body, [&](const ir::Guard&) { found = true; });
  ir::walk(f.body, [&](const ir::Select&) { found = true; });
  ir::walk(f.body, [&](const ir::Binary& b) {
    found = found || b.op == ir::BinaryOp::Div || b.op == ir::BinaryOp::Mod ||
            b.op == ir::BinaryOp::Min || b.op == ir::BinaryOp::Max;
  });
  return found;
}

}  // namespace tilewright::tune
