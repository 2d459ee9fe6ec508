// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/estimate.h"

#include <algorithm>
#include <cmath>

#include "ir/interpret/random.h"

namespace tilewright::tune {
namespace {

/// What is left of times when nothing disturbs.
double quiet(std::vector<double>& seconds) {
  const auto at = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 8);
  std::ranges::nth_element(seconds, at);
  return *at;
}

}  // namespace

Estimate estimate(std::vector<double> samples) {
  const size_t n = samples.size();
  if (n == 0) return {};
  std::sort(samples.begin(), samples.end());
  Estimate out;
  out.median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  // The median is below the k-th smallest only if at most k - 1 of n fair coins show heads, and
  // likewise above: the greatest k that leaves 5 % for both.
  double exactly = std::pow(0.5, static_cast<double>(n)), at_most = exactly;
  size_t k = 0;
  while (true) {
    exactly *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (2 * (at_most + exactly) > 0.05) break;
    at_most += exactly;
    ++k;
  }
  out.low = samples[k];
  out.high = samples[n - 1 - k];
  return out;
}

Estimate quiet_ratio(const std::vector<Turn>& turns) {
  constexpr size_t kDraws = 200, kTail = kDraws / 40;
  constexpr size_t kFew = 12;  // the quiet eighth is one or two: drawing again says little of it
  if (turns.empty()) return {1, 1, 1};
  std::vector<double> mine(turns.size()), its(turns.size()), drawn;
  const auto ratio = [&](const auto& pick) {
    for (size_t i = 0; i < turns.size(); ++i) {
      const Turn& turn = turns[pick(i)];
      mine[i] = turn.mine;
      its[i] = turn.its;
    }
    return quiet(mine) / quiet(its);
  };
  const double all = ratio([](size_t i) { return i; });
  ir::Random random(1);
  for (size_t d = 0; d < kDraws; ++d)
    drawn.push_back(ratio([&](size_t) { return random.below(turns.size()); }));
  std::ranges::sort(drawn);
  Estimate out{all, std::min(all, drawn[kTail]), std::max(all, drawn[kDraws - 1 - kTail])};
  if (turns.size() < kFew) {
    std::vector<double> ratios;
    for (const Turn& turn : turns) ratios.push_back(turn.mine / turn.its);
    const Estimate middle = estimate(std::move(ratios));
    out.low = std::min(out.low, middle.low);
    out.high = std::max(out.high, middle.high);
  }
  return out;
}

}  // namespace tilewright::tune
