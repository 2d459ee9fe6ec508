// SPDX-License-Identifier: Apache-2.0
// A child process in a sandbox, and what links it to its parent.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>

#include "support/function_ref.h"

namespace tilewright::tune {

/// A message is its length and its bytes.
class Link {
 public:
  explicit Link(int fd) : fd_(fd) {}
  /// False when nobody listens any more.
  bool send(const std::string& message) const;
  /// Waits for the parent's word to go on; false when the parent is gone.
  bool wait() const;

 private:
  int fd_;
};

class Child {
 public:
  /// Forks; the child enters the sandbox and does the work, which ends it. `before` runs there
  /// first, where everything is still allowed: to start threads.
  Child(int64_t memory_bytes, FunctionRef<void()> before, FunctionRef<void(const Link&)> work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// To wait for with poll: readable when `receive` has something new.
  int fd() const { return fd_; }
  /// Takes what has arrived; the next whole message, if there is one. No message is longer than
  /// `kLongest`: one that claims to be ends the child.
  std::optional<std::string> receive();
  /// Has the child closed its end, without a whole message left?
  bool gone() const { return gone_; }
  /// Tells it to go on.
  void go() const;
  /// Ends it now.
  void kill() const { ::kill(pid_, SIGKILL); }
  /// How it ended, as waitpid says; waits for that.
  int status();

  static constexpr size_t kLongest = 1 << 20;

 private:
  void wait();

  pid_t pid_ = -1;
  int fd_ = -1;
  bool gone_ = false, heard_ = false;
  std::optional<int> status_;
  std::string arrived_;
};

}  // namespace tilewright::tune
