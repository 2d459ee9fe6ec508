// SPDX-License-Identifier: Apache-2.0
// What samples of times say, and how sure that is.
#pragma once

#include <vector>

namespace tilewright::tune {

/// A number, a median or a ratio, with the interval that holds it with 95 % confidence.
struct Estimate {
  double median = 0, low = 0, high = 0;
};

/// The median of samples in any order, by order statistics: no shape of their distribution is
/// assumed. Of fewer than six samples the interval is all of them, at less confidence.
Estimate estimate(std::vector<double> samples);

/// Times of two that took turns.
struct Turn {
  double mine, its;
};

/// The ratio of both times when nothing disturbs them: of the eighths that are shortest. On a
/// virtual machine a run in four may be interrupted, so that the median of ratios says little. The
/// interval is what 95 % of as many turns give, drawn at random from these; where they are few, it
/// holds the median of the turns' ratios, too. No turns: no difference.
Estimate quiet_ratio(const std::vector<Turn>& turns);

}  // namespace tilewright::tune
