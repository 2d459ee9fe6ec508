// SPDX-License-Identifier: Apache-2.0
// How times are taken on machines with a quiet and a disturbed state: a slice counts only between
// two clean runs of a short canary (DESIGN.md §6).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

double now();  // seconds
double quantile(std::vector<double> values, double q);

/// FLOP/s of a loop of FMAs on registers only, with the widest vectors of this machine.
double fma_rate(double seconds);
/// Useful FLOPs of one call of the FMA loop, and the call itself.
struct FmaLoop {
  void (*run)(int64_t iterations);
  double flops_per_iteration;
};
FmaLoop fma_loop();

struct QuietResult {
  double seconds = 0;  // 20 % quantile over the clean slices
  double peak = 0;     // FLOP/s of the FMA loop in the same rounds, by the same quantile
  int clean = 0;       // slices kept
  int slices = 0;      // slices taken
};

/// Times `work` in slices of one call each, every slice between two canaries; the canary is an
/// L1-resident kernel of 20 to 40 µs. Goes on until `wanted` clean slices or `limit` seconds.
QuietResult measure_quiet(const std::function<void()>& work, const std::function<void()>& canary,
                          int wanted, double limit);

/// The same for work that is too long to stay undisturbed: `work(i)` for i = 0 … chunks − 1 in
/// turn, each a slice of its own with its own quantile. The time is their sum; none when a chunk
/// had no clean slice. `clean` counts those of the chunk that had the fewest.
QuietResult measure_quiet_chunks(int chunks, const std::function<void(int)>& work,
                                 const std::function<void()>& canary, int wanted, double limit);

}  // namespace bench
