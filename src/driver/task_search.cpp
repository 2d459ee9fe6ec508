// SPDX-License-Identifier: Apache-2.0
#include "driver/task_search.h"

#include <algorithm>
#include <optional>

namespace tilewright::driver {
namespace {

/// Factors of loops: register tiles, vectors, blocks of caches.
constexpr int64_t kFactors[] = {1,  2,  3,  4,  5,  6,  7,  8,   10,  12,  14,  16,
                                20, 24, 28, 32, 48, 64, 96, 128, 192, 256, 384, 512};

/// The numbers of a trace that may be others.
std::vector<schedule::Number*> open_numbers(schedule::Trace& trace) {
  std::vector<schedule::Number*> out;
  const auto add = [&](std::vector<schedule::Number>& factors) {
    for (schedule::Number& n : factors)
      if (!n.open && n.decision.empty()) out.push_back(&n);
  };
  for (schedule::TraceLine& line : trace.lines) {
    if (auto* split = std::get_if<schedule::Split>(&line.step)) add(split->factors);
    if (auto* tile = std::get_if<schedule::Tile>(&line.step)) add(tile->factors);
  }
  return out;
}

}  // namespace

TaskSearch::TaskSearch(std::shared_ptr<const tune::Task> task, uint64_t seed)
    : task_(std::move(task)), random_(seed), best_(tune::default_trace(*task_)) {
  tried_.insert(schedule::print(best_));
  done_ = open_numbers(best_).empty();
}

std::optional<schedule::Trace> TaskSearch::mutated(const schedule::Trace& trace) {
  schedule::Trace out = trace;
  const std::vector<schedule::Number*> numbers = open_numbers(out);
  for (uint64_t changes = 1 + random_.below(2); changes > 0; --changes) {
    schedule::Number& n = *numbers[random_.below(numbers.size())];
    // A near one, more often than not.
    const auto at = std::lower_bound(std::begin(kFactors), std::end(kFactors), n.value);
    const auto place = static_cast<int64_t>(at - std::begin(kFactors));
    const auto last = static_cast<int64_t>(std::size(kFactors)) - 1;
    const int64_t far = random_.unit() < 0.7 ? 3 : last;
    const int64_t to =
        place - far + static_cast<int64_t>(random_.below(static_cast<uint64_t>(2 * far + 1)));
    const int64_t value = kFactors[std::clamp<int64_t>(to, 0, last)], old = n.value;
    for (schedule::Number* other : numbers)  // equal numbers of a schedule mostly mean one thing
      if (other->value == old && random_.unit() < 0.8) other->value = value;
    n.value = value;
  }
  if (!tried_.insert(schedule::print(out)).second) return {};
  return out;
}

std::vector<tune::Candidate> TaskSearch::propose(size_t count) {
  std::vector<tune::Candidate> out;
  constexpr int kAttempts = 400;
  for (int i = 0; i < kAttempts && out.size() < count && !done_; ++i) {
    std::optional<schedule::Trace> trace = mutated(best_);
    if (!trace) continue;
    try {
      tune::scheduled(*task_, *trace);
    } catch (const Error&) {
      continue;  // the steps refuse it: not worth a process
    }
    out.push_back({task_, *std::move(trace)});
  }
  done_ = done_ || out.empty();
  return out;
}

void TaskSearch::report(const schedule::Trace& trace, const tune::Measurement& measurement) {
  tried_.insert(schedule::print(trace));
  if (!measurement.ok() || measurement.ratio.median >= best_ratio_) return;
  best_ratio_ = measurement.ratio.median;
  best_ = trace;
}

}  // namespace tilewright::driver
