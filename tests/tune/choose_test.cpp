// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/choose.h"

#include <gtest/gtest.h>

#include "schedule/random_schedule.h"
#include "target/host.h"
#include "target/llvm/compile.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

TEST(Choose, KeepsResultsOfRandomPrograms) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    schedule::Random random(seed);
    const std::string wrong =
        wrong_choice(lower::to_blocks(schedule::random_program(random)), small_machine());
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
}

struct Kernel {
  const char* name;
  const char* text;
  std::vector<std::vector<int64_t>> symbols = {{}};  // values to run it at
};
void PrintTo(const Kernel& k, std::ostream* out) { *out << k.name; }

class ChooseKernel : public testing::TestWithParam<Kernel> {};

TEST_P(ChooseKernel, KeepsResults) {
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(GetParam().text));
  for (const ir::TargetSpec& spec :
       {small_machine(), target::parse_target("x86-64-v3"), target::parse_target("x86-64-v4"),
        target::parse_target("znver4"), target::parse_target("amx")})
    EXPECT_EQ(wrong_choice(blocks, spec, GetParam().symbols), "") << spec.name;
}

const Kernel kKernels[] = {
    {"elementwise",
     "te e(A: f32[3, 5, 7]) {\n"
     "  B[i in 3, j in 5, k in 7] = exp(A[i, j, k]) * 2.0\n  return B\n}"},
    {"elementwise_symbolic",
     "te e(A: f32[n, 7], b: f32[7]) where n in 0..4096 {\n"
     "  B[i in n, j in 7] = max(A[i, j] + b[j], 0.0)\n  return B\n}",
     {{0}, {1}, {5}, {33}}},
    {"scalar", "te e(A: f32[], B: f32[]) {\n  C[] = A[] * B[] + 1.0\n  return C\n}"},
    {"nothing", "te e(A: f32[0, 7]) {\n  B[i in 0, j in 7] = A[i, j] * 2.0\n  return B\n}"},
    {"sum_of_nothing", "te e(A: f32[5, 0]) {\n  B[i in 5] = sum(j in 0) A[i, j]\n  return B\n}"},
    {"ones",
     "te e(A: f32[1, 1, 9]) {\n"
     "  B[i in 1, j in 1, k in 1] = sum(r in 9) A[i, j, r]\n  return B\n}"},
    {"transpose", "te t(A: f32[19, 37]) {\n  B[i in 37, j in 19] = A[j, i]\n  return B\n}"},
    {"transpose_of_heads",
     "te t(A: f32[2, 9, 3, 8]) {\n"
     "  B[b in 2, h in 3, s in 9, d in 8] = A[b, s, h, d]\n  return B\n}"},
    {"gather",
     "te g(A: f32[11, 6], at: i64[9]) {\n"
     "  B[i in 9, j in 6] = A[max(min(at[i], 10), 0), j]\n  return B\n}"},
    {"concatenation",
     "te c(A: f32[3, 5], B: f32[3, 6]) {\n"
     "  C[i in 3, j in 11] = guard(j < 5, A[i, j], B[i, j - 5])\n  return C\n}"},
    {"several_results",
     "te s(A: f32[6, 7]) {\n  B[i in 6, j in 7] = max(A[i, j], 0.0)\n"
     "  C[i in 6, j in 7] = B[i, j] * 2.0\n  D[i in 6] = sum(j in 7) B[i, j]\n"
     "  return B, C, D\n}"},
    {"matmul",
     "te m(A: f32[13, 21], B: f32[21, 35]) {\n"
     "  C[y in 13, x in 35] = sum(k in 21) A[y, k] * B[k, x]\n  return C\n}"},
    {"matmul_wide",
     "te m(A: f32[70, 40], B: f32[40, 96]) {\n"
     "  C[y in 70, x in 96] = sum(k in 40) A[y, k] * B[k, x]\n  return C\n}"},
    {"matmul_narrow",
     "te m(A: f32[29, 20], B: f32[20, 6], b: f32[6]) {\n"
     "  C[y in 29, x in 6] = sum(k in 20) A[y, k] * B[k, x]\n"
     "  D[y in 29, x in 6] = C[y, x] + b[x]\n  return D\n}"},
    {"matmul_narrow_turned",
     "te m(A: f32[20, 61], B: f32[6, 20]) {\n"
     "  C[x in 6, y in 61] = sum(k in 20) A[k, y] * B[x, k]\n  return C\n}"},
    {"matmul_of_transposed",
     "te m(A: f32[17, 24], B: f32[33, 24]) {\n"
     "  C[y in 17, x in 33] = sum(k in 24) A[y, k] * B[x, k]\n  return C\n}"},
    {"matmul_both_transposed",
     "te m(A: f32[24, 17], B: f32[33, 24]) {\n"
     "  C[y in 17, x in 33] = sum(k in 24) A[k, y] * B[x, k]\n  return C\n}"},
    {"matmul_with_epilogue",
     "te m(A: f32[12, 16], B: f32[16, 40], b: f32[40], R: f32[12, 40]) {\n"
     "  C[y in 12, x in 40] = sum(k in 16) A[y, k] * B[k, x]\n"
     "  D[y in 12, x in 40] = C[y, x] + b[x]\n"
     "  E[y in 12, x in 40] = D[y, x] * 0.5 * (1.0 + erf(D[y, x] * 0.7)) + R[y, x]\n"
     "  return E\n}"},
    {"matmul_symbolic_rows",
     "te m(A: f32[n, 16], B: f32[16, 33], b: f32[33]) where n in 1..512 {\n"
     "  C[y in n, x in 33] = sum(k in 16) A[y, k] * B[k, x]\n"
     "  D[y in n, x in 33] = max(C[y, x] + b[x], 0.0)\n  return D\n}",
     {{1}, {3}, {14}, {29}}},
    {"matmul_all_symbolic",
     "te m(A: f32[m, k], B: f32[k, n]) where m in 0..512, n in 1..512, k in 0..512 {\n"
     "  C[y in m, x in n] = sum(r in k) A[y, r] * B[r, x]\n  return C\n}",
     {{0, 3, 4}, {7, 1, 0}, {7, 9, 1}, {14, 33, 17}}},
    {"matmul_batched",
     "te m(A: f32[2, 3, 9, 8], B: f32[2, 3, 8, 17]) {\n"
     "  C[a in 2, b in 3, y in 9, x in 17] = "
     "sum(k in 8) A[a, b, y, k] * B[a, b, k, x]\n  return C\n}"},
    {"matmul_half",
     "te m(A: f16[9, 12], B: f16[12, 20]) {\n"
     "  C[y in 9, x in 20] = sum(k in 12) f32(A[y, k]) * f32(B[k, x])\n"
     "  D[y in 9, x in 20] = f16(C[y, x])\n  return D\n}"},
    {"matmul_of_pairs",
     "te m(A: bf16[15, 20], B: bf16[20, 64]) {\n"
     "  C[y in 15, x in 64] = sum(k in 20) f32(A[y, k]) * f32(B[k, x])\n  return C\n}"},
    {"matmul_of_pairs_with_epilogue",
     "te m(A: bf16[30, 8], B: bf16[48, 8], b: f32[48], R: bf16[30, 48]) {\n"
     "  C[y in 30, x in 48] = sum(k in 8) f32(A[y, k]) * f32(B[x, k])\n"
     "  D[y in 30, x in 48] = bf16(max(C[y, x] + b[x] + f32(R[y, x]), 0.0))\n  return D\n}"},
    {"matmul_of_pairs_with_tails",
     "te m(A: bf16[30, 8], B: bf16[8, 53], b: f32[53]) {\n"
     "  C[y in 30, x in 53] = sum(k in 8) f32(A[y, k]) * f32(B[k, x])\n"
     "  D[y in 30, x in 53] = max(C[y, x] + b[x], 0.0)\n  return D\n}"},
    {"matmul_of_odd_pairs",
     "te m(A: bf16[9, 7], B: bf16[7, 33]) {\n"
     "  C[y in 9, x in 33] = sum(k in 7) f32(A[y, k]) * f32(B[k, x])\n  return C\n}"},
    {"matmul_of_pairs_symbolic_rows",
     "te m(A: bf16[n, 16], B: bf16[16, 32]) where n in 1..512 {\n"
     "  C[y in n, x in 32] = sum(k in 16) f32(A[y, k]) * f32(B[k, x])\n  return C\n}",
     {{1}, {3}, {14}, {29}}},
    {"convolution_of_pairs",
     "te c(X: bf16[2, 9, 9, 16], W: bf16[2, 2, 3, 3, 16, 16], b: f32[2, 16]) {\n"
     "  C[m in 2, y in 7, x in 7, o in 16] = sum(c in 2, i in 3, j in 3, r in 16) "
     "f32(X[c, y + i, x + j, r]) * f32(W[m, c, i, j, r, o])\n"
     "  D[m in 2, y in 7, x in 7, o in 16] = bf16(max(C[m, y, x, o] + b[m, o], 0.0))\n"
     "  return D\n}"},
    {"convolution_of_pairs_in_short_blocks",
     "te c(X: bf16[2, 9, 9, 8], W: bf16[3, 2, 3, 3, 8, 8], b: f32[3, 8]) {\n"
     "  C[m in 3, y in 7, x in 7, o in 8] = sum(c in 2, i in 3, j in 3, r in 8) "
     "f32(X[c, y + i, x + j, r]) * f32(W[m, c, i, j, r, o])\n"
     "  D[m in 3, y in 7, x in 7, o in 8] = bf16(max(C[m, y, x, o] + b[m, o], 0.0))\n"
     "  return D\n}"},
    {"convolution_of_pairs_turned",
     "te c(X: bf16[2, 44, 16], W: bf16[50, 2, 3, 16], b: f32[50]) {\n"
     "  C[m in 50, x in 42] = sum(c in 2, j in 3, r in 16) "
     "f32(X[c, x + j, r]) * f32(W[m, c, j, r])\n"
     "  D[m in 50, x in 42] = max(C[m, x] + b[m], 0.0)\n  return D\n}"},
    {"matmul_of_bytes",
     "te m(A: u8[15, 20], B: i8[20, 64]) {\n"
     "  C[y in 15, x in 64] = sum(k in 20) i32(A[y, k]) * i32(B[k, x])\n  return C\n}"},
    {"windows_of_bytes_symbolic_rows",
     "te c(X: u8[2, 2 * n + 2, 8], W: i8[32, 2, 3, 8]) where n in 1..100 {\n"
     "  C[x in n, m in 32] = sum(c in 2, j in 3, r in 8) "
     "i32(X[c, 2 * x + j, r]) * i32(W[m, c, j, r])\n  return C\n}",
     {{1}, {7}, {16}}},
    {"matmul_for_tiles",
     "te m(A: bf16[45, 64], B: bf16[64, 40], b: f32[40]) {\n"
     "  C[y in 45, x in 40] = sum(k in 64) f32(A[y, k]) * f32(B[k, x])\n"
     "  D[y in 45, x in 40] = bf16(max(C[y, x] + b[x], 0.0))\n  return D\n}"},
    {"matmul_for_tiles_symbolic_rows",
     "te m(A: bf16[n, 32], B: bf16[32, 32]) where n in 1..512 {\n"
     "  C[y in n, x in 32] = sum(k in 32) f32(A[y, k]) * f32(B[k, x])\n  return C\n}",
     {{1}, {16}, {29}, {32}}},
    {"matmul_of_bytes_for_tiles",
     "te m(A: u8[10, 128], B: i8[128, 48]) {\n"
     "  C[y in 10, x in 48] = sum(k in 128) i32(A[y, k]) * i32(B[k, x])\n  return C\n}"},
    {"matmul_integer",
     "te m(A: u8[9, 12], B: i8[12, 20], z: u8[]) {\n"
     "  C[y in 9, x in 20] = sum(k in 12) (i32(A[y, k]) - i32(z[])) * i32(B[k, x])\n  return C\n}"},
    {"matmul_then_matmul",
     "te m(A: f32[9, 8], B: f32[8, 17], C: f32[17, 5]) {\n"
     "  D[y in 9, x in 17] = sum(k in 8) A[y, k] * B[k, x]\n"
     "  E[y in 9, x in 17] = max(D[y, x], 0.0)\n"
     "  F[y in 9, x in 5] = sum(k in 17) E[y, k] * C[k, x]\n  return F\n}"},
    {"matrix_vector",
     "te g(A: f32[37, 70], x: f32[70]) {\n"
     "  y[i in 37] = sum(k in 70) A[i, k] * x[k]\n  return y\n}"},
    {"vector_matrix",
     "te g(A: f32[70, 37], x: f32[1, 70], b: f32[37]) {\n"
     "  y[i in 1, j in 37] = sum(k in 70) x[i, k] * A[k, j]\n"
     "  z[i in 1, j in 37] = y[i, j] + b[j]\n  return z\n}"},
    {"transposition", "te t(A: f32[37, 29]) {\n  B[i in 29, j in 37] = A[j, i]\n  return B\n}"},
    {"transposition_of_bytes_of_images",
     "te t(A: u8[2, 19, 3, 8]) {\n"
     "  B[n in 2, y in 3, x in 8, c in 19] = A[n, c, y, x]\n  return B\n}"},
    {"transposition_of_a_window_and_a_sum",
     "te t(A: f32[20, 31], C: f32[3, 9, 10]) {\n"
     "  B[n in 3, i in 9, j in 10] = A[j + n, i + 11] * C[n, i, j] + C[n, j % 9, i]\n"
     "  return B\n}"},
    {"transposition_with_itself",
     "te t(A: f32[24, 24]) {\n  B[i in 24, j in 24] = A[i, j] + A[j, i]\n  return B\n}"},
    {"dot", "te d(A: f32[131], B: f32[131]) {\n  C[] = sum(k in 131) A[k] * B[k]\n  return C\n}"},
    {"outer_product",
     "te o(A: f32[13], B: f32[19]) {\n  C[i in 13, j in 19] = A[i] * B[j]\n  return C\n}"},
    {"convolution",
     "te c(X: f32[1, 5, 9, 9], W: f32[18, 5, 3, 3], b: f32[18]) {\n"
     "  P[n in 1, c in 5, y in 11, x in 11] = "
     "guard(1 <= y && y < 10 && 1 <= x && x < 10, X[n, c, y - 1, x - 1], 0.0)\n"
     "  C[n in 1, m in 18, y in 9, x in 9] = "
     "sum(c in 5, r in 3, s in 3) P[n, c, y + r, x + s] * W[m, c, r, s]\n"
     "  D[n in 1, m in 18, y in 9, x in 9] = max(C[n, m, y, x] + b[m], 0.0)\n  return D\n}"},
    {"convolution_strided",
     "te c(X: f32[2, 3, 11, 11], W: f32[7, 3, 3, 3]) {\n"
     "  C[n in 2, m in 7, y in 5, x in 5] = "
     "sum(c in 3, r in 3, s in 3) X[n, c, y * 2 + r, x * 2 + s] * W[m, c, r, s]\n  return C\n}"},
    {"convolution_pointwise",
     "te c(X: f32[1, 12, 7, 7], W: f32[20, 12, 1, 1], R: f32[1, 20, 7, 7]) {\n"
     "  C[n in 1, m in 20, y in 7, x in 7] = "
     "sum(c in 12, r in 1, s in 1) X[n, c, y + r, x + s] * W[m, c, r, s]\n"
     "  D[n in 1, m in 20, y in 7, x in 7] = C[n, m, y, x] + R[n, m, y, x]\n  return D\n}"},
    {"convolution_of_any_batch",
     "te c(X: f32[n, 4, h, 9], W: f32[6, 4, 3, 3]) where n in 1..8, h in 1..64 {\n"
     "  P[i in n, c in 4, y in h + 2, x in 11] = "
     "guard(1 <= y && y < h + 1 && 1 <= x && x < 10, X[i, c, y - 1, x - 1], 0.0)\n"
     "  C[i in n, m in 6, y in h, x in 9] = "
     "sum(c in 4, r in 3, s in 3) P[i, c, y + r, x + s] * W[m, c, r, s]\n  return C\n}",
     {{1, 1}, {2, 5}}},
    {"convolution_of_any_size",
     "te c(X: f32[1, 3, h, w], W: f32[10, 3, 3, 3], b: f32[10]) where h in 1..40, w in 1..40 {\n"
     "  P[n in 1, c in 3, y in h + 2, x in w + 2] = "
     "guard(1 <= y && y < h + 1 && 1 <= x && x < w + 1, X[n, c, y - 1, x - 1], 0.0)\n"
     "  C[n in 1, m in 10, y in h, x in w] = "
     "sum(c in 3, r in 3, s in 3) P[n, c, y + r, x + s] * W[m, c, r, s]\n"
     "  D[n in 1, m in 10, y in h, x in w] = max(C[n, m, y, x] + b[m], 0.0)\n  return D\n}",
     {{1, 1}, {1, 40}, {3, 16}, {5, 17}}},
    {"convolution_strided_of_any_size",
     "te c(X: f32[n, 2, h * 2 + 1, w * 2 + 1], W: f32[5, 2, 3, 3])"
     " where n in 1..4, h in 1..64, w in 1..64 {\n"
     "  C[i in n, m in 5, y in h, x in w] = "
     "sum(c in 2, r in 3, s in 3) X[i, c, y * 2 + r, x * 2 + s] * W[m, c, r, s]\n  return C\n}",
     {{1, 1, 1}, {2, 3, 18}, {1, 2, 16}}},
    {"depthwise_of_any_size",
     "te c(X: f32[1, 5, h, w], W: f32[5, 1, 3, 3], b: f32[5]) where h in 0..64, w in 0..64 {\n"
     "  P[n in 1, c in 5, y in h + 2, x in w + 2] = "
     "guard(1 <= y && y < h + 1 && 1 <= x && x < w + 1, X[n, c, y - 1, x - 1], 0.0)\n"
     "  C[n in 1, c in 5, y in h, x in w] = "
     "sum(r in 3, s in 3) P[n, c, y + r, x + s] * W[c, 0, r, s]\n"
     "  D[n in 1, c in 5, y in h, x in w] = C[n, c, y, x] + b[c]\n  return D\n}",
     {{0, 3}, {1, 1}, {5, 17}, {4, 32}}},
    {"convolution_grouped",
     "te c(X: f32[1, 6, 7, 7], W: f32[8, 3, 3, 3]) {\n"
     "  C[n in 1, m in 8, y in 5, x in 5] = "
     "sum(c in 3, r in 3, s in 3) X[n, m / 4 * 3 + c, y + r, x + s] * W[m, c, r, s]\n"
     "  return C\n}"},
    {"depthwise",
     "te c(X: f32[1, 6, 9, 20], W: f32[6, 1, 3, 3], b: f32[6]) {\n"
     "  P[n in 1, c in 6, y in 11, x in 22] = "
     "guard(1 <= y && y < 10 && 1 <= x && x < 21, X[n, c, y - 1, x - 1], 0.0)\n"
     "  C[n in 1, m in 6, y in 9, x in 20] = "
     "sum(c in 1, r in 3, s in 3) P[n, m, y + r, x + s] * W[m, c, r, s]\n"
     "  D[n in 1, m in 6, y in 9, x in 20] = min(max(C[n, m, y, x] + b[m], 0.0), 6.0)\n"
     "  return D\n}"},
    {"max_pool",
     "te p(X: f32[1, 3, 9, 9]) {\n"
     "  P[n in 1, c in 3, y in 11, x in 11] = "
     "guard(1 <= y && y < 10 && 1 <= x && x < 10, X[n, c, y - 1, x - 1], -inf)\n"
     "  M[n in 1, c in 3, y in 5, x in 5] = max(r in 3, s in 3) P[n, c, y * 2 + r, x * 2 + s]\n"
     "  return M\n}"},
    {"global_pool",
     "te p(X: f32[2, 5, 7, 7]) {\n"
     "  S[n in 2, c in 5] = sum(y in 7, x in 7) X[n, c, y, x]\n"
     "  M[n in 2, c in 5, y in 1, x in 1] = S[n, c] / 49.0\n  return M\n}"},
    {"softmax",
     "te s(X: f32[5, 37]) {\n  M[i in 5, j in 1] = max(k in 37) X[i, k]\n"
     "  D[i in 5, j in 37] = X[i, j] - M[i, 0]\n  E[i in 5, j in 37] = exp(D[i, j])\n"
     "  S[i in 5, j in 1] = sum(k in 37) E[i, k]\n"
     "  R[i in 5, j in 37] = E[i, j] / S[i, 0]\n  return R\n}"},
    {"softmax_symbolic",
     "te s(X: f32[2, n, n]) where n in 1..512 {\n"
     "  M[b in 2, i in n, j in 1] = max(k in n) X[b, i, k]\n"
     "  E[b in 2, i in n, j in n] = exp(X[b, i, j] - M[b, i, 0])\n"
     "  S[b in 2, i in n, j in 1] = sum(k in n) E[b, i, k]\n"
     "  R[b in 2, i in n, j in n] = E[b, i, j] / S[b, i, 0]\n  return R\n}",
     {{1}, {7}, {35}}},
    {"softmax_over_channels",
     "te s(X: f32[2, 9, 20]) {\n  M[b in 2, j in 1, i in 20] = max(k in 9) X[b, k, i]\n"
     "  E[b in 2, j in 9, i in 20] = exp(X[b, j, i] - M[b, 0, i])\n"
     "  S[b in 2, j in 1, i in 20] = sum(k in 9) E[b, k, i]\n"
     "  R[b in 2, j in 9, i in 20] = E[b, j, i] / S[b, 0, i]\n  return R\n}"},
    {"layer_norm",
     "te l(X: f32[7, 40], g: f32[40], b: f32[40]) {\n"
     "  S[i in 7, j in 1] = sum(k in 40) X[i, k]\n  M[i in 7, j in 1] = S[i, j] / 40.0\n"
     "  D[i in 7, j in 40] = X[i, j] - M[i, 0]\n  Q[i in 7, j in 40] = D[i, j] * D[i, j]\n"
     "  V[i in 7, j in 1] = sum(k in 40) Q[i, k]\n"
     "  T[i in 7, j in 1] = 1.0 / sqrt(V[i, j] / 40.0 + 0.00001)\n"
     "  N[i in 7, j in 40] = D[i, j] * T[i, 0] * g[j] + b[j]\n  return N\n}"},
    {"argmax",
     "reducer longest(i: i64, x: f32 | j: i64, y: f32)\n"
     "    = (select(y > x || y == x && j < i, j, i), max(x, y))\n"
     "    identity (9223372036854775807, -inf)\n"
     "te top(x: f32[m, n]) {\n  at, value[i in m] = longest(j in n) (j, x[i, j])\n"
     "  return at, value\n}",
     {{1, 1}, {4, 37}}},
    {"layer_norm_of_two_dimensions_of_rows",
     "te l(A: f32[m, 12, n]) {\n  X[b in m, i in n, j in 12] = A[b, j, i]\n"
     "  S[b in m, i in n] = sum(j in 12) X[b, i, j]\n  M[b in m, i in n] = S[b, i] / 12.0\n"
     "  Y[b in m, i in n, j in 12] = X[b, i, j] - M[b, i]\n  return X, Y\n}",
     {{1, 1}, {2, 9}}},
    {"sums_of_columns_that_are_not_there",
     "te s(X: f32[21, 0]) {\n  S[j in 0] = sum(i in 21) X[i, j]\n  return S\n}"},
    {"mean_over_rows",
     "te m(X: f32[21, 35]) {\n  S[j in 35] = sum(i in 21) X[i, j]\n"
     "  M[j in 35] = S[j] / 21.0\n  return M\n}"},
    {"scan",
     "te rnn(x: f32[T, n], U: f32[n, n], h0: f32[n]) {\n"
     "  y[t in T, i in n] = x[t, i] * 2.0\n"
     "  h = scan(t in T, prev = h0) {\n    r[i in n] = sum(j in n) U[i, j] * prev[j]\n"
     "    next[i in n] = tanh(y[t, i] + r[i])\n    yield next\n  }\n  return h\n}",
     {{1, 1}, {3, 9}}},
    {"two_scans_of_one_matrix",
     "te rnn(x: f32[5, 2, 12], U: f32[1, 2, 12, 12]) {\n"
     "  z[b in 2, i in 12] = 0.0\n"
     "  h = scan(t in 5, prev = z) {\n    c[b in 2, i in 12] = prev[b, i]\n"
     "    r[b in 2, i in 12] = sum(j in 12) c[b, j] * U[0, 0, i, j]\n"
     "    next[b in 2, i in 12] = tanh(x[t, b, i] + r[b, i])\n    yield next\n  }\n"
     "  g = scan(t in 5, prev = z) {\n"
     "    q[b in 2, i in 12] = sum(j in 12) prev[b, j] * U[0, 1, i, j]\n"
     "    back[b in 2, i in 12] = tanh(x[4 - t, b, i] + q[b, i])\n    yield back\n  }\n"
     "  Y[t in 5, b in 2, i in 12] = h[t, b, i] + g[4 - t, b, i]\n  return Y\n}"},
    {"booleans",
     "te b(A: f32[9, 21]) {\n  B[i in 9, j in 21] = A[i, j] < 0.5\n"
     "  C[i in 9] = any(j in 21) B[i, j]\n  return C\n}"},
    {"packed_integers",
     "te i(A: i4[6, 10], B: u2[6, 10]) {\n"
     "  C[i in 6, j in 10] = i4(i32(A[i, j]) + i32(B[i, j]))\n"
     "  D[i in 6] = sum(j in 10) i32(A[i, j])\n  return C, D\n}"},
    {"doubles",
     "te d(A: f64[11, 13]) {\n  B[i in 11, j in 13] = sqrt(A[i, j])\n"
     "  C[i in 11] = sum(j in 13) B[i, j]\n  return C\n}"},
};
struct Instructed {
  const char *kernel, *target, *call;
};

