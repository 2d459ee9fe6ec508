// SPDX-License-Identifier: Apache-2.0
// data/*.npz are written by NumPy: numpy.savez and numpy.savez_compressed of the same arrays.
#include "frontend/npz.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "common/errors.h"
#include "frontend/npy.h"
#include "frontend/npy_header.h"
#include "frontend/zip.h"

namespace tilewright::frontend {
namespace {

using ir::Elem;

std::string bytes_of(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::vector<NamedTensor> numpy_file(const char* name) {
  return read_npz(std::string("tests/frontend/data/") + name,
                  [](std::string_view array) -> std::optional<Elem> {
                    if (array == "bf16") return Elem::BF16;
                    if (array == "i4" || array == "i8") return Elem::I4;
                    return std::nullopt;
                  });
}

graph::Constant find(const std::vector<NamedTensor>& all, std::string_view name) {
  for (const NamedTensor& t : all)
    if (t.name == name) return t.value;
  ADD_FAILURE() << "no array " << name;
  return {};
}

/// A file that goes away with the test.
struct TempFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("tilewright_npz_test_" + std::to_string(getpid()) + ".npz");
  ~TempFile() { std::filesystem::remove(path); }
};

std::string npy(const std::string& descr, const std::vector<int64_t>& shape,
                const std::string& data) {
  return write_npy_header(descr, shape) + data;
}

graph::Constant read(const std::string& file, std::optional<Elem> wanted = {}) {
  const auto owner = std::make_shared<const std::string>(file);
  return read_npy(std::as_bytes(std::span(*owner)), owner, wanted, "array `a`");
}

class NumpyFile : public testing::TestWithParam<const char*> {};

TEST_P(NumpyFile, is_read) {
  const std::vector<NamedTensor> all = numpy_file(GetParam());
  const std::vector<double> six{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(graph::numbers_of(*find(all, "f32")), six);
  EXPECT_EQ(find(all, "f32")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(graph::numbers_of(*find(all, "fortran")), six);
  EXPECT_EQ(graph::ints_of(*find(all, "big")), (std::vector<int64_t>{1, -2, 70000}));
  EXPECT_EQ(find(all, "f16")->elem, Elem::F16);
  EXPECT_EQ(graph::numbers_of(*find(all, "f16")), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(find(all, "flags")->elem, Elem::Bool);
  EXPECT_EQ(graph::ints_of(*find(all, "flags")), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(graph::ints_of(*find(all, "scalar")), std::vector<int64_t>{7});
  EXPECT_TRUE(find(all, "scalar")->shape.empty());
  EXPECT_EQ(find(all, "empty")->shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(find(all, "text")->strings, (std::vector<std::string>{"a", "äß", "😀x"}));
  EXPECT_EQ(find(all, "raw")->strings, (std::vector<std::string>{"ab", "c"}));
  EXPECT_EQ(graph::numbers_of(*find(all, "bf16")), (std::vector<double>{1, -3.5}));
  EXPECT_EQ(graph::ints_of(*find(all, "i4")), (std::vector<int64_t>{1, -2, 7}));
  EXPECT_EQ(graph::ints_of(*find(all, "i8")), (std::vector<int64_t>{1, -2, 7}));
  EXPECT_EQ(find(all, "i8")->elem, Elem::I4);
}

INSTANTIATE_TEST_SUITE_P(Npz, NumpyFile, testing::Values("numpy.npz", "numpy_compressed.npz"),
                         [](const auto& info) {
                           return std::string(info.param).find("comp") == std::string::npos
                                      ? "stored"
                                      : "deflated";
                         });

TEST(Npz, reads_what_it_writes) {
  const TempFile file;
  std::vector<NamedTensor> all = numpy_file("numpy.npz");
  write_npz(file.path, all);
  const std::vector<NamedTensor> again =
      read_npz(file.path, [](std::string_view n) -> std::optional<Elem> {
        if (n == "bf16") return Elem::BF16;
        return n == "i4" ? std::optional(Elem::I4) : std::nullopt;
      });
  ASSERT_EQ(again.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(again[i].name, all[i].name);
    EXPECT_EQ(again[i].value->shape, all[i].value->shape);
    EXPECT_EQ(again[i].value->strings, all[i].value->strings);
    if (!all[i].value->is_strings) {
      EXPECT_EQ(graph::numbers_of(*again[i].value), graph::numbers_of(*all[i].value));
    }
  }
  EXPECT_EQ(find(again, "i8")->elem, Elem::I8);  // packed integers leave as bytes
}

TEST(Npy, views_elements_that_need_no_change) {
  const auto owner = std::make_shared<const std::string>(npy("<f4", {2}, std::string(8, '\0')));
  const Bytes all = std::as_bytes(std::span(*owner));
  const graph::Constant view = read_npy(all, owner, {}, "a");
  EXPECT_EQ(view->bytes.data(), all.data() + (all.size() - 8));
  EXPECT_EQ(view->owner, std::shared_ptr<const void>(owner));
}

TEST(Npy, refuses_with_a_remedy) {
  const auto of = [](const std::string& file, std::optional<Elem> wanted = {}) {
    return diagnostic_of([&] { read(file, wanted); });
  };
  EXPECT_EQ(of(npy("|O", {1}, "xxxxxxxx")).code, "frontend.npy.type");
  EXPECT_NE(of(npy("|O", {1}, "xxxxxxxx")).help.find(".astype"), std::string::npos);
  EXPECT_EQ(of(npy("<c8", {1}, "xxxxxxxx")).code, "frontend.npy.type");
  EXPECT_EQ(of(npy("|V2", {1}, "xx")).code, "frontend.npy.type");
  EXPECT_EQ(of(npy("|V2", {1}, "xx"), Elem::F32).code, "frontend.npy.type");
  EXPECT_EQ(of(npy("<f4", {2}, "xxxx")).code, "frontend.npy.size");
  EXPECT_EQ(of(npy("<f4", {1}, "xxxxx")).code, "frontend.npy.size");
  EXPECT_EQ(of(npy("<f4", {-1}, "")).code, "frontend.tensor.dim");
  EXPECT_EQ(of(npy("<f4", {int64_t{1} << 62, 4, 0}, "")).code, "frontend.tensor.size");
  EXPECT_EQ(of(npy("<f4", std::vector<int64_t>(33, 1), "xxxx")).code, "frontend.tensor.rank");
  EXPECT_EQ(of(npy("|b1", {1}, "\x02")).code, "frontend.tensor.bool");
  EXPECT_EQ(of(npy("|i1", {1}, "\x09"), Elem::I4).code, "frontend.npy.value");
  EXPECT_EQ(of(npy("<U1", {1}, std::string("\x00\xd8\x00\x00", 4))).code, "frontend.npy.text");
  EXPECT_EQ(of("not numpy at all").code, "frontend.npy.header");
  EXPECT_EQ(of(npy("[('a', '<f4')]", {1}, "xxxx")).code, "frontend.npy.header");
}

/// Every cut and every flipped bit of these files is read or refused, never a crash.
TEST(Npz, survives_damage) {
  const TempFile file;
  for (const char* name : {"numpy.npz", "numpy_compressed.npz"}) {
    const std::string good = bytes_of(std::string("tests/frontend/data/") + name);
    ASSERT_FALSE(good.empty());
    const auto owner = std::make_shared<const std::string>(good);
    const auto all = [&](const std::string& bytes) {
      try {
        for (const ZipEntry& e : read_zip(std::as_bytes(std::span(bytes)), owner, "it"))
          read_npy(e.bytes, e.owner, Elem::BF16, "array");
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    for (size_t size = 0; size < good.size(); size += 7) EXPECT_FALSE(all(good.substr(0, size)));
    for (size_t bit = 0; bit < 8 * good.size(); bit += 13) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      all(bad);
    }
  }
}

/// The text of headers is outside of the archive's sums when the file is a plain .npy.
TEST(Npy, survives_damaged_headers) {
  const std::string good = npy("<f4", {2, 3}, std::string(24, '\0'));
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    try {
      read(bad, Elem::BF16);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tilewright::frontend
