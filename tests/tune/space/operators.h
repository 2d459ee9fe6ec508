// SPDX-License-Identifier: Apache-2.0
// Operators for tests of tuning: small, with odd sizes; five of them nobody has written a schedule
// for.
#pragma once

#include <ostream>

namespace tilewright::tune {

struct Operator {
  const char* name;
  const char* text;
};
inline void PrintTo(const Operator& op, std::ostream* out) { *out << op.name; }

/// Nobody has heard of these.
inline const Operator kInvented[] = {
    {"correlation",  // of two feature maps, at 9 displacements
     "te k(A: f32[6, 9, 11], B: f32[6, 11, 13]) {\n"
     "  C[p in 3, q in 3, y in 9, x in 11] = "
     "sum(c in 6) A[c, y, x] * B[c, y + p, x + q]\n"
     "  D[p in 3, q in 3, y in 9, x in 11] = C[p, q, y, x] * 0.25\n  return D\n}"},
    {"dilated_grouped_conv3d",
     "te k(X: f32[1, 2, 3, 7, 8, 9], W: f32[2, 5, 3, 2, 2, 3], wb: f32[2, 5]) {\n"
     "  C[n in 1, g in 2, m in 5, z in 5, y in 6, x in 5] = sum(c in 3, p in 2, r in 2, s in 3) "
     "X[n, g, c, z + p * 2, y + r * 2, x + s * 2] * W[g, m, c, p, r, s]\n"
     "  D[n in 1, g in 2, m in 5, z in 5, y in 6, x in 5] = "
     "max(C[n, g, m, z, y, x] + wb[g, m], 0.0)\n  return D\n}"},
    {"bilinear_form",  // a product with a matrix on both sides, of each pair of rows
     "te k(A: f32[7, 10], W: f32[10, 12], B: f32[9, 12]) {\n"
     "  C[i in 7, j in 9] = sum(a in 10, b in 12) A[i, a] * W[a, b] * B[j, b]\n  return C\n}"},
    {"nearest_distance",  // the least squared distance of each point to a set
     "te k(P: f32[13, 3], Q: f32[3, 19]) {\n"
     "  D[i in 13, j in 19] = sum(d in 3) (P[i, d] - Q[d, j]) * (P[i, d] - Q[d, j])\n"
     "  M[i in 13] = min(j in 19) D[i, j]\n  return M\n}"},
    {"local_attention_scores",  // of each position with its neighbours, then weighted
     "te k(Q: f32[3, 16, 8], K: f32[3, 20, 8], V: f32[3, 20, 8]) {\n"
     "  S[h in 3, i in 16, w in 5] = sum(d in 8) Q[h, i, d] * K[h, i + w, d]\n"
     "  R[h in 3, i in 16, w in 5] = max(S[h, i, w], 0.0)\n"
     "  O[h in 3, i in 16, d in 8] = sum(w in 5) R[h, i, w] * V[h, i + w, d]\n  return O\n}"},
};

inline const Operator kCommon[] = {
    {"matmul",
     "te k(A: f32[13, 21], W: f32[21, 37], wb: f32[37]) {\n"
     "  C[y in 13, x in 37] = sum(k in 21) A[y, k] * W[k, x]\n"
     "  D[y in 13, x in 37] = max(C[y, x] + wb[x], 0.0)\n  return D\n}"},
    {"matmul_of_transposed",
     "te k(A: f32[12, 24], B: f32[32, 24]) {\n"
     "  C[y in 12, x in 32] = sum(k in 24) A[y, k] * B[x, k]\n  return C\n}"},
    {"conv2d",
     "te k(X: f32[1, 5, 9, 9], W: f32[18, 5, 3, 3], wb: f32[18]) {\n"
     "  P[n in 1, c in 5, y in 11, x in 11] = "
     "guard(1 <= y && y < 10 && 1 <= x && x < 10, X[n, c, y - 1, x - 1], 0.0)\n"
     "  C[n in 1, m in 18, y in 9, x in 9] = "
     "sum(c in 5, r in 3, s in 3) P[n, c, y + r, x + s] * W[m, c, r, s]\n"
     "  D[n in 1, m in 18, y in 9, x in 9] = max(C[n, m, y, x] + wb[m], 0.0)\n  return D\n}"},
    {"conv2d_in_pieces",
     "te k(X: f32[2, 6, 6, 4], W: f32[3, 8, 2, 4, 3, 3], wb: f32[3, 8]) {\n"
     "  P[c in 2, y in 8, x in 8, d in 4] = "
     "guard(1 <= y && y < 7 && 1 <= x && x < 7, X[c, y - 1, x - 1, d], 0.0)\n"
     "  C[m in 3, y in 6, x in 6, e in 8] = "
     "sum(c in 2, r in 3, s in 3, d in 4) P[c, y + r, x + s, d] * W[m, e, c, d, r, s]\n"
     "  D[m in 3, y in 6, x in 6, e in 8] = max(C[m, y, x, e] + wb[m, e], 0.0)\n  return D\n}"},
    {"depthwise",
     "te k(X: f32[6, 12, 12], W: f32[6, 3, 3]) {\n"
     "  C[c in 6, y in 10, x in 10] = sum(r in 3, s in 3) X[c, y + r, x + s] * W[c, r, s]\n"
     "  return C\n}"},
    {"transposed_conv",
     "te k(X: f32[4, 6, 6], W: f32[4, 5, 4, 4]) {\n"
     "  C[m in 5, y in 10, x in 10] = sum(c in 4, r in 2, s in 2) "
     "X[c, y / 2 + r, x / 2 + s] * W[c, m, (1 - r) * 2 + y % 2, (1 - s) * 2 + x % 2]\n"
     "  return C\n}"},
    {"max_pool",
     "te k(X: f32[5, 11, 12]) {\n"
     "  C[c in 5, y in 5, x in 6] = max(r in 3, s in 2) X[c, y * 2 + r, x * 2 + s]\n"
     "  return C\n}"},
    {"matrix_vector",
     "te k(A: f32[16, 70], x: f32[70]) {\n"
     "  y[i in 16] = sum(k in 70) A[i, k] * x[k]\n  return y\n}"},
    {"softmax",
     "te k(X: f32[9, 33]) {\n"
     "  M[i in 9] = max(k in 33) X[i, k]\n  E[i in 9, j in 33] = exp(X[i, j] - M[i])\n"
     "  S[i in 9] = sum(k in 33) E[i, k]\n  R[i in 9, j in 33] = E[i, j] / S[i]\n  return R\n}"},
    {"attention",
     "te k(Q: f32[2, 16, 8], K: f32[2, 17, 8], V: f32[2, 17, 8]) {\n"
     "  S[h in 2, s in 16, t in 17] = sum(d in 8) Q[h, s, d] * K[h, t, d]\n"
     "  M[h in 2, s in 16] = max(t in 17) S[h, s, t]\n"
     "  E[h in 2, s in 16, t in 17] = exp(S[h, s, t] - M[h, s])\n"
     "  Z[h in 2, s in 16] = sum(t in 17) E[h, s, t]\n"
     "  P[h in 2, s in 16, t in 17] = E[h, s, t] / Z[h, s]\n"
     "  O[h in 2, s in 16, d in 8] = sum(t in 17) P[h, s, t] * V[h, t, d]\n  return O\n}"},
    {"recurrence",  // the steps want their products with a dimension of 1
     "te k(X: f32[5, 6], W: f32[6, 12], h0: f32[1, 12]) {\n"
     "  P[t in 5, b in 1, j in 12] = sum(k in 6) X[t, k] * W[k, j]\n"
     "  h = scan(t in 5, prev = h0) {\n"
     "    next[b in 1, j in 12] = max(P[t, b, j] - prev[b, j] * 0.5, 0.0)\n"
     "    yield next\n  }\n  return h\n}"},
    {"transpose", "te k(A: f32[24, 40]) {\n  B[i in 40, j in 24] = A[j, i]\n  return B\n}"},
    {"two_products",
     "te k(A: f32[9, 8], B: f32[8, 17], C: f32[17, 20]) {\n"
     "  D[y in 9, x in 17] = sum(k in 8) A[y, k] * B[k, x]\n"
     "  E[y in 9, x in 17] = max(D[y, x], 0.0)\n"
     "  F[y in 9, x in 20] = sum(k in 17) E[y, k] * C[k, x]\n  return F\n}"},
};

}  // namespace tilewright::tune
