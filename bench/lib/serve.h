// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace bench {

/// Answers as a contender of bench/contest.py: prints "ready", then for each line SECONDS on
/// standard input the seconds of every call made in that time but the first, on one line.
void serve(const std::function<void()>& call);

}  // namespace bench
