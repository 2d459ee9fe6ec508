// SPDX-License-Identifier: Apache-2.0
#include "graph/constant.h"

#include <cstring>

#include "ir/interpret/array.h"
#include "ir/scalar.h"

namespace tilewright::graph {
namespace {

int64_t product(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t d : shape)
    require(!__builtin_mul_overflow(n, d, &n) && d >= 0, "a constant of impossible size");
  return n;
}

Constant make(ConstantNode node) {
  return Constant(std::make_shared<const ConstantNode>(std::move(node)));
}

/// The bits of element i.
uint64_t bits_at(const ConstantNode& c, int64_t i) {
  const int width = ir::bits(c.elem);
  if (width < 8) {
    const int64_t bit = i * width;
    const auto byte = std::to_integer<uint64_t>(c.bytes[static_cast<size_t>(bit / 8)]);
    return (byte >> (bit % 8)) & ((uint64_t{1} << width) - 1);
  }
  uint64_t bits = 0;
  const auto bytes = static_cast<size_t>(width / 8);
  std::memcpy(&bits, c.bytes.data() + static_cast<size_t>(i) * bytes, bytes);
  return bits;
}

}  // namespace

int64_t ConstantNode::count() const { return product(shape); }

TensorType ConstantNode::type() const {
  return {.elem = elem, .shape = dims(shape), .strings = is_strings};
}

int64_t byte_size(ir::Elem elem, int64_t count) {
  int64_t bits = 0;
  require(!__builtin_mul_overflow(count, int64_t{ir::bits(elem)}, &bits), "a tensor too large");
  return bits / 8 + (bits % 8 != 0);
}

Constant view_constant(ir::Elem elem, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner) {
  require(static_cast<int64_t>(bytes.size()) == byte_size(elem, product(shape)),
          "a constant with another number of bytes than its shape says");
  return make({.elem = elem,
               .shape = std::move(shape),
               .bytes = bytes,
               .strings = {},
               .owner = std::move(owner)});
}

Constant make_constant(ir::Elem elem, std::vector<int64_t> shape, std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return view_constant(elem, std::move(shape), *owner, owner);
}

Constant string_constant(std::vector<int64_t> shape, std::vector<std::string> strings) {
  require(static_cast<int64_t>(strings.size()) == product(shape), "as many strings as elements");
  return make({.is_strings = true,
               .shape = std::move(shape),
               .bytes = {},
               .strings = std::move(strings),
               .owner = nullptr});
}

Constant int_constant(ir::Elem elem, std::vector<int64_t> shape,
                      const std::vector<int64_t>& values) {
  std::vector<std::byte> bytes = ir::to_bytes(ir::array_of_ints(elem, shape, values));
  return make_constant(elem, std::move(shape), std::move(bytes));
}

Constant float_constant(ir::Elem elem, std::vector<int64_t> shape,
                        const std::vector<double>& values) {
  std::vector<std::byte> bytes = ir::to_bytes(ir::array_of(elem, shape, values));
  return make_constant(elem, std::move(shape), std::move(bytes));
}

int64_t int_at(const ConstantNode& c, int64_t i) {
  return ir::wrap_int(c.elem, static_cast<int64_t>(bits_at(c, i)));
}

std::vector<int64_t> ints_of(const ConstantNode& c) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < c.count(); ++i) out.push_back(int_at(c, i));
  return out;
}

double number_at(const ConstantNode& c, int64_t i) {
  if (ir::is_float(c.elem)) return ir::float_from_bits(c.elem, bits_at(c, i));
  const int64_t v = int_at(c, i);
  return c.elem == ir::Elem::U64 ? static_cast<double>(static_cast<uint64_t>(v))
                                 : static_cast<double>(v);
}

std::vector<double> numbers_of(const ConstantNode& c) {
  std::vector<double> out;
  for (int64_t i = 0; i < c.count(); ++i) out.push_back(number_at(c, i));
  return out;
}

std::optional<double> uniform(const ConstantNode& c) {
  if (c.is_strings || c.count() == 0) return std::nullopt;
  const size_t bytes = static_cast<size_t>(ir::bits(c.elem)) / 8;
  if (bytes == 0 && c.count() > 1) return std::nullopt;  // packed: nobody asks
  // Whether the bytes repeat.
  if (c.count() > 1 &&
      std::memcmp(c.bytes.data(), c.bytes.data() + bytes, c.bytes.size() - bytes) != 0)
    return std::nullopt;
  return number_at(c, 0);
}

}  // namespace tilewright::graph
