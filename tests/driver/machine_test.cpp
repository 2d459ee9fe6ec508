// SPDX-License-Identifier: Apache-2.0
#include "driver/machine.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tilewright::driver {
namespace {

std::vector<double> numbers(const ir::Rates& r) {
  return {r.load, r.half, r.latency, r.bytes[0], r.bytes[1], r.bytes[2], r.hertz};
}

class MachineRates : public testing::Test {
 protected:
  MachineRates() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  }
  ~MachineRates() override { std::filesystem::remove_all(folder_); }

  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> out;
    for (const auto& e : std::filesystem::directory_iterator(folder_)) out.push_back(e.path());
    return out;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "tilewright_machine_test";
};

TEST_F(MachineRates, AreMeasuredOnceAndKept) {
  const KernelCache cache(folder_);
  const std::vector<double> first = numbers(target_with_rates("host", cache).rates);
  for (const double n : first) EXPECT_GT(n, 0);
  ASSERT_EQ(entries().size(), 1u);
  struct stat before, after;
  ASSERT_EQ(stat(entries()[0].c_str(), &before), 0);
  EXPECT_EQ(numbers(target_with_rates("host", cache).rates), first);
  ASSERT_EQ(stat(entries()[0].c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);  // what is written again is another file
}

TEST_F(MachineRates, AreMeasuredAgainWhereWhatWasKeptIsDamaged) {
  const KernelCache cache(folder_);
  target_with_rates("host", cache);
  std::ofstream(entries().at(0), std::ios::binary) << "[1, 2, -3]";
  for (const double n : numbers(target_with_rates("host", cache).rates)) EXPECT_GT(n, 0);
}

TEST_F(MachineRates, AreThoseOfACommonCoreForOtherMachines) {
  const KernelCache cache(folder_);
  EXPECT_EQ(numbers(target_with_rates("x86-64-v3", cache).rates), numbers({}));
  EXPECT_TRUE(entries().empty());
}

}  // namespace
}  // namespace tilewright::driver
