// SPDX-License-Identifier: Apache-2.0
#include "support/bare/output_file.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/diagnostic.h"
#include "support/write_file.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  static std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  static mode_t rights(const std::string& path) {
    struct stat about{};
    return stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("tilewright_output_" + std::to_string(getpid()));
};

TEST_F(OutputFiles, appear_only_when_they_are_whole) {
  write_file(at("f"), "old");
  {
    OutputFile file(at("f"));
    EXPECT_TRUE(file.write("half", 4));
  }
  EXPECT_EQ(content(at("f")), "old");
  OutputFile file(at("f"));
  file.write("one ", 4);
  file.write("two", 3);
  EXPECT_EQ(content(at("f")), "old");
  EXPECT_EQ(file.commit(), "");
  EXPECT_EQ(content(at("f")), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFiles, leave_links_and_rights) {
  const mode_t mask = umask(027);
  write_file(at("new"), "x");
  write_file(at("program"), "x", OutputFile::Rights::Program);
  umask(mask);
  EXPECT_EQ(rights(at("new")), 0640u);
  EXPECT_EQ(rights(at("program")), 0750u);
  fs::create_directory(folder_ / "sub");
  write_file(at("sub/real"), "old");
  ASSERT_EQ(chmod(at("sub/real").c_str(), 0604), 0);
  fs::create_symlink("sub/real", at("link"));
  fs::create_symlink(at("link"), at("link2"));
  fs::create_symlink("sub/later", at("dangling"));
  for (const char* name : {"link2", "dangling"}) write_file(at(name), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_symlink(at("link2")) &&
              fs::is_symlink(at("dangling")));
  EXPECT_FALSE(fs::is_symlink(at("sub/real")));
  EXPECT_EQ(content(at("sub/real")), "new");
  EXPECT_EQ(rights(at("sub/real")), 0604u);
  EXPECT_EQ(content(at("sub/later")), "new");
}

TEST_F(OutputFiles, go_straight_to_pipes_devices_and_open_files) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content(at("pipe")); });
  write_file(at("pipe"), "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  // As the shell's `>> log` leaves it: what others have written there stays.
  write_file(at("log"), "before ");
  const int fd = open(at("log").c_str(), O_WRONLY | O_APPEND);
  write_file("/proc/self/fd/" + std::to_string(fd), "ours ");
  EXPECT_EQ(write(fd, "after", 5), 5);
  close(fd);
  EXPECT_EQ(content(at("log")), "before ours after");
}

TEST_F(OutputFiles, say_what_is_wrong) {
  const auto problem = [](const std::string& path) {
    try {
      write_file(path, "x");
    } catch (const Error& e) {
      EXPECT_EQ(e.diagnostic.code, "support.file.write");
      return e.diagnostic.message;
    }
    return std::string("none");
  };
  EXPECT_EQ(problem(at("a/b/f")),
            "cannot write `" + at("a/b/f") + "`: there is no folder `" + at("a/b") + "`");
  EXPECT_EQ(problem(folder_.string()), "cannot write `" + folder_.string() + "`: Is a directory");
  EXPECT_NE(problem("/dev/full").find("No space left on device"), std::string::npos);
  EXPECT_NE(problem("").find("cannot write ``"), std::string::npos);
  EXPECT_EQ(problem(at(std::string(255, 'n'))), "none") << "the longest name that there can be";
}

TEST_F(OutputFiles, keep_what_was_there_when_the_disk_is_full) {
  write_file(at("f"), "old");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    OutputFile file(at("f"));
    const std::string much(600, 'x');
    const bool first = file.write(much.data(), much.size());
    const bool second = file.write(much.data(), much.size());
    const bool told = file.commit().find("File too large") != std::string::npos;
    _exit(first && !second && told && !file.write("x", 1) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(at("f")), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFiles, do_not_replace_a_file_that_may_not_be_written) {
  write_file(at("f"), "old");
  ASSERT_EQ(chmod(at("f").c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;  // the administrator may write every file
    if (geteuid() == 0 && seteuid(kNobody) != 0) _exit(2);
    OutputFile file(at("f"));
    file.write("new", 3);
    _exit(file.commit().find("Permission denied") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(at("f")), "old");
}

}  // namespace
}  // namespace tilewright
