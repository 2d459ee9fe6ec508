// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/array.h"

#include <bit>

#include "ir/interpret/field.h"
#include "ir/interpret/random.h"
#include "ir/scalar.h"
#include "support/diagnostic.h"

namespace tilewright::ir {
namespace {

uint64_t cell_of(Elem elem, double value, Arithmetic arithmetic) {
  if (!is_float(elem)) return static_cast<uint64_t>(float_to_int(elem, value));
  if (arithmetic == Arithmetic::Exact) return field::from_double(value);
  return std::bit_cast<uint64_t>(round_to(elem, value));
}

bool is_nan_cell(const Array& a, uint64_t cell) {
  if (!is_float(a.elem) || a.arithmetic == Arithmetic::Exact) return false;
  const double v = std::bit_cast<double>(cell);
  return v != v;
}

uint64_t random_cell(Elem elem, Arithmetic arithmetic, Random& random) {
  if (elem == Elem::Bool) return random.below(2);
  if (!is_float(elem)) {
    const int64_t low = is_signed(elem) ? std::max<int64_t>(int_min(elem), -8) : 0;
    const auto high = static_cast<int64_t>(std::min<uint64_t>(int_max(elem), 8));
    return static_cast<uint64_t>(low) + random.below(static_cast<uint64_t>(high - low + 1));
  }
  if (arithmetic == Arithmetic::Exact) return random.below(field::kPrime);
  return std::bit_cast<uint64_t>(round_to(elem, random.unit() * 4 - 2));
}

}  // namespace

double Array::as_double(int64_t i) const {
  const uint64_t cell = cells[static_cast<size_t>(i)];
  if (!is_float(elem))
    return is_signed(elem) ? static_cast<double>(static_cast<int64_t>(cell))
                           : static_cast<double>(cell);
  return arithmetic == Arithmetic::Exact ? field::to_double(cell) : std::bit_cast<double>(cell);
}

int64_t Array::as_int(int64_t i) const {
  const uint64_t cell = cells[static_cast<size_t>(i)];
  if (!is_float(elem)) return static_cast<int64_t>(cell);
  return arithmetic == Arithmetic::Exact ? field::to_int(Elem::I64, cell)
                                         : float_to_int(Elem::I64, std::bit_cast<double>(cell));
}

void Array::set(int64_t i, double value) {
  cells[static_cast<size_t>(i)] = cell_of(elem, value, arithmetic);
}

Array make_array(Elem elem, std::vector<int64_t> shape, Arithmetic arithmetic) {
  size_t size = 1;
  for (const int64_t extent : shape) {
    require(extent >= 0, "make_array: a negative extent");
    require(!__builtin_mul_overflow(size, static_cast<size_t>(extent), &size),
            "make_array: too many elements");
  }
  Array a{elem, std::move(shape), {}, arithmetic};
  a.cells.assign(size, 0);  // 0 is the zero of integers, doubles and the field
  return a;
}

Array array_of(Elem elem, std::vector<int64_t> shape, const std::vector<double>& values,
               Arithmetic arithmetic) {
  Array a = make_array(elem, std::move(shape), arithmetic);
  require(a.cells.size() == values.size(), "array_of: the shape has another number of elements");
  for (size_t i = 0; i < values.size(); ++i) a.cells[i] = cell_of(elem, values[i], arithmetic);
  return a;
}

Array array_of_ints(Elem elem, std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  require(!is_float(elem), "array_of_ints: a float type");
  Array a = make_array(elem, std::move(shape));
  require(a.cells.size() == values.size(),
          "array_of_ints: the shape has another number of elements");
  for (size_t i = 0; i < values.size(); ++i)
    a.cells[i] = static_cast<uint64_t>(wrap_int(elem, values[i]));
  return a;
}

Array random_array(Elem elem, std::vector<int64_t> shape, uint64_t seed, Arithmetic arithmetic) {
  Array a = make_array(elem, std::move(shape), arithmetic);
  Random random(seed);
  for (uint64_t& cell : a.cells) cell = random_cell(elem, arithmetic, random);
  return a;
}

bool same_bits(const Array& a, const Array& b) {
  if (a.elem != b.elem || a.arithmetic != b.arithmetic || a.shape != b.shape ||
      a.cells.size() != b.cells.size())
    return false;
  for (size_t i = 0; i < a.cells.size(); ++i)
    if (a.cells[i] != b.cells[i] && !(is_nan_cell(a, a.cells[i]) && is_nan_cell(b, b.cells[i])))
      return false;
  return true;
}

std::vector<std::byte> to_bytes(const Array& array) {
  require(array.arithmetic == Arithmetic::Ieee, "to_bytes: field elements have no bytes");
  const auto width = static_cast<size_t>(bits(array.elem));
  std::vector<std::byte> bytes((array.cells.size() * width + 7) / 8);
  for (size_t i = 0; i < array.cells.size(); ++i) {
    uint64_t v = array.cells[i];
    if (is_float(array.elem)) v = float_to_bits(array.elem, std::bit_cast<double>(v));
    const size_t first = i * width;
    if (width < 8) {
      v &= (1u << width) - 1;
      bytes[first / 8] |= static_cast<std::byte>(v << (first % 8));
    } else {
      for (size_t k = 0; k < width / 8; ++k)
        bytes[first / 8 + k] = static_cast<std::byte>(v >> 8 * k);
    }
  }
  return bytes;
}

Array from_bytes(Elem elem, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  Array a = make_array(elem, std::move(shape));
  const auto width = static_cast<size_t>(bits(elem));
  require(bytes.size() == (a.cells.size() * width + 7) / 8, "from_bytes: another number of bytes");
  for (size_t i = 0; i < a.cells.size(); ++i) {
    const size_t first = i * width;
    uint64_t v = 0;
    if (width < 8)
      v = std::to_integer<uint64_t>(bytes[first / 8]) >> (first % 8);
    else
      for (size_t k = 0; k < width / 8; ++k)
        v |= std::to_integer<uint64_t>(bytes[first / 8 + k]) << 8 * k;
    a.cells[i] = is_float(elem) ? std::bit_cast<uint64_t>(float_from_bits(elem, v))
                                : static_cast<uint64_t>(wrap_int(elem, static_cast<int64_t>(v)));
  }
  return a;
}

}  // namespace tilewright::ir
