// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tilewright {

/// A message of bounded size that needs no memory of the heap; a longer one is cut.
class ErrorText {
 public:
  /// Like printf. Returns false, so that a check can say `return error.set(…)`.
  [[gnu::format(printf, 2, 3)]] bool set(const char* format, ...);
  void clear() { text_[0] = 0; }
  const char* text() const { return text_; }

 private:
  static constexpr size_t kBytes = 1024;
  char text_[kBytes] = "";
};

}  // namespace tilewright
