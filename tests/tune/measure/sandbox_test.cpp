// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/sandbox.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <new>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "tune/measure/child.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kMemory = 64 << 20;

/// How a child that does this ends, and the last it said.
struct End {
  int signal = 0, code = 0;
  std::string said;
};
template <class F>
End end_of(F&& work) {
  Child child(kMemory, [] {}, work);
  End out;
  while (!child.gone()) {
    pollfd wait{child.fd(), POLLIN, 0};
    poll(&wait, 1, 1000);
    while (const auto message = child.receive()) out.said = *message;
  }
  const int status = child.status();
  out.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return out;
}

TEST(Sandbox, LetsComputeAndTalk) {
  const End end = end_of([](const Link& link) {
    std::string all;
    for (int i = 0; i < 1000; ++i) all += std::to_string(i);
    ASSERT_TRUE(end_on_violation());
    link.send(all.substr(0, 10));
  });
  EXPECT_EQ(end.said, "0123456789");
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.code, 0);
}

TEST(Sandbox, FilesFailAtFirstAndEndTheProcessLater) {
  const TempFolder folder;
  const std::string path = (folder.path() / "written").string();
  const auto write = [&] { return open(path.c_str(), O_WRONLY | O_CREAT, 0600); };
  const End soft = end_of([&](const Link& link) { link.send(write() < 0 ? "no" : "yes"); });
  EXPECT_EQ(soft.said, "no");
  const End hard = end_of([&](const Link& link) {
    end_on_violation();
    link.send(write() < 0 ? "no" : "yes");
  });
  EXPECT_EQ(hard.said, "");
  EXPECT_EQ(hard.signal, SIGSYS);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Sandbox, WhatTheParentHadOpenIsClosed) {
  const TempFolder folder;
  const std::string path = (folder.path() / "records").string();
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  const End end = end_of(
      [&](const Link& link) { link.send(::write(file, "x", 1) < 0 ? "closed" : "written"); });
  EXPECT_EQ(end.said, "closed");
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  close(file);
}

TEST(Sandbox, SocketsProcessesAndSignalsToOthersAreForbidden) {
  const auto signal_of = [](auto&& what) {
    return end_of([&](const Link&) {
             end_on_violation();
             what();
           })
        .signal;
  };
  EXPECT_EQ(signal_of([] { (void)socket(AF_INET, SOCK_STREAM, 0); }), SIGSYS);
  EXPECT_EQ(signal_of([] { (void)fork(); }), SIGSYS);
  EXPECT_EQ(signal_of([] { (void)kill(getppid(), 0); }), SIGSYS);
  EXPECT_EQ(signal_of([] { execl("/bin/true", "true", nullptr); }), SIGSYS);
  EXPECT_EQ(signal_of([] { std::abort(); }), SIGABRT);
}

TEST(Sandbox, AThreadChoosesItsOwnProcessorsAndNobodyElses) {
  cpu_set_t cpus;
  ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
  const auto end = [&](pid_t whom) {
    return end_of([&](const Link& link) {
      end_on_violation();
      link.send(sched_setaffinity(whom, sizeof cpus, &cpus) == 0 ? "chosen" : "refused");
    });
  };
  EXPECT_EQ(end(0).said, "chosen");  // workers of a pool leave the caller's
  EXPECT_EQ(end(getpid()).signal, SIGSYS);
}

TEST(Sandbox, MemoryHasALimit) {
  const End end = end_of([](const Link& link) {
    void* all =
        mmap(nullptr, kMemory * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* some =
        mmap(nullptr, kMemory / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    link.send(all == MAP_FAILED && some != MAP_FAILED ? "limited" : "not limited");
  });
  EXPECT_EQ(end.said, "limited");
}

TEST(Child, OneThatClaimsALongMessageIsEnded) {
  const End end = end_of([](const Link&) {
    const uint64_t size = uint64_t{1} << 62;
    for (int fd = 3; fd < 64; ++fd)
      if (::write(fd, &size, sizeof size) > 0) break;
    for (;;) usleep(1000);
  });
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(Child, DiesWithItsOwner) {
  pid_t pid = 0;
  {
    Child child(
        kMemory, [] {},
        [](const Link& link) {
          link.send(std::to_string(getpid()));
          for (;;) usleep(1000);
        });
    while (pid == 0) {
      pollfd wait{child.fd(), POLLIN, 0};
      poll(&wait, 1, 1000);
      if (const auto message = child.receive()) pid = std::stoi(*message);
    }
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace tilewright::tune
