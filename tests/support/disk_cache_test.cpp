// SPDX-License-Identifier: Apache-2.0
#include "support/disk_cache.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class DiskCaches : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  fs::path only_file() const {
    fs::path out;
    for (const auto& f : fs::directory_iterator(folder_)) out = f.path();
    return out;
  }
  /// As if the entry had been used that long ago.
  static void age(const fs::path& path, int64_t seconds) {
    const timespec then{time(nullptr) - seconds, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("tilewright_cache_" + std::to_string(getpid()));
  static constexpr int64_t kLarge = 1 << 20;
};

TEST_F(DiskCaches, give_back_what_was_put) {
  const DiskCache cache(folder_, kLarge);
  EXPECT_FALSE(cache.find("a"));
  cache.put("a", "one");
  cache.put("b", std::string("\0two", 4));
  EXPECT_EQ(cache.find("a"), "one");
  EXPECT_EQ(cache.find("b"), std::string("\0two", 4));
  cache.put("a", "");
  EXPECT_EQ(DiskCache(folder_, kLarge).find("a"), "");
  EXPECT_EQ(cache.usage().entries, 2);
}

TEST_F(DiskCaches, ignore_a_damaged_entry_and_write_it_again) {
  const DiskCache cache(folder_, kLarge);
  const std::string key = "the key", value = "the value of the key";
  cache.put(key, value);
  const fs::path path = only_file();
  std::string good;
  {
    std::ifstream in(path, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto write = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  };
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write(bad);
    EXPECT_FALSE(cache.find(key)) << "byte " << i;
    write(good.substr(0, i));
    EXPECT_FALSE(cache.find(key)) << "cut off at " << i;
  }
  write(good + "x");
  EXPECT_FALSE(cache.find(key));
  cache.put(key, value);
  EXPECT_EQ(cache.find(key), value);
}

TEST_F(DiskCaches, know_keys_and_not_only_their_hashes) {
  const DiskCache cache(folder_, kLarge);
  cache.put("one", "value of one");
  const fs::path one = only_file();
  cache.put("two", "value of two");
  for (const auto& f : fs::directory_iterator(folder_))
    if (f.path() != one) fs::copy_file(one, f.path(), fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.find("two"));
  EXPECT_EQ(cache.find("one"), "value of one");
}

TEST_F(DiskCaches, remove_what_was_used_longest_ago) {
  const std::string value(1000, 'x');
  const DiskCache cache(folder_, 2500);
  std::set<fs::path> seen;
  int64_t ago = 300;
  for (const char* key : {"a", "b", "c"}) {  // from the oldest on
    cache.put(key, value);
    for (const auto& f : fs::directory_iterator(folder_))
      if (seen.insert(f.path()).second) age(f.path(), ago);
    ago -= 100;
  }
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(cache.find("a"));  // used now
  cache.trim();
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("c"));
  EXPECT_LE(cache.usage().bytes, 2500);
}

TEST_F(DiskCaches, remove_what_a_dead_process_left) {
  const DiskCache cache(folder_, kLarge);
  for (const char* name : {".part-old", ".part-new"}) std::ofstream(folder_ / name) << "x";
  age(folder_ / ".part-old", 100000);
  cache.trim();
  EXPECT_FALSE(fs::exists(folder_ / ".part-old"));
  EXPECT_TRUE(fs::exists(folder_ / ".part-new"));
}

TEST_F(DiskCaches, are_cleared) {
  const DiskCache cache(folder_, kLarge);
  cache.put("a", "1");
  cache.put("b", "2");
  EXPECT_EQ(cache.clear().entries, 2);
  EXPECT_EQ(cache.usage().entries, 0);
  EXPECT_FALSE(cache.find("a"));
}

TEST_F(DiskCaches, are_not_used_where_others_could_write) {
  fs::create_directory(folder_);
  chmod(folder_.c_str(), 0777);
  const DiskCache open(folder_, kLarge);
  EXPECT_FALSE(open.problem().empty());
  open.put("a", "1");
  EXPECT_FALSE(open.find("a"));
  const DiskCache nowhere("/proc/no/such/place", kLarge);
  EXPECT_FALSE(nowhere.problem().empty());
  nowhere.put("a", "1");
  EXPECT_FALSE(nowhere.find("a"));
}

TEST_F(DiskCaches, are_shared_by_threads_and_processes) {
  const auto work = [&](int seed) {
    const DiskCache cache(folder_, 20000);
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key" + std::to_string((i * 7 + seed) % 40);
      const std::string value = key + std::string(1000, key.back());
      if (const auto found = cache.find(key); found && *found != value) return false;
      cache.put(key, value);
      if (i % 50 == seed % 50) cache.trim();
    }
    return true;
  };
  std::vector<pid_t> children;
  for (int p = 0; p < 3; ++p) {
    const pid_t child = fork();
    if (child == 0) _exit(work(p) ? 0 : 1);
    children.push_back(child);
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 3; t < 6; ++t) threads.emplace_back([&, t] { wrong += !work(t); });
  for (std::thread& t : threads) t.join();
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tilewright
