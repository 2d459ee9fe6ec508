// SPDX-License-Identifier: Apache-2.0
// What the child process of one candidate does: builds it, checks it, times it.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "runtime/thread_pool.h"
#include "tune/measure/child.h"
#include "tune/measure/native.h"
#include "tune/measure/runner.h"

namespace tilewright::tune {

struct MeasureOptions {
  int threads = 1;                          // of the kernel
  double build_seconds = 10;                // at most, for one candidate
  double run_seconds = 4;                   // at most, checking and all repeats included
  double sample_seconds = 0.06;             // about, for all repeats of a quick kernel
  int repeats = 25;                         // at most; four times both where it may be the faster
  int64_t memory_bytes = int64_t{1} << 30;  // for building and running, beside the arguments
  uint64_t seed = 1;                        // of the arguments
};

/// What all candidates of a task are compared with: the default schedule.
struct Reference {
  NativeCode code;
  Arguments arguments;
  std::vector<Memory> packed;   // constants as `code` takes them
  std::vector<Memory> results;  // one for each parameter from arguments.inputs() on
  bool from_floats = false;
  double seconds = 0;              // of one call, roughly
  double build_seconds = 0;        // that it took to build
  std::string problem;             // why there is none; then nothing can be measured
  std::shared_ptr<FarMemory> far;  // of far_bytes, or null
};

/// Sets of arguments to call two kernels on in turn, each on sets of its own, so that they find
/// them where they do in a model: what is read and written once where that fits the second cache
/// for both, or else copies, as many as it takes to be more than that, and as many of constants as
/// make far_bytes for both.
class ArgumentSets {
 public:
  /// `taken` are the parameters of each kernel, by number; constants that it does not take as they
  /// are are null. All but the first copies of floats come from `far` if it is given.
  using Taken = std::array<std::vector<size_t>, 2>;
  ArgumentSets(const Arguments& arguments, const Task& task, const Taken& taken, FarMemory* far);
  const std::vector<std::vector<void*>>& buffers() const { return buffers_; }
  /// Of one kernel; those of the other one follow.
  size_t count() const { return count_; }
  size_t copies_of_constants() const { return copies_; }
  /// What a kernel reads of the set that is in the second cache when it is called; nothing where
  /// that is too much.
  const std::vector<std::span<const std::byte>>& near(size_t set) const { return near_[set]; }
  /// Everything as before the first call.
  void restore(size_t set) const;

 private:
  void restore(size_t set, size_t argument) const;

  const Arguments& arguments_;
  size_t copies_ = 1, count_ = 1;
  std::vector<Memory> memory_;
  std::vector<std::vector<void*>> buffers_;
  std::vector<std::vector<std::span<const std::byte>>> near_;
};

/// How a candidate becomes code: build_native, but for back ends and tests of their own.
using Build = NativeCode (*)(const Task& task, const schedule::Trace& trace);

/// The work of a child. Sends "built" when the code is there, waits for the word to run it, then
/// sends the measurement; when building fails, the measurement alone.
void run_trial(const Task& task, const schedule::Trace& trace, const Reference& reference,
               const MeasureOptions& options, Build build, runtime::ThreadPool* pool,
               const Link& link);

/// Calls the reference once and puts its results where the parent sees them: `shared` holds a
/// double, the seconds of a call, then the results one after the other, each from a multiple of 64.
void run_reference(const Task& task, const Reference& reference, std::byte* shared,
                   runtime::ThreadPool* pool, const Link& link);
int64_t shared_bytes_of(const Arguments& arguments);

std::string encoded(const Measurement& m);
/// Throws std::exception for what no trial sends.
Measurement decoded(const std::string& message);

}  // namespace tilewright::tune
