// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/wire.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "frontend/onnx/encode.h"

namespace tilewright::frontend::onnx {
namespace {

std::string_view code_of(std::string bytes, int messages = 0) {
  return diagnostic_of([&] {
           Wire in(as_bytes(bytes));
           for (int i = 0; i < messages; ++i) {
             in.next();
             in = in.message();
           }
           while (in.next()) {
           }
         })
      .code;
}

TEST(Wire, reads_every_wire_type) {
  Message m;
  m.number(1, -5).f32(2, 1.5f).text(3, "abc").numbers(4, {1, 300, -1});
  m.varint(5 << 3 | 1);
  m.bytes += "12345678";
  Wire in(as_bytes(m.bytes));
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in.field(), 1u);
  EXPECT_EQ(in.integer(), -5);
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in.f32(), 1.5f);
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in.text(), "abc");
  ASSERT_TRUE(in.next());
  Bytes packed = in.varints();
  std::vector<int64_t> numbers;
  for (uint64_t v; !packed.empty() && take_varint(packed, v);)
    numbers.push_back(static_cast<int64_t>(v));
  EXPECT_EQ(numbers, (std::vector<int64_t>{1, 300, -1}));
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in.fixed64().size(), 8u);
  EXPECT_FALSE(in.next());
}

TEST(Wire, gives_single_elements_as_packed_ones) {
  Message m;
  m.number(1, 300).f32(2, 2);
  Wire in(as_bytes(m.bytes));
  in.next();
  EXPECT_EQ(in.varints().size(), 2u);
  in.next();
  EXPECT_EQ(in.fixed32().size(), 4u);
}

TEST(Wire, refuses_what_is_no_message) {
  EXPECT_EQ(code_of("\x0a\x05xyz"), "frontend.onnx.truncated");
  EXPECT_EQ(code_of("\x0d\x01\x02"), "frontend.onnx.truncated");
  EXPECT_EQ(code_of("\x08"), "frontend.onnx.varint");
  EXPECT_EQ(code_of("\x08" + std::string(10, '\xff')), "frontend.onnx.varint");
  EXPECT_EQ(code_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "frontend.onnx.varint");
  EXPECT_EQ(code_of(std::string("\x00\x01", 2)), "frontend.onnx.tag");
  EXPECT_EQ(code_of("\x0c"), "frontend.onnx.tag");
  EXPECT_EQ(code_of("\x0f\x01"), "frontend.onnx.tag");
  EXPECT_EQ(code_of("\x0b\x08\x01\x0c"), "frontend.onnx.group");
  // A length near 2^64 must not wrap around.
  EXPECT_EQ(code_of("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01zz"), "frontend.onnx.truncated");
}

TEST(Wire, refuses_a_field_of_another_type_with_its_place) {
  const Message m = Message().text(1, "abc").number(2, 7);
  Wire in(as_bytes(m.bytes));
  in.next();
  in.next();
  const Diagnostic d = diagnostic_of([&] { in.text(); });
  EXPECT_EQ(d.code, "frontend.onnx.wire_type");
  EXPECT_NE(d.message.find("at byte 7"), std::string::npos) << d.message;
  EXPECT_EQ(diagnostic_of([&] { in.f32(); }).code, "frontend.onnx.wire_type");
  const Message packed = Message().text(1, "12345");
  Wire odd(as_bytes(packed.bytes));
  odd.next();
  EXPECT_EQ(diagnostic_of([&] { odd.fixed32(); }).code, "frontend.onnx.packed");
}

TEST(Wire, limits_how_deep_messages_nest) {
  Message m;
  for (int i = 0; i < kMaxDepth + 1; ++i) m = Message().message(1, m);
  EXPECT_EQ(code_of(m.bytes, kMaxDepth + 1), "frontend.onnx.depth");
  Wire in(as_bytes(m.bytes));
  for (int i = 0; i < kMaxDepth; ++i) {
    in.next();
    in = in.message();
  }
}

}  // namespace
}  // namespace tilewright::frontend::onnx
