// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/attempt.h"

#include "support/diagnostic.h"

namespace tilewright::tune {

bool attempt(schedule::Schedule& s, FunctionRef<void()> steps) {
  schedule::Schedule before = s;
  try {
    steps();
    return true;
  } catch (const Error&) {
    s = std::move(before);
    return false;
  }
}

}  // namespace tilewright::tune
