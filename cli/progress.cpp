// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <unistd.h>

namespace tilewright::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Bar {
  std::mutex mutex;
  Clock::time_point next = Clock::now() + std::chrono::milliseconds(300);
  size_t most = 0;
  bool shown = false;

  void draw(const std::string& what, size_t done, size_t all) {
    constexpr size_t kWidth = 30;
    const std::lock_guard lock(mutex);
    most = std::max(most, done);  // threads report out of order
    if (most == all) {
      if (shown) std::fprintf(stderr, "\r\033[K");
      most = 0;
      shown = false;
      return;
    }
    if (Clock::now() < next) return;
    next = Clock::now() + std::chrono::milliseconds(50);
    shown = true;
    const size_t full = kWidth * most / all;
    std::fprintf(stderr, "\r[%s%s] %zu of %zu %s", std::string(full, '#').c_str(),
                 std::string(kWidth - full, ' ').c_str(), most, all, what.c_str());
  }
};

}  // namespace

std::function<void(size_t, size_t)> progress_bar(const std::string& what) {
  if (!isatty(STDERR_FILENO)) return {};
  return [bar = std::make_shared<Bar>(), what](size_t done, size_t all) {
    bar->draw(what, done, all);
  };
}

}  // namespace tilewright::cli
