// SPDX-License-Identifier: Apache-2.0
#include "support/bare/error_text.h"

#include <cstdarg>
#include <cstdio>

namespace tilewright {

bool ErrorText::set(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(text_, kBytes, format, args);
  va_end(args);
  return false;
}

}  // namespace tilewright
