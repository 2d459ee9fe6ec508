// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tensor.h"

#include <bit>
#include <fstream>
#include <gtest/gtest.h>

#include "common/errors.h"
#include "frontend/onnx/encode.h"

namespace tilewright::frontend::onnx {
namespace {

using graph::Constant;
using ir::Elem;

/// A model of tensors only, kept alive.
struct File {
  explicit File(const GraphParts& parts, const std::filesystem::path& folder = {})
      : bytes(std::make_shared<const std::string>(model(parts).bytes)),
        proto(read_model_proto(as_bytes(*bytes))),
        tensors(as_bytes(*bytes), bytes, {.dims = {}, .folder = folder, .on_file = {}}) {}

  Constant dense() { return tensors.constant(proto.graph->initializer.at(0), "tensor `t`"); }
  Constant sparse() {
    return tensors.constant(proto.graph->sparse_initializer.at(0), "tensor `t`");
  }

  std::shared_ptr<const std::string> bytes;
  ModelProto proto;
  Tensors tensors;
};

Constant decode(Message tensor) {
  return File({.initializers = {tensor.text(8, "t")}}).dense();  // initialisers have names
}
/// The code of the error, which names the tensor.
std::string_view code_of(const Message& tensor) {
  const Diagnostic d = diagnostic_of([&] { decode(tensor); });
  EXPECT_NE(d.message.find("tensor `t`"), std::string::npos) << d.message;
  return d.code;
}

/// A tensor whose numbers stand in the typed field of this number.
Message typed(int elem, uint32_t field, const std::vector<int64_t>& values, int64_t count) {
  return Message().number(1, count).number(2, elem).numbers(field, values);
}

TEST(Tensor, decodes_every_typed_field) {
  const auto ints = [](const Constant& c) { return graph::ints_of(*c); };
  const auto numbers = [](const Constant& c) { return graph::numbers_of(*c); };
  using Ints = std::vector<int64_t>;
  using Numbers = std::vector<double>;
  EXPECT_EQ(numbers(decode(tensor("t", {2}, {1.5f, -2}))), (Numbers{1.5, -2}));
  EXPECT_EQ(ints(decode(typed(2, 5, {0, 255}, 2))), (Ints{0, 255}));
  EXPECT_EQ(ints(decode(typed(3, 5, {-128, 127}, 2))), (Ints{-128, 127}));
  EXPECT_EQ(ints(decode(typed(4, 5, {65535}, 1))), Ints{65535});
  EXPECT_EQ(ints(decode(typed(5, 5, {-5}, 1))), Ints{-5});
  EXPECT_EQ(ints(decode(typed(6, 5, {-70000}, 1))), Ints{-70000});
  EXPECT_EQ(ints(decode(typed(7, 7, {INT64_MIN, INT64_MAX}, 2))), (Ints{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(ints(decode(typed(9, 5, {1, 0}, 2))), (Ints{1, 0}));
  EXPECT_EQ(numbers(decode(typed(10, 5, {0x3e00, 0xc000}, 2))), (Numbers{1.5, -2}));
  EXPECT_EQ(ints(decode(typed(12, 11, {4294967295}, 1))), Ints{4294967295});
  EXPECT_EQ(numbers(decode(typed(13, 11, {-1}, 1))), Numbers{18446744073709551615.0});
  EXPECT_EQ(numbers(decode(typed(16, 5, {0xbfc0}, 1))), Numbers{-1.5});
  EXPECT_EQ(numbers(decode(typed(17, 5, {0x38}, 1))), Numbers{1});
  EXPECT_EQ(numbers(decode(typed(19, 5, {0x3c}, 1))), Numbers{1});
  // Two and four to a byte, the first in the low bits.
  EXPECT_EQ(ints(decode(typed(21, 5, {0xf1, 0x02}, 3))), (Ints{1, 15, 2}));
  EXPECT_EQ(ints(decode(typed(22, 5, {0xf1, 0x02}, 3))), (Ints{1, -1, 2}));
  EXPECT_EQ(ints(decode(typed(25, 5, {0xe4}, 4))), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(ints(decode(typed(26, 5, {0xe4}, 4))), (Ints{0, 1, -2, -1}));
  Message doubles = Message().number(1, 1).number(2, 11);
  const double value = 0.1;
  doubles.text(10, {reinterpret_cast<const char*>(&value), 8});
  EXPECT_EQ(numbers(decode(doubles)), Numbers{0.1});
  const Constant texts =
      decode(Message().number(1, 2).number(2, 8).text(6, "a").text(6, std::string("b\0c", 3)));
  EXPECT_EQ(texts->strings, (std::vector<std::string>{"a", std::string("b\0c", 3)}));
}

TEST(Tensor, views_raw_data_and_packed_floats_in_the_file) {
  const std::string eight = "\x01\x02\x03\x04\x05\x06\x07\x08";
  for (const Message& t : {raw_tensor("t", {2}, 1, eight), raw_tensor("odd", {2}, 1, eight),
                           Message().number(1, 2).number(2, 1).text(4, eight)}) {
    File file({.initializers = {Message(t).text(8, "t")}});
    const Constant c = file.dense();
    const Bytes all = as_bytes(*file.bytes);
    EXPECT_GE(c->bytes.data(), all.data());
    EXPECT_LT(c->bytes.data(), all.data() + all.size());
    EXPECT_EQ(std::to_integer<int>(c->bytes[7]), 8);
    EXPECT_EQ(c->owner, std::shared_ptr<const void>(file.bytes));
  }
}

TEST(Tensor, decodes_once) {
  File file({.initializers = {tensor("t", {1}, {1})}});
  EXPECT_EQ(file.dense(), file.dense());
}

TEST(Tensor, has_no_data_when_it_is_empty) {
  EXPECT_EQ(decode(raw_tensor("t", {0, 3}, 1, ""))->count(), 0);
  EXPECT_EQ(decode(tensor("t", {3, 0}, {}))->count(), 0);
}

TEST(Tensor, refuses_damaged_ones) {
  EXPECT_EQ(code_of(raw_tensor("t", {2}, 1, "1234")), "frontend.onnx.tensor_data");
  EXPECT_EQ(code_of(tensor("t", {2}, {1})), "frontend.onnx.tensor_data");
  EXPECT_EQ(code_of(typed(2, 5, {256}, 1)), "frontend.onnx.tensor_data");
  EXPECT_EQ(code_of(typed(3, 5, {-129}, 1)), "frontend.onnx.tensor_data");
  EXPECT_EQ(code_of(typed(10, 5, {65536}, 1)), "frontend.onnx.tensor_data");
  EXPECT_EQ(code_of(typed(21, 5, {1}, 3)), "frontend.onnx.tensor_data");
  EXPECT_EQ(code_of(Message().number(1, 1).number(2, 6).text(5, "\xff")),
            "frontend.onnx.tensor_data");
  EXPECT_EQ(code_of(raw_tensor("t", {1}, 9, "\x02")), "frontend.tensor.bool");
  EXPECT_EQ(code_of(raw_tensor("t", {-1}, 1, "")), "frontend.tensor.dim");
  EXPECT_EQ(code_of(raw_tensor("t", {int64_t{1} << 32, int64_t{1} << 32}, 1, "")),
            "frontend.tensor.size");
  EXPECT_EQ(code_of(raw_tensor("t", std::vector<int64_t>(33, 1), 1, "1234")),
            "frontend.tensor.rank");
  EXPECT_EQ(code_of(raw_tensor("t", {1}, 99, "1234")), "frontend.onnx.tensor_elem");
  EXPECT_EQ(code_of(tensor("t", {1}, {1}).message(3, Message())), "frontend.onnx.tensor_data");
  const Diagnostic d = diagnostic_of([] { decode(raw_tensor("t", {1}, 14, "12345678")); });
  EXPECT_NE(d.message.find("complex64"), std::string::npos) << d.message;
}

Message sparse(const std::vector<float>& values, const std::vector<int64_t>& index_dims,
               const std::vector<int64_t>& indices, const std::vector<int64_t>& dims) {
  Message places;
  for (const int64_t d : index_dims) places.number(1, d);
  places.number(2, 7).numbers(7, indices);
  Message out;
  out.message(1, tensor("t", {static_cast<int64_t>(values.size())}, values)).message(2, places);
  for (const int64_t d : dims) out.number(3, d);
  return out;
}

TEST(SparseTensor, becomes_dense) {
  const auto dense = [](const Message& m) {
    return graph::numbers_of(*File({.sparse = {m}}).sparse());
  };
  EXPECT_EQ(dense(sparse({7, 8}, {2}, {1, 3}, {5})), (std::vector<double>{0, 7, 0, 8, 0}));
  EXPECT_EQ(dense(sparse({7, 8}, {2, 2}, {0, 1, 1, 0}, {2, 2})), (std::vector<double>{0, 7, 8, 0}));
}

TEST(SparseTensor, refuses_places_and_sizes_out_of_bounds) {
  const auto code = [](const Message& m) {
    return diagnostic_of([&] { File({.sparse = {m}}).sparse(); }).code;
  };
  EXPECT_EQ(code(sparse({7}, {1}, {5}, {5})), "frontend.onnx.sparse");
  EXPECT_EQ(code(sparse({7}, {1}, {-1}, {5})), "frontend.onnx.sparse");
  EXPECT_EQ(code(sparse({7}, {1, 2}, {0, 2}, {2, 2})), "frontend.onnx.sparse");
  EXPECT_EQ(code(sparse({7}, {2}, {0, 1}, {5})), "frontend.onnx.sparse");
  EXPECT_EQ(code(sparse({7}, {1}, {0}, {int64_t{1} << 30})), "frontend.onnx.sparse_size");
}

/// A folder with the file `w` of 16 bytes, beside a folder with a secret.
class ExternalTensor : public testing::Test {
 protected:
  void SetUp() override {
    namespace fs = std::filesystem;
    root_ = fs::temp_directory_path() / ("tilewright_external_test_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "model" / "sub");
    std::ofstream(root_ / "secret") << "0123456789abcdef";
    std::ofstream(root_ / "model" / "w") << "0123456789abcdef";
    std::ofstream(root_ / "model" / "sub" / "w") << "0123456789abcdef";
    fs::create_symlink("../secret", root_ / "model" / "link");
    fs::create_symlink("w", root_ / "model" / "inner_link");
    fs::create_directory_symlink("../", root_ / "model" / "up");
    fs::create_hard_link(root_ / "secret", root_ / "model" / "hard");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  using Entries = std::vector<std::pair<std::string, std::string>>;
  Constant read(const Entries& entries, int64_t count = 8) {
    Message t = Message().number(1, count).number(2, 2).text(8, "t").number(14, 1);
    for (const auto& [key, value] : entries) t.message(13, Message().text(1, key).text(2, value));
    return File({.initializers = {t}}, root_ / "model").dense();
  }
  std::string_view code(const Entries& entries, int64_t count = 8) {
    return diagnostic_of([&] { read(entries, count); }).code;
  }

  std::filesystem::path root_;
};

TEST_F(ExternalTensor, is_a_view_of_its_file) {
  const Constant c = read({{"location", "w"}, {"offset", "4"}, {"length", "8"}});
  EXPECT_EQ(graph::int_at(*c, 0), '4');
  EXPECT_EQ(graph::int_at(*c, 7), 'b');
  EXPECT_EQ(graph::int_at(*read({{"location", "sub/w"}}), 0), '0');
}

TEST_F(ExternalTensor, stays_inside_of_its_file) {
  EXPECT_EQ(code({{"location", "w"}, {"offset", "9"}}), "frontend.onnx.external_size");
  EXPECT_EQ(code({{"location", "w"}, {"length", "9"}}), "frontend.onnx.external_size");
  EXPECT_EQ(code({{"location", "w"}, {"offset", "9223372036854775807"}}),
            "frontend.onnx.external_size");
  EXPECT_EQ(code({{"location", "w"}, {"offset", "-4"}}), "frontend.onnx.external_entry");
  EXPECT_EQ(code({{"location", "w"}, {"offset", "4x"}}), "frontend.onnx.external_entry");
  EXPECT_EQ(code({{"location", "w"}, {"offset", "99999999999999999999"}}),
            "frontend.onnx.external_entry");
  EXPECT_EQ(code({{"location", "w"}, {"key", "value"}}), "frontend.onnx.external_entry");
  EXPECT_EQ(code({{"offset", "0"}}), "frontend.onnx.external_entry");
}

TEST_F(ExternalTensor, stays_inside_of_the_models_folder) {
  const std::string absolute = root_ / "secret";
  for (const std::string& location :
       {std::string("../secret"), std::string("sub/../../secret"), absolute, std::string("link"),
        std::string("inner_link"), std::string("up/secret"), std::string("hard"),
        std::string("sub"), std::string("missing"), std::string("/proc/self/exe")})
    EXPECT_EQ(code({{"location", location}}), "frontend.onnx.external_open") << location;
}

TEST_F(ExternalTensor, needs_a_folder) {
  const Message t = Message().number(1, 8).number(2, 2).number(14, 1).message(
      13, Message().text(1, "location").text(2, "w"));
  EXPECT_EQ(code_of(t), "frontend.onnx.external_folder");
}

}  // namespace
}  // namespace tilewright::frontend::onnx
