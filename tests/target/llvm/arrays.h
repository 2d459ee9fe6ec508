// SPDX-License-Identifier: Apache-2.0
// Arrays of any element type, in the form a kernel sees, and the values worth testing.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "ir/scalar.h"

namespace tilewright::target::llvm {

/// Integers are kept as i64, floats as double; memory holds their bits.
class Array {
 public:
  Array(ir::Elem elem, int64_t n)
      : elem_(elem), n_(n), bytes_(static_cast<size_t>((n * ir::bits(elem) + 7) / 8 + 64), 0xee) {}

  void* data() { return bytes_.data(); }
  int64_t size() const { return n_; }
  ir::Elem elem() const { return elem_; }

  uint64_t bits_at(int64_t i) const {
    const int b = ir::bits(elem_);
    if (b < 8)
      return static_cast<uint64_t>(bytes_[static_cast<size_t>(i * b / 8)] >> (i * b % 8)) &
             ((1u << b) - 1);
    uint64_t v = 0;
    std::memcpy(&v, &bytes_[static_cast<size_t>(i * b / 8)], static_cast<size_t>(b / 8));
    return v;
  }
  void set_bits(int64_t i, uint64_t v) {
    const int b = ir::bits(elem_);
    if (b < 8) {
      uint8_t& byte = bytes_[static_cast<size_t>(i * b / 8)];
      const int shift = static_cast<int>(i * b % 8);
      const unsigned ones = ((1u << b) - 1) << shift;
      byte = static_cast<uint8_t>((byte & ~ones) | (static_cast<unsigned>(v) << shift & ones));
    } else {
      std::memcpy(&bytes_[static_cast<size_t>(i * b / 8)], &v, static_cast<size_t>(b / 8));
    }
  }
  int64_t int_at(int64_t i) const { return ir::wrap_int(elem_, static_cast<int64_t>(bits_at(i))); }
  double float_at(int64_t i) const { return ir::float_from_bits(elem_, bits_at(i)); }
  void set_int(int64_t i, int64_t v) { set_bits(i, static_cast<uint64_t>(v)); }
  void set_float(int64_t i, double v) { set_bits(i, ir::float_to_bits(elem_, v)); }

 private:
  ir::Elem elem_;
  int64_t n_;
  std::vector<uint8_t> bytes_;
};

/// The same number: NaN equals NaN, +0 differs from -0.
inline bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

inline std::vector<int64_t> int_edges(ir::Elem e) {
  if (e == ir::Elem::Bool) return {0, 1};
  std::vector<int64_t> v;
  const auto hi = static_cast<int64_t>(ir::int_max(e));
  for (const int64_t x : {ir::int_min(e), hi, hi - 1, int64_t{0}, int64_t{1}, int64_t{-1},
                          int64_t{2}, int64_t{-2}, int64_t{3}, int64_t{7}, int64_t{-7}, int64_t{31},
                          int64_t{32}, int64_t{63}, int64_t{64}, int64_t{100}, int64_t{-100}})
    v.push_back(ir::wrap_int(e, x));
  return v;
}

inline std::vector<double> float_edges(ir::Elem e) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> v;
  for (const double x :
       {0.0,          1.0,          0.5,     1.5,     2.5,    3.5,          0.75,
        2.0,          3.0,          127.0,   128.5,   255.0,  256.0,        448.0,
        464.0,        65504.0,      65519.0, 65520.0, 1e5,    2147483520.0, 2147483647.0,
        2147483648.0, 4294967295.0, 1e18,    9.3e18,  1.9e19, 1e30,         3.4e38,
        1.5e308,      1e-3,         1e-5,    6e-8,    1e-7,   1e-10,        1e-38,
        1e-40,        1e-45,        1e-300,  5e-324,  0.1,    1.0 / 3,      inf})
    for (const double s : {x, -x}) v.push_back(ir::round_to(e, s));
  v.push_back(std::numeric_limits<double>::quiet_NaN());
  return v;
}

/// Any bits of the type; about one in eight floats is small, so that sums and products stay finite.
inline uint64_t random_bits(ir::Elem e, std::mt19937_64& gen) {
  const uint64_t r = gen();
  if (ir::is_float(e) && gen() % 8 == 0)
    return ir::float_to_bits(e, static_cast<double>(static_cast<int64_t>(r % 2001) - 1000) / 16);
  const int b = ir::bits(e);
  return e == ir::Elem::Bool ? r & 1 : b == 64 ? r : r & ((uint64_t{1} << b) - 1);
}

/// All pairs of edge values, then random ones, up to a multiple of 64.
inline void fill_pairs(Array& a, Array& b, uint64_t seed) {
  std::mt19937_64 gen(seed);
  const auto edges = [](const Array& x) {
    std::vector<uint64_t> bits;
    if (ir::is_float(x.elem()))
      for (const double v : float_edges(x.elem())) bits.push_back(ir::float_to_bits(x.elem(), v));
    else
      for (const int64_t v : int_edges(x.elem())) bits.push_back(static_cast<uint64_t>(v));
    return bits;
  };
  const std::vector<uint64_t> ea = edges(a), eb = edges(b);
  for (int64_t i = 0; i < a.size(); ++i) {
    const auto n = static_cast<size_t>(i);
    if (n < ea.size() * eb.size()) {
      a.set_bits(i, ea[n / eb.size()]);
      b.set_bits(i, eb[n % eb.size()]);
    } else {
      a.set_bits(i, random_bits(a.elem(), gen));
      b.set_bits(i, random_bits(b.elem(), gen));
    }
  }
}

}  // namespace tilewright::target::llvm
