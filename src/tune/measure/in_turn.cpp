// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/in_turn.h"

#include <algorithm>
#include <chrono>

namespace tilewright::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewest = 6;        // pairs: below, nothing is sure
constexpr double kHopeless = 8;   // times slower: two pairs are enough to know
constexpr double kSlow = 1.04;    // times slower in each of the first few pairs: enough, too
constexpr int kFirst = 3;         // so many
constexpr int kLonger = 4;        // times as long, for one that may be the faster one
constexpr double kPlaces = 0.01;  // that the same code differs by in two places of memory
constexpr double kSampleSeconds = 50e-6;  // the clock and the call must not count

int calls_for(double seconds) {
  return static_cast<int>(std::clamp(kSampleSeconds / std::max(seconds, 1e-9), 1.0, 1000.0));
}

}  // namespace

Measurement in_turn(CallsInARow candidate, CallsInARow reference, double seconds, int repeats) {
  double mine = candidate(1), its = reference(1);  // code and tables come into caches
  const double first = mine, other = its;
  mine = std::min(mine, candidate(1));
  its = std::min(its, reference(1));
  // As many of both: who is called less often in a row finds less of its own in the caches.
  const bool hopeless = first > kHopeless * other && mine > kHopeless * its;
  const int calls = hopeless ? 1 : calls_for(std::min(mine, its));
  int fewest = hopeless ? 2 : kFewest, most = hopeless ? 2 : repeats;
  std::vector<Turn> turns;
  const auto ratio = [&] {
    Estimate out = quiet_ratio(turns);
    out.low *= 1 - kPlaces;
    out.high *= 1 + kPlaces;
    return out;
  };
  bool longer = false;
  const Clock::time_point start = Clock::now();
  const auto since_start = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  while (true) {
    const auto slow = [](const Turn& t) { return t.mine > kSlow * t.its; };
    if (turns.size() == kFirst && std::ranges::all_of(turns, slow)) fewest = most = kFirst;
    const auto pairs = static_cast<int>(turns.size());
    const int times = longer ? kLonger : 1;
    if (pairs >= times * most || (pairs >= fewest && since_start() > times * seconds)) {
      if (longer || pairs < kFewest) break;
      const Estimate so_far = ratio();
      longer = so_far.median < 1 && so_far.high >= 1 && since_start() < kLonger * seconds;
      if (!longer) break;
    }
    if (turns.size() % 2 == 0) {
      mine = candidate(calls);
      its = reference(calls);
    } else {
      its = reference(calls);
      mine = candidate(calls);
    }
    turns.push_back({mine, its});
  }
  Measurement out{.verdict = Verdict::Ok, .error = {}, .seconds = {}, .time = {}, .ratio = ratio()};
  for (const Turn& t : turns) out.seconds.push_back(t.mine);
  out.time = estimate(out.seconds);
  return out;
}

}  // namespace tilewright::tune
