// SPDX-License-Identifier: Apache-2.0
// How the text reads: whole files for two small kernels.
#include "common/golden.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "target/c_source/c_source.h"

namespace tilewright::target::c_source {
namespace {

std::string c_of(std::string_view text, Numerics numerics) {
  const ir::LoopFunc f = ir::parse_function(text);
  return emit({&f, 1}, {.numerics = numerics}).text;
}

TEST(Golden, Matmul) {
  expect_golden("tests/target/c_source/golden/matmul.golden", c_of(R"(
// C[64, 64] = A[64, 32] B[32, 64], a tile of 4 rows and 16 columns at a time
loops matmul(A: in f32[2048] align 64, B: in f32[2048], C: out f32[4096]) stage final {
  parallel for io in 0..16 {
    for jo in 0..4 {
      alloc acc: f32[64] register align 64
      for i in 0..4 { acc[ramp(i * 16, 1, 16)] = broadcast(0.0, 16) }
      for k in 0..32 {
        let b = B[ramp(k * 64 + jo * 16, 1, 16)]
        for i in 0..4 {
          acc[ramp(i * 16, 1, 16)] = acc[ramp(i * 16, 1, 16)] + broadcast(A[(io * 4 + i) * 32 + k], 16) * b
        }
      }
      for i in 0..4 { C[ramp((io * 4 + i) * 64 + jo * 16, 1, 16)] = acc[ramp(i * 16, 1, 16)] }
    }
  }
})",
                                                                   Numerics::Reassociated));
}

TEST(Golden, SoftmaxOfRows) {
  expect_golden("tests/target/c_source/golden/softmax.golden", c_of(R"(
loops softmax(x: in f32[rows * cols], y: out f32[rows * cols]) where rows in 1..65536, cols in 1..65536 stage final {
  for r in 0..rows {
    alloc most: f32[] register
    alloc sum: f32[] register
    alloc e: f32[cols]
    most[] = -inf:f32
    for j in 0..cols / 8 { most[] = max(most[], reduce_max(x[ramp(r * cols + j * 8, 1, 8)])) }
    for j in cols / 8 * 8 +: cols % 8 { most[] = max(most[], x[r * cols + j]) }
    sum[] = 0.0
    for j in 0..cols {
      e[j] = exp(x[r * cols + j] - most[])
      sum[] = sum[] + e[j]
    }
    for j in 0..(cols + 7) / 8 {
      let m = ramp(j * 8, 1, 8) < broadcast(cols, 8)
      y[ramp(r * cols + j * 8, 1, 8)] mask(m) = e[ramp(j * 8, 1, 8)] mask(m) / broadcast(sum[], 8)
    }
  }
})",
                                                                    Numerics::Ieee));
}

}  // namespace
}  // namespace tilewright::target::c_source
