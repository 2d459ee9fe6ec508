// SPDX-License-Identifier: Apache-2.0
#include "tune_cases.h"

#include "support/str.h"

namespace bench {
namespace {

using tilewright::str;

/// `X` of [channels / block, size, size, block] with zeros around it, as stage P.
std::string padded(int64_t channels, int64_t size, int64_t pad, int64_t block) {
  const int64_t whole = size + 2 * pad;
  return str("  P[c in ", channels / block, ", y in ", whole, ", x in ", whole, ", d in ", block,
             "] = guard(", pad, " <= y && y < ", size + pad, " && ", pad, " <= x && x < ",
             size + pad, ", X[c, y - ", pad, ", x - ", pad, ", d], 0.0)\n");
}

/// Makes convolutions with their channels in blocks, as layouts are assigned.
struct InBlocks {
  int64_t block;

  TuneCase conv(int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride) const {
    const int64_t pad = kernel / 2, result = (size + 2 * pad - kernel) / stride + 1;
    const int64_t ci = in / block, co = out / block;
    const std::string results =
        str("[m in ", co, ", y in ", result, ", x in ", result, ", e in ", block, "]");
    std::string text = str("te conv(X: f32[", ci, ", ", size, ", ", size, ", ", block, "], W: f32[",
                           co, ", ", block, ", ", ci, ", ", block, ", ", kernel, ", ", kernel,
                           "], wb: f32[", co, ", ", block, "]) {\n");
    if (pad > 0) text += padded(in, size, pad, block);
    text += str("  C", results, " = sum(c in ", ci, ", r in ", kernel, ", s in ", kernel, ", d in ",
                block, ") ", pad > 0 ? "P" : "X", "[c, y * ", stride, " + r, x * ", stride,
                " + s, d] * W[m, e, c, d, r, s]\n  D", results,
                " = max(C[m, y, x, e] + wb[m, e], 0.0)\n  return D\n}");
    return {str("conv ", size, ",", in, ",", out, " ", kernel, "x", kernel, "/", stride), text};
  }

