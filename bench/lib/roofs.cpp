// SPDX-License-Identifier: Apache-2.0
// Compiled for the very machine (CMakeLists.txt), so that the vectors are the widest it has.
#include "roofs.h"

namespace bench {
namespace {

#ifdef __AVX512F__
constexpr int kBytes = 64;
#else
constexpr int kBytes = 32;
#endif
typedef float Vec __attribute__((vector_size(kBytes)));
constexpr int64_t kLanes = kBytes / 4;
constexpr int64_t kAhead = 256;  // floats from an element to the one prefetched with it

enum : unsigned { kNone = 0, kIn = 1, kPart = 2, kOut = 4 };

/// Reads one vector of `Read`, and in the first row of a tile `RowReads` beside; writes one of
/// `Write`.
template <unsigned Read, unsigned Write, int RowReads = 0>
struct Pass {
  static constexpr unsigned read = Read, write = Write;
  static constexpr int row_reads = RowReads;
};

inline Vec load(const float* p) {
  Vec v = *reinterpret_cast<const Vec*>(p);
  __asm__ volatile("" : "+v"(v));  // must happen here, whether used or not
  return v;
}

template <class P, int Unroll, bool Prefetch, int RowReads>
inline void row_pass(const Arrays& a, const float* in, float* part, float* out) {
  for (int64_t i = 0; i < a.cols; i += Unroll * kLanes) {
#pragma GCC unroll 8
    for (int64_t at = i; at < i + Unroll * kLanes; at += kLanes) {
      const Vec v = load((P::read == kIn ? in : part) + at);
      if (RowReads > 0) load(a.scale + at);
      if (RowReads > 1) load(a.shift + at);
      if (P::write == kPart) *reinterpret_cast<Vec*>(part + at) = v;
      if (P::write == kOut) *reinterpret_cast<Vec*>(out + at) = v;
      if (Prefetch && P::read == kIn) __builtin_prefetch(in + at + kAhead);
      if (Prefetch && P::write == kOut) __builtin_prefetch(out + at + kAhead, 1);
    }
  }
}

template <class P, int Unroll, bool Prefetch>
inline void pass(const Arrays& a, int64_t row) {
  for (int64_t r = 0; r < kRowTile && row + r < a.rows; ++r) {
    const float* in = a.in + (row + r) * a.cols;
    float *part = a.part + r * a.cols, *out = a.out + (row + r) * a.cols;
    if (r == 0)
      row_pass<P, Unroll, Prefetch, P::row_reads>(a, in, part, out);
    else
      row_pass<P, Unroll, Prefetch, 0>(a, in, part, out);
  }
}

template <int Unroll, bool Prefetch, class... Passes>
void run(const Arrays& arrays) {
  const Arrays a = arrays;
  for (int64_t row = 0; row < a.rows; row += kRowTile)
    (pass<Passes, Unroll, Prefetch>(a, row), ...);
}

template <class... Passes>
std::array<Variant, 8> all() {
  return {{{1, false, run<1, false, Passes...>},
           {2, false, run<2, false, Passes...>},
           {4, false, run<4, false, Passes...>},
           {8, false, run<8, false, Passes...>},
           {1, true, run<1, true, Passes...>},
           {2, true, run<2, true, Passes...>},
           {4, true, run<4, true, Passes...>},
           {8, true, run<8, true, Passes...>}}};
}

}  // namespace

std::array<Variant, 8> variants(Traffic traffic) {
  switch (traffic) {
    case Traffic::Read: return all<Pass<kIn, kNone>>();
    case Traffic::Copy: return all<Pass<kIn, kOut>>();
    case Traffic::Softmax: return all<Pass<kIn, kNone>, Pass<kIn, kPart>, Pass<kPart, kOut>>();
    case Traffic::LayerNorm: return all<Pass<kIn, kNone>, Pass<kIn, kNone>, Pass<kIn, kOut, 2>>();
  }
  __builtin_unreachable();
}

}  // namespace bench
