// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "support/diagnostic.h"
#include "tune/measure/runner.h"

namespace tilewright::tune {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Ok: return "ok";
    case Verdict::Refused: return "refused";
    case Verdict::Wrong: return "wrong";
    case Verdict::Crashed: return "crashed";
    case Verdict::TimedOut: return "timed out";
    case Verdict::NoMemory: return "no memory";
    case Verdict::Forbidden: return "forbidden";
    case Verdict::Failed: return "failed";
  }
  throw InternalError("unknown verdict");
}

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

}  // namespace tilewright::tune
