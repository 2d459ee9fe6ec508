// SPDX-License-Identifier: Apache-2.0
// What an operator that runs outside of kernels is written against: strings, sequences, optionals,
// images, random state. One file for each family; all.cpp lists the families.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "module/elem.h"
#include "runtime/value.h"
#include "tilewright/runtime.h"

namespace tilewright::runtime {

class Context;

/// A tensor or a tensor of strings, seen.
struct ArrayView {
  ValueType type;
  std::span<const int64_t> dims;
  const void* data = nullptr;
  int64_t bytes = 0;

  int64_t count() const { return element_count(dims); }
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data), static_cast<size_t>(count())};
  }
  std::string_view string(int64_t i) const { return PackedStrings::at(data, count(), i); }
};

/// Takes the strings of a tensor one after the other.
class StringsWriter {
 public:
  StringsWriter() = default;
  StringsWriter(void* data, int64_t count)
      : offsets_(static_cast<uint64_t*>(data)),
        characters_(reinterpret_cast<char*>(offsets_ + count + 1)) {
    offsets_[0] = 0;
  }
  /// The text with `more` behind it; gives where its characters stand.
  std::span<char> add(std::string_view text, std::string_view more = {});
  explicit operator bool() const { return offsets_ != nullptr; }

 private:
  uint64_t* offsets_ = nullptr;
  char* characters_ = nullptr;
  int64_t next_ = 0;
};

/// One call of a host operator: its operands, attributes, and the places for its results. Operators
/// are handed checked memory, but any number and type of operands.
class HostCall {
 public:
  HostCall(Context& context, const uint32_t* words) : context_(context), words_(words) {}

  const char* name() const;
  uint32_t inputs() const;
  uint32_t outputs() const;
  bool has_input(uint32_t i) const;
  bool has_output(uint32_t i) const;
  ValueType input_type(uint32_t i) const;
  ValueType output_type(uint32_t i) const;

  /// Did the plan give an input of this kind? If not, the call has failed and the text says so.
  bool need_array(uint32_t i);
  bool need_container(uint32_t i);
  ArrayView array(uint32_t i) const;
  const Value& container(uint32_t i) const;
  /// The first element of an integer tensor.
  bool integer(uint32_t i, int64_t& value);
  /// An input as a value of its own, one reference: shared where its memory is counted, else
  /// copied. nullptr: the call has failed.
  Value* keep(uint32_t i);

  int64_t attribute(std::string_view name, int64_t otherwise) const;
  double attribute(std::string_view name, double otherwise) const;
  std::string_view attribute(std::string_view name, std::string_view otherwise) const;
  /// Lists: how many (0 when it is not given), and element i.
  uint32_t attribute_count(std::string_view name) const;
  int64_t integer_attribute(std::string_view name, uint32_t i) const;
  double float_attribute(std::string_view name, uint32_t i) const;
  std::string_view string_attribute(std::string_view name, uint32_t i) const;

  /// Memory for output i with this shape; nullptr: the call has failed.
  void* output(uint32_t i, std::span<const int64_t> dims);
  /// The same for strings of so many characters in all.
  StringsWriter output_strings(uint32_t i, std::span<const int64_t> dims, int64_t characters);
  /// Output i becomes this value, whose reference is taken over. Tensors, strings and containers.
  tw_status output(uint32_t i, Value* value);

  BlockPool& pool();
  /// Ends the run with this text; the operator's name comes before it.
  [[gnu::format(printf, 2, 3)]] tw_status fail(const char* format, ...);
  [[gnu::format(printf, 3, 4)]] tw_status fail(tw_status status, const char* format, ...);
  /// What the failed part of the call said.
  tw_status status() const { return status_; }

 private:
  const uint32_t* find(std::string_view name, uint32_t kind) const;

  Context& context_;
  const uint32_t* words_;  // the instruction
  tw_status status_ = TW_OK;
};

struct HostOp {
  const char* name;
  tw_status (*run)(HostCall& call);
};

/// nullptr when there is none of this name.
const HostOp* find_host_op(std::string_view name);

// The families.
std::span<const HostOp> sequence_ops();
std::span<const HostOp> optional_ops();
std::span<const HostOp> string_ops();
std::span<const HostOp> random_ops();
std::span<const HostOp> image_ops();

}  // namespace tilewright::runtime
