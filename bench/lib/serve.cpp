// SPDX-License-Identifier: Apache-2.0
#include "serve.h"

#include <cstdio>
#include <vector>

#include "measure.h"

namespace bench {

void serve(const std::function<void()>& call) {
  std::printf("ready\n");
  std::fflush(stdout);
  double seconds = 0;
  while (std::scanf("%lf", &seconds) == 1) {
    std::vector<double> times;
    const double end = now() + seconds;
    while (times.size() < 3 || now() < end) {
      const double start = now();
      call();
      times.push_back(now() - start);
    }
    for (size_t i = 1; i < times.size(); ++i) std::printf("%.9f ", times[i]);
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace bench
