// SPDX-License-Identifier: Apache-2.0
// Writer and reader: what goes in comes out, and nothing else is believed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "common/module_bytes.h"
#include "module/format.h"
#include "module/sample.h"
#include "module/verify.h"
#include "module/view.h"

namespace tilewright {
namespace {

struct Read {
  ModuleView view;
  VariantView variant;
  PlanFacts facts;
  ErrorText error;
  bool ok = false;

  explicit Read(std::span<const std::byte> bytes, Verify verify = Verify::AllButConstants) {
    ok = view_module(bytes, verify, view, error);
    for (uint32_t i = 0; ok && i < view.variants; ++i)
      ok = view_variant(view, i, variant, error) &&
           verify_plan(view, variant, system_allocator(), facts, error);
  }
  std::string text() const { return error.text(); }
};

TEST(ModuleFile, ReadsBackWhatWasWritten) {
  const Module module = sample_module();
  const AlignedBytes bytes(module_bytes(module));
  const Read read(bytes.span(), Verify::Full);
  ASSERT_TRUE(read.ok) << read.text();
  ASSERT_EQ(read.view.inputs.size(), 1u);
  EXPECT_STREQ(read.view.name(read.view.inputs[0].name), "x");
  EXPECT_EQ(read.view.inputs[0].type, ValueType{ElemType::F32});
  ASSERT_EQ(read.view.inputs[0].rank, 1u);
  const format::DimRecord& dim = read.view.dims[read.view.inputs[0].first_dim];
  EXPECT_EQ(dim.value, -1);
  EXPECT_STREQ(read.view.name(dim.symbol), "n");
  EXPECT_EQ(dim.max, 64);
  ASSERT_EQ(read.view.outputs.size(), 1u);
  EXPECT_STREQ(read.view.name(read.view.outputs[0].name), "y");
  ASSERT_EQ(read.view.metadata.size(), 1u);
  EXPECT_STREQ(read.view.name(read.view.metadata[0].key), "producer");
  EXPECT_STREQ(read.view.name(read.view.metadata[0].value), "by hand");
  ASSERT_EQ(read.view.constants.size(), 1u);
  EXPECT_EQ(std::memcmp(read.view.constant_bytes.data() + read.view.constants[0].offset,
                        module.constants[0].data, 256),
            0);
  const Plan& plan = module.variants[0].plan;
  EXPECT_TRUE(std::ranges::equal(read.variant.plan.code, plan.code));
  EXPECT_TRUE(std::ranges::equal(read.variant.plan.constants, plan.constants));
  EXPECT_TRUE(std::ranges::equal(read.variant.plan.dims, plan.dims));
  EXPECT_TRUE(std::ranges::equal(read.variant.code, module.variants[0].code.bytes));
  EXPECT_EQ(read.variant.relocations.size(), module.variants[0].code.relocations.size());
  EXPECT_STREQ(read.variant.triple, kHostTriple);
}

TEST(ModuleFile, IsWrittenWholeOrNotAtAll) {
  const Module module = sample_module();
  const std::string folder = testing::TempDir() + "module_file_" + std::to_string(getpid());
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  const std::string path = folder + "/m.twm";
  EXPECT_EQ(write_module(module, path), "");
  EXPECT_EQ(bytes_of_file(path), module_bytes(module));
  EXPECT_EQ(write_module(module, path), "") << "a second one replaces the first";
  const std::string nowhere = folder + "/missing/m.twm";
  EXPECT_NE(write_module(module, nowhere).find(nowhere), std::string::npos);
  unlink(path.c_str());
  EXPECT_EQ(rmdir(folder.c_str()), 0) << "something was left behind";
}

TEST(ModuleFile, DoesNotReplaceADeviceOrAPipe) {
  const Module module = sample_module();
  const std::string path = testing::TempDir() + "module_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::vector<std::byte> read;
  std::thread reader([&] { read = bytes_of_file(path); });
  EXPECT_EQ(write_module(module, path), "");
  struct stat there;
  const bool pipe = stat(path.c_str(), &there) == 0 && S_ISFIFO(there.st_mode);
  EXPECT_TRUE(pipe);
  if (!pipe) std::exit(1);  // the reader waits for ever
  reader.join();
  EXPECT_EQ(read, module_bytes(module));
  unlink(path.c_str());
}

TEST(ModuleFile, RefusesEveryLengthButItsOwn) {
  const std::vector<std::byte> good = module_bytes(sample_module());
  for (size_t n = 0; n < good.size(); n = n < 300 ? n + 1 : n + 997) {
    const AlignedBytes bytes(std::vector(good.begin(), good.begin() + static_cast<long>(n)));
    const Read read(bytes.span());
    ASSERT_FALSE(read.ok) << n;
    ASSERT_NE(read.text(), "") << n;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(Read(AlignedBytes(longer).span()).ok);
}

TEST(ModuleFile, RefusesEveryByteThatChanged) {
  AlignedBytes bytes(module_bytes(sample_module()));
  size_t between = 0;
  for (size_t i = 0; i < bytes.size; ++i) {
    const std::byte before = bytes.data[i];
    bytes.data[i] ^= std::byte{static_cast<unsigned char>(1u << i % 8)};
    const Read read(bytes.span(), Verify::Full);
    EXPECT_FALSE(read.ok) << "byte " << i;
    between += read.text().find("the bytes before") != std::string::npos ? 1 : 0;
    bytes.data[i] = before;
  }
  EXPECT_GT(between, 100u);
}

TEST(ModuleFile, LooksAtWeightsOnlyWhenAsked) {
  AlignedBytes bytes(module_bytes(sample_module()));
  const Read good(bytes.span());
  for (const format::SectionEntry& s : good.view.sections)
    if (s.kind == format::SectionKind::Constants) bytes.data[s.offset] ^= std::byte{1};
  EXPECT_TRUE(Read(bytes.span()).ok);
  const Read full(bytes.span(), Verify::Full);
  EXPECT_FALSE(full.ok);
  EXPECT_NE(full.text().find("constant section has changed"), std::string::npos) << full.text();
}

TEST(ModuleFile, NamesAFormatItCannotRead) {
  AlignedBytes bytes(module_bytes(sample_module()));
  bytes.data[8] = std::byte{9};  // major
  EXPECT_NE(Read(bytes.span()).text().find("format 9.1"), std::string::npos);
  bytes.data[0] = std::byte{'P'};
  EXPECT_NE(Read(bytes.span()).text().find("not a Tilewright module"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
