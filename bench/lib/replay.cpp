// SPDX-License-Identifier: Apache-2.0
// Compiled for the very machine (CMakeLists.txt), so that the vectors are the widest it has.
#include "replay.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "measure.h"
#include "support/bare/paged_memory.h"

namespace bench {
namespace {

constexpr int64_t kLine = 64;
typedef float Line __attribute__((vector_size(kLine)));

volatile float sink;

void read(const std::byte* memory, const Touch& t) {
  const auto* lines = reinterpret_cast<const Line*>(memory + t.begin / kLine * kLine);
  const int64_t count = (t.begin + t.bytes + kLine - 1) / kLine - t.begin / kLine;
  Line sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int64_t j = 0; j < 4; ++j) sums[j] += lines[i + j];
  for (; i < count; ++i) sums[0] += lines[i];
  sink = (sums[0] + sums[1] + sums[2] + sums[3])[0];
}

/// Seconds that it takes.
double pass(const std::byte* memory, const std::vector<Touch>& touches) {
  const double begin = now();
  double most = 1;
  for (const Touch& t : touches) {
    read(memory, t);
    most = std::max(most, t.times);
  }
  for (int64_t again = 1; again < static_cast<int64_t>(most); ++again)
    for (const Touch& t : touches)
      if (t.times > static_cast<double>(again)) read(memory, t);
  return now() - begin;
}

}  // namespace

std::vector<double> replay(const std::vector<ReplayStep>& steps, int runs, double limit) {
  int64_t bytes = kLine;
  for (const ReplayStep& s : steps)
    for (const Touch& t : s.touches) bytes = std::max(bytes, t.begin + t.bytes + kLine);
  // As the runtime has weights and arena.
  const tilewright::PagedMemory memory(static_cast<size_t>(bytes), true);
  if (memory.size() == 0) throw std::bad_alloc();
  std::memset(memory.data(), 0, memory.size());

  std::vector<double> nothing;
  for (int i = 0; i < 100; ++i) nothing.push_back(pass(memory.data(), {}));
  const double clock = quantile(nothing, 0.5);
  std::vector<std::vector<double>> times(steps.size());
  const double end = now() + limit;
  for (int run = 0; run < runs || now() < end; ++run) {
    double next = now();
    for (size_t s = 0; s < steps.size(); ++s) {
      const double t = pass(memory.data(), steps[s].touches);
      if (run > 0) times[s].push_back(std::max(t - clock, 0.0));
      next += steps[s].seconds;
      while (now() < next) {  // as long as the kernel would compute
      }
    }
  }
  std::vector<double> out;
  for (const std::vector<double>& t : times) out.push_back(quantile(t, 0.2));
  return out;
}

}  // namespace bench
