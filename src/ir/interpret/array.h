// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/type.h"

namespace tilewright::ir {

/// What float elements are: numbers rounded to their type, or elements of a field (README §6).
enum class Arithmetic : uint8_t { Ieee, Exact };

/// A tensor of the interpreter, row-major. A cell holds an integer or bool as the bits of an i64; a
/// float as the bits of a double that is exact in `elem`, or as a field element in exact mode.
struct Array {
  Elem elem{};
  std::vector<int64_t> shape;
  std::vector<uint64_t> cells;
  Arithmetic arithmetic = Arithmetic::Ieee;

  int64_t size() const { return static_cast<int64_t>(cells.size()); }
  /// Element i as a number; in exact mode a float's representative in 0 … 2^61 - 2.
  double as_double(int64_t i) const;
  int64_t as_int(int64_t i) const;
  /// Sets element i to the nearest value of the element type (integers saturate).
  void set(int64_t i, double value);
};

/// All zeros.
Array make_array(Elem elem, std::vector<int64_t> shape, Arithmetic arithmetic = Arithmetic::Ieee);
Array array_of(Elem elem, std::vector<int64_t> shape, const std::vector<double>& values,
               Arithmetic arithmetic = Arithmetic::Ieee);
/// Integers that a double would not hold; wrapped to `elem`.
Array array_of_ints(Elem elem, std::vector<int64_t> shape, const std::vector<int64_t>& values);
/// Floats between -2 and 2, integers between -8 and 8 as far as the type goes; exact mode: field
/// elements.
Array random_array(Elem elem, std::vector<int64_t> shape, uint64_t seed,
                   Arithmetic arithmetic = Arithmetic::Ieee);

/// Equal type, shape and elements; NaN equals NaN, 0 differs from -0.
bool same_bits(const Array& a, const Array& b);

/// The elements as they stand in memory: little end first, sub-byte elements packed, the last byte
/// filled up with zeros. IEEE mode only.
std::vector<std::byte> to_bytes(const Array& array);
Array from_bytes(Elem elem, std::vector<int64_t> shape, std::span<const std::byte> bytes);

}  // namespace tilewright::ir
