// SPDX-License-Identifier: Apache-2.0
// The wire format of protobuf, read where it lies: a message is a row of fields, each a number, a
// wire type and a value. Messages inside of messages are length-delimited fields again.
//   for (Wire in = …; in.next();)
//     switch (in.field()) {
//       case 1: out.name = in.text(); break;       // refused when the field is no string
//       case 7: read(in.message(), out.graph); break;
//     }                                            // a field that nobody takes is skipped
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/bytes.h"

namespace tilewright::frontend::onnx {

/// Messages nest at most this deep: the limit of protobuf's own readers.
constexpr int kMaxDepth = 100;

class Wire {
 public:
  /// A whole file.
  explicit Wire(Bytes file) : Wire(file.data(), file, 0) {}

  /// Goes on to the next field; false at the end of the message.
  bool next();
  uint32_t field() const { return field_; }

  // The value of the field. Each refuses a field of another wire type.
  int64_t integer() const;  // int32, int64, uint64, bool, enum
  float f32() const;
  std::string_view text() const;
  Bytes bytes() const;
  Wire message() const;
  /// Elements of a repeated field of numbers: packed, or a single one. Both have the same bytes.
  Bytes varints() const { return elements(kVarint); }
  Bytes fixed32() const { return elements(kFixed32); }
  Bytes fixed64() const { return elements(kFixed64); }

  /// An Error with the code, naming the place in the file.
  [[noreturn]] void refuse(std::string_view code, const std::string& fact) const;

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kGroup = 3, kFixed32 = 5 };

  Wire(const std::byte* file, Bytes rest, int depth) : file_(file), rest_(rest), depth_(depth) {}
  void expect(Type type) const;
  Bytes elements(Type type) const;
  Bytes take(size_t count);

  const std::byte* file_;
  Bytes rest_;
  int depth_;
  uint32_t field_ = 0;
  Type type_ = kVarint;
  uint64_t number_ = 0;  // of a varint
  Bytes payload_;        // of all others; of a varint the bytes it was written as
};

/// The next varint of a row of them, which gets shorter; false when it is cut off or too long.
bool take_varint(Bytes& from, uint64_t& value);

}  // namespace tilewright::frontend::onnx
