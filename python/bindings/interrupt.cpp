// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace tilewright::python {
namespace {

// Of the main thread, the only one that Python handles signals in.
std::atomic<tw_context*> running;
struct sigaction before;

bool handles(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void on_interrupt(int signal, siginfo_t* info, void* state) {
  if (tw_context* context = running.load()) tw_cancel(context);
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(signal, info, state);
  else
    before.sa_handler(signal);
}

/// Asked once a thread: a system call is a tenth of a short run.
bool in_main_thread() {
  thread_local const bool is_main = gettid() == getpid();
  return is_main;
}

}  // namespace

Interruptible::Interruptible(tw_context* context) {
  if (!in_main_thread() || running.load() != nullptr) return;
  struct sigaction ours{};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  if (sigaction(SIGINT, nullptr, &before) != 0 || !handles(before)) return;
  running = context;
  installed_ = sigaction(SIGINT, &ours, nullptr) == 0;
  if (!installed_) running = nullptr;
}

Interruptible::~Interruptible() {
  if (!installed_) return;
  sigaction(SIGINT, &before, nullptr);
  running = nullptr;
}

}  // namespace tilewright::python
