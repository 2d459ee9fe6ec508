// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/wire.h"

#include <bit>
#include <cstring>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

bool take_varint(Bytes& from, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < from.size() && i < 10; ++i) {
    const uint64_t byte = std::to_integer<uint64_t>(from[i]);
    if (i == 9 && byte > 1) return false;  // more than 64 bits
    value |= (byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      from = from.subspan(i + 1);
      return true;
    }
  }
  return false;
}

void Wire::refuse(std::string_view code, const std::string& fact) const {
  throw Error({.code = code,
               .at = {},
               .message = str("not an ONNX model: ", fact, " at byte ", rest_.data() - file_),
               .notes = {},
               .help = "the file may be cut off or damaged, or of another format: export or "
                       "download the model again"});
}

Bytes Wire::take(size_t count) {
  if (count > rest_.size())
    refuse("frontend.onnx.truncated",
           str("a field of ", count, " bytes where ", rest_.size(), " are left"));
  const Bytes taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

bool Wire::next() {
  if (rest_.empty()) return false;
  const auto varint = [&](const char* what) {
    uint64_t value = 0;
    if (!take_varint(rest_, value))
      refuse("frontend.onnx.varint", str("the ", what, " is cut off or longer than 64 bits"));
    return value;
  };
  const uint64_t tag = varint("number of a field");
  const uint64_t type = tag & 7;
  if (tag >> 3 == 0 || tag >> 32 != 0 || type > kFixed32 || type == 4)
    refuse("frontend.onnx.tag", str("no field starts with the tag ", tag));
  if (type == kGroup) refuse("frontend.onnx.group", "a group, which no ONNX model holds,");
  field_ = static_cast<uint32_t>(tag >> 3);
  type_ = static_cast<Type>(type);
  switch (type_) {
    case kVarint: {
      const Bytes before = rest_;
      number_ = varint("value of a field");
      payload_ = before.first(before.size() - rest_.size());
      break;
    }
    case kFixed64: payload_ = take(8); break;
    case kFixed32: payload_ = take(4); break;
    case kDelimited: payload_ = take(varint("length of a field")); break;
    case kGroup: break;
  }
  return true;
}

void Wire::expect(Type type) const {
  if (type_ != type)
    refuse("frontend.onnx.wire_type",
           str("field ", field_, " has wire type ", int{type_}, " instead of ", int{type}));
}

int64_t Wire::integer() const {
  expect(kVarint);
  return static_cast<int64_t>(number_);
}

float Wire::f32() const {
  expect(kFixed32);
  float value;
  std::memcpy(&value, payload_.data(), sizeof value);
  return value;
}

std::string_view Wire::text() const {
  expect(kDelimited);
  return {reinterpret_cast<const char*>(payload_.data()), payload_.size()};
}

Bytes Wire::bytes() const {
  expect(kDelimited);
  return payload_;
}

Wire Wire::message() const {
  expect(kDelimited);
  if (depth_ >= kMaxDepth)
    refuse("frontend.onnx.depth", str("messages nest deeper than ", kMaxDepth, " levels"));
  return {file_, payload_, depth_ + 1};
}

Bytes Wire::elements(Type type) const {
  if (type_ == type) return payload_;
  expect(kDelimited);
  if (type != kVarint && payload_.size() % (type == kFixed32 ? 4 : 8) != 0)
    refuse("frontend.onnx.packed", str("field ", field_, " has ", payload_.size(),
                                       " bytes, not a whole number of values,"));
  return payload_;
}

}  // namespace tilewright::frontend::onnx