TEST(Choose, AddsGroupsOfProductsByAnInstruction) {
  for (const Instructed& i : std::vector<Instructed>{
           {"matmul_of_pairs", "znver4", "dot_bf16_16.update"},
           {"matmul_of_pairs_with_epilogue", "znver4", "dot_bf16_16.update"},
           {"matmul_of_pairs_with_tails", "znver4", "dot_bf16_16.update"},
           {"matmul_of_pairs_symbolic_rows", "znver4", "dot_bf16_16.update"},
           {"convolution_of_pairs", "znver4", "dot_bf16_16.update"},
           {"convolution_of_pairs_in_short_blocks", "znver4", "dot_bf16_8.update"},
           {"convolution_of_pairs_turned", "znver4", "dot_bf16_16.update"},
           {"matmul_for_tiles", "amx", "amx_bf16.update"},
           {"matmul_of_bytes_for_tiles", "amx", "amx_u8i8.update"},
           {"matmul_of_bytes", "amx", "dot_u8i8_16.update"},
           {"matmul_of_bytes", "znver4", "dot_u8i8_16.update"},
           {"matmul_of_bytes", "x86-64-v3", "dot_u8i8_avx2.update"},
           {"windows_of_bytes_symbolic_rows", "znver4", "dot_u8i8_16.update"},
       }) {
    const auto kernel = std::ranges::find_if(
        kKernels, [&](const Kernel& k) { return k.name == std::string(i.kernel); });
    ASSERT_NE(kernel, std::end(kKernels)) << i.kernel;
    const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(kernel->text));
    const std::string text =
        ir::print(ir::Unit{{}, {}, {choose(blocks, target::parse_target(i.target), {"B", "W"})}});
    EXPECT_NE(text.find(i.call), std::string::npos) << i.kernel << " " << i.target << "\n" << text;
  }
}