  TuneCase depthwise(int64_t size, int64_t channels) const {
    const int64_t c = channels / block;
    const std::string results =
        str("[c in ", c, ", y in ", size, ", x in ", size, ", d in ", block, "]");
    return {
        str("depthwise ", size, ",", channels),
        str("te depthwise(X: f32[", c, ", ", size, ", ", size, ", ", block, "], W: f32[", c, ", ",
            block, ", 3, 3], wb: f32[", c, ", ", block, "]) {\n", padded(channels, size, 1, block),
            "  C", results, " = sum(r in 3, s in 3) P[c, y + r, x + s, d] * W[c, d, r, s]\n  D",
            results, " = max(C[c, y, x, d] + wb[c, d], 0.0)\n  return D\n}")};
  }
};

TuneCase gemm(int64_t m, int64_t n, int64_t k) {
  return {
      str("gemm ", m, ",", n, ",", k),
      str("te gemm(A: f32[", m, ", ", k, "], W: f32[", k, ", ", n, "], wb: f32[", n,
          "]) {\n  C[y in ", m, ", x in ", n, "] = sum(k in ", k, ") A[y, k] * W[k, x]\n  D[y in ",
          m, ", x in ", n, "] = C[y, x] + wb[x]\n  return D\n}")};
}

/// 4x4, twice as large, as ConvTranspose is computed: results that are a stride apart use the same
/// weights.
TuneCase transposed_conv(int64_t size, int64_t in, int64_t out) {
  return {str("transposed conv ", size, ",", in, ",", out),
          str("te transposed(X: f32[", in, ", ", size, ", ", size, "], W: f32[2, 2, ", out, ", ",
              in, ", 2, 2], wb: f32[", out, "]) {\n  P[c in ", in, ", y in ", size + 2, ", x in ",
              size + 2, "] = guard(1 <= y && y < ", size + 1, " && 1 <= x && x < ", size + 1,
              ", X[c, y - 1, x - 1], 0.0)\n  Z[a in 2, b in 2, m in ", out, ", y in ", size,
              ", x in ", size, "] = sum(c in ", in,
              ", r in 2, s in 2) P[c, y + (a + 1) / 2 + 1 - r, x + (b + 1) / 2 + 1 - s] * "
              "W[a, b, m, c, r, s]\n  Y[m in ",
              out, ", y in ", 2 * size, ", x in ", 2 * size,
              "] = max(Z[y % 2, x % 2, m, y / 2, x / 2] + wb[m], 0.0)\n  return Y\n}")};
}

TuneCase attention(int64_t heads, int64_t length, int64_t size) {
  const std::string shape = str("f32[", heads, ", ", length, ", ", size, "]");
  const std::string row = str("h in ", heads, ", s in ", length);
  const std::string scores = str("[", row, ", t in ", length, "]");
  return {
      str("attention ", heads, ",", length, ",", size),
      str("te attention(Q: ", shape, ", K: ", shape, ", V: ", shape, ") {\n  S", scores,
          " = sum(d in ", size, ") Q[h, s, d] * K[h, t, d]\n  M[", row, "] = max(t in ", length,
          ") S[h, s, t]\n  E", scores, " = exp(S[h, s, t] - M[h, s])\n  Z[", row, "] = sum(t in ",
          length, ") E[h, s, t]\n  P", scores, " = E[h, s, t] / Z[h, s]\n  O[", row, ", d in ",
          size, "] = sum(t in ", length, ") P[h, s, t] * V[h, t, d]\n  return O\n}")};
}

}  // namespace

std::vector<TuneCase> model_cases(int64_t block) {
  const InBlocks in{block};
  return {in.conv(56, 64, 64, 3, 1),   in.conv(56, 64, 128, 3, 2),  in.conv(56, 64, 128, 1, 2),
          in.conv(28, 128, 128, 3, 1), in.conv(28, 128, 256, 3, 2), in.conv(28, 128, 256, 1, 2),
          in.conv(14, 256, 256, 3, 1), in.conv(14, 256, 512, 3, 2), in.conv(14, 256, 512, 1, 2),
          in.conv(7, 512, 512, 3, 1),  gemm(128, 768, 768),         gemm(128, 3072, 768),
          gemm(128, 768, 3072)};
}

std::vector<TuneCase> common_cases(int64_t block) {
  const InBlocks in{block};
  return {in.conv(28, 128, 128, 3, 1), in.depthwise(28, 192), gemm(128, 768, 768),
          transposed_conv(16, 256, 128), attention(12, 128, 64)};
}

std::vector<TuneCase> invented_cases() {
  return {
      {"correlation",  // of two feature maps, at 81 displacements
       "te correlation(A: f32[64, 48, 64], B: f32[64, 56, 72]) {\n"
       "  C[p in 9, q in 9, y in 48, x in 64] = sum(c in 64) A[c, y, x] * B[c, y + p, x + q]\n"
       "  D[p in 9, q in 9, y in 48, x in 64] = C[p, q, y, x] * 0.015625\n  return D\n}"},
      {"dilated grouped conv3d",
       "te conv3d(X: f32[4, 16, 12, 20, 20], W: f32[4, 32, 16, 3, 3, 3], wb: f32[4, 32]) {\n"
       "  C[g in 4, m in 32, z in 8, y in 16, x in 16] = sum(c in 16, p in 3, r in 3, s in 3) "
       "X[g, c, z + p * 2, y + r * 2, x + s * 2] * W[g, m, c, p, r, s]\n"
       "  D[g in 4, m in 32, z in 8, y in 16, x in 16] = "
       "max(C[g, m, z, y, x] + wb[g, m], 0.0)\n  return D\n}"},
      {"bilinear form",  // a product with a matrix on both sides, of each pair of rows
       "te bilinear(A: f32[96, 64], W: f32[64, 64], B: f32[96, 64]) {\n"
       "  C[i in 96, j in 96] = sum(a in 64, b in 64) A[i, a] * W[a, b] * B[j, b]\n  return C\n}"},
      {"nearest distance",  // the least squared distance of each point to a set
       "te nearest(P: f32[1024, 3], Q: f32[3, 2048]) {\n"
       "  D[i in 1024, j in 2048] = sum(d in 3) (P[i, d] - Q[d, j]) * (P[i, d] - Q[d, j])\n"
       "  M[i in 1024] = min(j in 2048) D[i, j]\n  return M\n}"},
      {"local attention",  // of each position with its neighbours, then weighted
       "te local(Q: f32[8, 256, 64], K: f32[8, 288, 64], V: f32[8, 288, 64]) {\n"
       "  S[h in 8, i in 256, w in 33] = sum(d in 64) Q[h, i, d] * K[h, i + w, d]\n"
       "  R[h in 8, i in 256, w in 33] = max(S[h, i, w], 0.0)\n"
       "  O[h in 8, i in 256, d in 64] = sum(w in 33) R[h, i, w] * V[h, i + w, d]\n"
       "  return O\n}"}};
}

}  // namespace bench
