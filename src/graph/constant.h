// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/type.h"

namespace tilewright::graph {

/// A tensor known at compile time. Its bytes are row-major, little-endian, sub-byte types packed
/// as the loop IR packs them; they may lie at any address of a mapped file that `owner` keeps.
struct ConstantNode {
  ir::Elem elem = ir::Elem::F32;
  bool is_strings = false;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  std::vector<std::string> strings;
  std::shared_ptr<const void> owner;

  int64_t count() const;
  TensorType type() const;
};
using Constant = ir::Handle<ConstantNode>;

/// Takes the bytes over.
Constant make_constant(ir::Elem elem, std::vector<int64_t> shape, std::vector<std::byte> bytes);
/// Views the bytes, which `owner` keeps alive.
Constant view_constant(ir::Elem elem, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner);
Constant string_constant(std::vector<int64_t> shape, std::vector<std::string> strings);
/// Integers of any integer type or bool, of the given shape.
Constant int_constant(ir::Elem elem, std::vector<int64_t> shape,
                      const std::vector<int64_t>& values);
/// Floats of any float type, rounded to it.
Constant float_constant(ir::Elem elem, std::vector<int64_t> shape,
                        const std::vector<double>& values);

/// Bytes that `count` elements take, sub-byte types packed.
int64_t byte_size(ir::Elem elem, int64_t count);
/// Element i of an integer or bool tensor.
int64_t int_at(const ConstantNode& constant, int64_t i);
std::vector<int64_t> ints_of(const ConstantNode& constant);
/// Element i of a tensor of numbers, as f64.
double number_at(const ConstantNode& constant, int64_t i);
std::vector<double> numbers_of(const ConstantNode& constant);
/// The number that all elements are; nothing when they differ, or are no numbers.
std::optional<double> uniform(const ConstantNode& constant);

}  // namespace tilewright::graph
