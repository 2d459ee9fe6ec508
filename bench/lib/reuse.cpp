// SPDX-License-Identifier: Apache-2.0
#include "reuse.h"

#include <algorithm>
#include <map>

namespace bench {
namespace {

constexpr int64_t kGrain = 4096;  // bytes that are followed as one

/// Counts of moments, with sums over ranges of them.
class Counts {
 public:
  explicit Counts(size_t n) : tree_(n + 1) {}
  void add(size_t at, int64_t n) {
    for (size_t i = at + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += n;
  }
  int64_t up_to(size_t at) const {
    int64_t sum = 0;
    for (size_t i = at + 1; i > 0; i -= i & (~i + 1)) sum += tree_[i];
    return sum;
  }

 private:
  std::vector<int64_t> tree_;
};

int64_t first_grain(const Touch& t) { return t.begin / kGrain; }
int64_t end_grain(const Touch& t) { return (t.begin + t.bytes + kGrain - 1) / kGrain; }

}  // namespace

std::vector<std::vector<Reuse>> reuse_of(const std::vector<std::vector<Touch>>& steps) {
  size_t moments = 0;
  for (const std::vector<Touch>& step : steps)
    for (const Touch& t : step) moments += static_cast<size_t>(end_grain(t) - first_grain(t));
  // The first time round finds nothing; the second one sees what every later one does.
  Counts latest(2 * moments);      // 1 at the moment of each grain's last touch
  std::map<int64_t, size_t> last;  // that moment
  std::vector<std::vector<Reuse>> out(steps.size());
  size_t now = 0;
  for (const bool counts : {false, true})
    for (size_t s = 0; s < steps.size(); ++s) {
      double again = 0;  // bytes that the step itself touches more than once
      for (const Touch& t : steps[s])
        if (t.times > 1) again += static_cast<double>(t.bytes);
      for (const Touch& t : steps[s]) {
        const double each = static_cast<double>(t.bytes) / static_cast<double>(std::max<int64_t>(
                                                               end_grain(t) - first_grain(t), 1));
        for (int64_t g = first_grain(t); g < end_grain(t); ++g, ++now) {
          const auto [found, fresh] = last.try_emplace(g, now);
          if (!fresh) {
            const int64_t since = latest.up_to(now) - latest.up_to(found->second);
            if (counts) out[s].push_back({each, static_cast<double>((since + 1) * kGrain)});
            latest.add(found->second, -1);
            found->second = now;
          }
          latest.add(now, 1);
        }
        if (counts && t.times > 1)
          out[s].push_back({static_cast<double>(t.bytes) * (t.times - 1), again});
      }
    }
  return out;
}

}  // namespace bench
