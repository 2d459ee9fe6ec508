// SPDX-License-Identifier: Apache-2.0
#include "support/mapped_file.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"

namespace tilewright {
namespace {

class MappedFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("tilewright_mapped_" + std::to_string(getpid()));
};

TEST_F(MappedFiles, hold_the_bytes_of_the_file) {
  std::ofstream(folder_ / "a") << "hello";
  const auto file = MappedFile::open(folder_ / "a");
  ASSERT_EQ(file->bytes().size(), 5u);
  EXPECT_EQ(file->bytes()[4], std::byte{'o'});
}

TEST_F(MappedFiles, outlive_the_name_of_the_file) {
  std::ofstream(folder_ / "a") << "hello";
  const auto file = MappedFile::open(folder_ / "a");
  std::filesystem::remove(folder_ / "a");
  EXPECT_EQ(file->bytes()[0], std::byte{'h'});
}

TEST_F(MappedFiles, may_be_empty) {
  std::ofstream(folder_ / "empty").flush();
  EXPECT_TRUE(MappedFile::open(folder_ / "empty")->bytes().empty());
}

TEST_F(MappedFiles, are_plain_files) {
  const auto refused = [&](const std::filesystem::path& path) {
    const Diagnostic d = diagnostic_of([&] { MappedFile::open(path); });
    EXPECT_NE(d.message.find(path.string()), std::string::npos);
    return d.code == "support.file.read";
  };
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(refused(folder_ / "pipe"));  // and does not wait for someone to write into it
  EXPECT_TRUE(refused(folder_));
  EXPECT_TRUE(refused(folder_ / "missing"));
}

}  // namespace
}  // namespace tilewright
