// SPDX-License-Identifier: Apache-2.0
// The interpreter's lock, also where the interpreter ends while a thread is in native code. Before
// Python 3.14 a thread that then asks for the lock is ended by unwinding its stack, which aborts
// the process at the first frame of C++ that lets no exception through. So such a thread sleeps
// instead, as it does from 3.14 on, until the process has ended.
#pragma once

#include <atomic>
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>
#include <utility>

namespace tilewright::python {

/// What `f` gives; does not come back when the interpreter ends this thread in it.
template <class F>
auto unless_ended(F&& f) {
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
}

/// Calls a function of the user's: while it runs, other threads do, too.
template <class F, class... Args>
auto called(const F& function, Args&&... args) {
  return unless_ended([&] { return function(std::forward<Args>(args)...); });
}

/// Other threads may run Python while this lives.
class Unlocked {
 public:
  Unlocked() : state_((++inside, PyEval_SaveThread())) {}
  ~Unlocked() {
    unless_ended([&] { PyEval_RestoreThread(state_); });
    --inside;
  }
  /// How many threads are in native code, or wait to leave it.
  static inline std::atomic<int> inside = 0;
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// This thread, which may be one of ours, may use Python while this lives.
class Locked {
 public:
  Locked() : state_(unless_ended([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace tilewright::python
