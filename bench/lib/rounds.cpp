// SPDX-License-Identifier: Apache-2.0
#include "rounds.h"

#include <algorithm>
#include <cmath>

#include "measure.h"

namespace bench {
namespace {

double time_of(const std::function<void()>& f, int calls) {
  const double start = now();
  for (int i = 0; i < calls; ++i) f();
  return now() - start;
}

int calls_for(const std::function<void()>& f, double seconds) {
  double best = 1e9;
  for (int i = 0; i < 10; ++i) best = std::min(best, time_of(f, 1));
  return std::max(1, static_cast<int>(std::lround(seconds / best)));
}

}  // namespace

void measure_rounds(std::vector<Contender>& contenders, const std::function<void()>& canary,
                    int wanted, double limit) {
  constexpr double kSlice = 50e-6;
  std::vector<int> calls;
  for (const Contender& c : contenders) calls.push_back(calls_for(c.call, kSlice));
  double best = 1e9;
  for (int i = 0; i < 200; ++i) best = std::min(best, time_of(canary, 1));

  std::vector<std::vector<double>> times(contenders.size());
  const auto done = [&] {
    return std::all_of(contenders.begin(), contenders.end(),
                       [&](const Contender& c) { return c.clean >= wanted; });
  };
  const double end = now() + limit;
  while (!done() && now() < end) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      Contender& c = contenders[i];
      const double before = time_of(canary, 1);
      c.call();
      const double t = time_of(c.call, calls[i]);
      const double after = time_of(canary, 1);
      ++c.slices;
      best = std::min({best, before, after});
      // A clean canary reaches 95 % of the best one seen.
      if (before * 0.95 > best || after * 0.95 > best) continue;
      times[i].push_back(t / calls[i]);
      ++c.clean;
    }
  }
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (times[i].empty()) continue;
    contenders[i].seconds = quantile(times[i], 0.2);
    contenders[i].spread = quantile(times[i], 0.8) / contenders[i].seconds;
  }
}

}  // namespace bench
