// SPDX-License-Identifier: Apache-2.0
// What the machine could do at best with a kernel's reads, writes and arithmetic. The roof of a
// kernel is the slower of two times, taken in the same rounds as its own:
//
//   bytes   the best of eight loops (unrolled 1, 2, 4 or 8 times, with prefetch or without) that
//           read and write what the kernel does, in the same passes over each row, and compute
//           nothing;
//   FMAs    the multiplications and FMAs of the formula, at the rate of a loop of FMAs on
//           registers. Additions, comparisons, clamps, roundings and the placing of an exponent are
//           not counted, though they too take time on most machines.
#pragma once

#include <array>
#include <cstdint>

namespace bench {

/// How many rows kernels over rows take at a time.
inline constexpr int kRowTile = 4;

/// The arrays of a kernel over rows: `in` and `out` are matrices.
struct Arrays {
  const float* in = nullptr;
  float* out = nullptr;
  float* part = nullptr;                           // kRowTile rows, made and read within one tile
  const float *scale = nullptr, *shift = nullptr;  // one row, read once for each tile
  int64_t rows = 0;
  int64_t cols = 0;  // a multiple of eight vectors
};

enum class Traffic : uint8_t {
  Read,       // in                                GEMV: the matrix
  Copy,       // in -> out                         GELU, exp
  Softmax,    // in; in -> part; part -> out
  LayerNorm,  // in; in; in, scale, shift -> out
};

struct Variant {
  int unroll;
  bool prefetch;
  void (*run)(const Arrays&);
};
std::array<Variant, 8> variants(Traffic traffic);

// Multiplications and FMAs for each element, counted in src/target/llvm/math and bench/lib.
//   exp         1 for n = x / ln2, 2 for r = x - n ln2, 6 for 1 + r (1 + r q(r)), q of degree 4
//   erf         10 for h(x), 1 for n, 1 for r, 6 for 1 - e^-r, 1 for the result
//   GELU        erf; x / √2, x / 2, and one FMA of the two
//   softmax     exp; e times 1/s
//   layer norm  the square; times 1/σ, times scale plus shift
inline constexpr int kExpFmas = 9;
inline constexpr int kErfFmas = 19;
inline constexpr int kGeluFmas = kErfFmas + 3;
inline constexpr int kSoftmaxFmas = kExpFmas + 1;
inline constexpr int kLayerNormFmas = 3;

}  // namespace bench
