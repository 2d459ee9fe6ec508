// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/child.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/diagnostic.h"
#include "support/transfer.h"
#include "tune/measure/sandbox.h"

namespace tilewright::tune {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw Error({.code = "tune.measure.process",
               .at = {},
               .message = std::string("cannot start a process to measure in: ") + what + ": " +
                          std::strerror(errno),
               .notes = {},
               .help = "check the limits of processes, memory and open files (ulimit -a), and that "
                       "seccomp is not forbidden"});
}

constexpr int kNoSandbox = 125;  // exit code

}  // namespace

bool Link::send(const std::string& message) const {
  const uint64_t size = message.size();
  return write_all(fd_, &size, sizeof size) && write_all(fd_, message.data(), message.size());
}

bool Link::wait() const {
  char word;
  ssize_t n;
  while ((n = ::read(fd_, &word, 1)) < 0 && errno == EINTR) {
  }
  return n == 1;
}

Child::Child(int64_t memory_bytes, FunctionRef<void()> before,
             FunctionRef<void(const Link&)> work) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) refuse("no socket pair");
  pid_ = fork();
  if (pid_ == 0) {
    // Nothing of the parent's may run here, not even destructors.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGINT, SIG_DFL);
    try {
      before();
      if (!enter_sandbox(ends[1], memory_bytes)) _exit(kNoSandbox);
      work(Link(ends[1]));
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  const int error = errno;
  close(ends[1]);
  fd_ = ends[0];
  fcntl(fd_, F_SETFL, O_NONBLOCK);
  if (pid_ > 0) return;
  close(fd_);
  errno = error;
  refuse("fork");
}

Child::~Child() {
  if (!status_) {
    kill();
    wait();
  }
  close(fd_);
}

std::optional<std::string> Child::receive() {
  char piece[4096];
  while (!gone_ && arrived_.size() <= kLongest) {
    const ssize_t n = ::read(fd_, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) gone_ = true;
    if (n > 0) arrived_.append(piece, static_cast<size_t>(n));
  }
  uint64_t size = 0;
  if (arrived_.size() < sizeof size) return {};
  std::memcpy(&size, arrived_.data(), sizeof size);
  if (size > kLongest) {
    kill();
    gone_ = true;
    arrived_.clear();
    return {};
  }
  if (arrived_.size() - sizeof size < size) return {};
  heard_ = true;
  std::string message = arrived_.substr(sizeof size, size);
  arrived_.erase(0, sizeof size + size);
  return message;
}

void Child::go() const {
  const char word = 1;
  while (::send(fd_, &word, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }  // that it is dead is noticed elsewhere
}

void Child::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
}

int Child::status() {
  if (!status_) wait();
  // Unknown code runs only after a first message.
  if (!heard_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == kNoSandbox) {
    errno = EPERM;
    refuse("the sandbox is refused");
  }
  return *status_;
}

}  // namespace tilewright::tune
