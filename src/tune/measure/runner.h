// SPDX-License-Identifier: Apache-2.0
// The border between searching and measuring. A search proposes candidates and learns what became
// of them; where they are built and run is the runner's business: this machine, or devices far
// away.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/trace.h"
#include "tune/measure/estimate.h"
#include "tune/measure/task.h"

namespace tilewright::tune {

/// A schedule to try; the trace is for `task->func`.
struct Candidate {
  std::shared_ptr<const Task> task;
  schedule::Trace trace;
};

enum class Verdict : uint8_t {
  Ok,
  Refused,    // the trace does not apply, or lowering and code generation refuse the program
  Wrong,      // its results are not those of the default schedule
  Crashed,    // a signal ended it: a bad address, an illegal instruction
  TimedOut,   // building or running took longer than the limit
  NoMemory,   // it wanted more than the limit
  Forbidden,  // it asked the system for what a kernel may not do: files, sockets, processes
  Failed,     // the runner could not try it; says nothing about the candidate
};
std::string_view name(Verdict verdict);

/// What became of a candidate. The numbers are there when the verdict is Ok.
struct Measurement {
  Verdict verdict = Verdict::Failed;
  std::string error;            // for people; empty when it is Ok
  std::vector<double> seconds;  // of one call each, in the order measured
  Estimate time;                // of them
  /// The time over that of the default schedule, from calls that alternate, undisturbed. Searches
  /// compare candidates of a task by it.
  Estimate ratio;

  bool ok() const { return verdict == Verdict::Ok; }
  /// Faster beyond doubt. A tie is not a win.
  bool beats(const Measurement& other) const {
    return ok() && (!other.ok() || ratio.high < other.ratio.low);
  }
  bool beats_default() const { return ok() && ratio.high < 1; }
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// One measurement for each candidate, in their order. Never throws for what a candidate does;
  /// throws Error when nothing can be measured at all.
  virtual std::vector<Measurement> measure(std::span<const Candidate> candidates) = 0;
};

}  // namespace tilewright::tune
