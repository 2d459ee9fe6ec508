// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile models are refused with an Error, or are other models: nothing else happens.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

#include "frontend/onnx/encode.h"
#include "support/diagnostic.h"

namespace tilewright::frontend::onnx {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/onnx")) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    out.push_back(std::move(text).str());
  }
  return out;
}

/// True for a model, false for an Error. Any other exception leaves the test.
bool is_model(const std::string& bytes) {
  try {
    import_bytes(bytes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(DamagedModel, seeds_are_models) {
  const std::vector<std::string> all = seeds();
  ASSERT_GE(all.size(), 10u);
  for (const std::string& seed : all) import_bytes(seed);
}

TEST(DamagedModel, may_be_cut_off_anywhere) {
  for (const std::string& seed : seeds())
    for (size_t size = 0; size < seed.size(); size += 3) is_model(seed.substr(0, size));
}

TEST(DamagedModel, may_have_any_bit_flipped) {
  for (const std::string& seed : seeds())
    for (size_t bit = 0; bit < 8 * seed.size(); bit += 5) {
      std::string bad = seed;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      is_model(bad);
    }
}

TEST(DamagedModel, may_have_parts_of_another) {
  const std::vector<std::string> all = seeds();
  std::mt19937 random(7);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (int i = 0; i < 2000; ++i) {
    std::string bad = all[below(all.size())];
    const std::string& other = all[below(all.size())];
    const size_t from = below(other.size());
    bad.replace(below(bad.size()), below(8), other.substr(from, below(16)));
    is_model(bad);
  }
}

/// The same field over and over: small in the file, and to stay small in memory.
std::string repeated(const Message& one, size_t size) {
  std::string out;
  while (out.size() < size) out += one.bytes;
  return out;
}

TEST(HostileModel, is_refused_before_it_takes_much_memory) {
  constexpr size_t kSize = 1 << 20;
  const Message empty_node = Message().message(1, Message());
  const Message empty_tensor = Message().message(5, Message());
  const Message empty_sparse = Message().message(15, Message());
  const Message empty_input = Message().message(11, Message());
  for (const Message& m : {empty_node, empty_tensor, empty_sparse, empty_input}) {
    Message model = Message().number(1, 10).message(8, opset(21));
    model.text(7, repeated(m, kSize));
    EXPECT_FALSE(is_model(model.bytes));
  }
  Message attributes;
  attributes.text(4, "Relu");
  attributes.bytes += repeated(Message().message(5, Message()), kSize);
  EXPECT_FALSE(is_model(model({.nodes = {attributes}}).bytes));
}

}  // namespace
}  // namespace tilewright::frontend::onnx