#ifdef TILEWRIGHT_LLVM
TEST(Choose, MakesCodeOfTilesAndGroups) {
  for (const Instructed& i : std::vector<Instructed>{
           {"matmul_for_tiles", "amx", "tdpbf16ps"},
           {"matmul_of_bytes_for_tiles", "amx", "tdpbusd"},
           {"matmul_of_pairs_with_tails", "znver4", "vdpbf16ps"},
           {"convolution_of_pairs", "znver4", "vdpbf16ps"},
           {"matmul_of_bytes", "znver4", "vpdpbusd"},
           {"matmul_of_bytes", "x86-64-v3", "vpmaddwd"},
           {"matmul_of_pairs", "x86-64-v3", "vfmadd"},
       }) {
    const auto kernel = std::ranges::find_if(
        kKernels, [&](const Kernel& k) { return k.name == std::string(i.kernel); });
    const ir::TargetSpec spec = target::parse_target(i.target);
    lower::PassContext context;
    context.limits.max_lanes = spec.vector_bits / 8;
    context.limits.instructions = target::llvm::instruction_names(spec);
    const ir::LoopFunc chosen =
        choose(lower::to_blocks(te::parse_program(kernel->text)), spec, {"B", "W"});
    const std::string text =
        target::llvm::emit_assembly(lower::run(lower::cpu_pipeline(), chosen, context), spec);
    EXPECT_NE(text.find(i.call), std::string::npos) << i.kernel << " " << i.target;
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(All, ChooseKernel, testing::ValuesIn(kKernels),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tilewright::tune
