// SPDX-License-Identifier: Apache-2.0
// Reading and writing all of a buffer, however many calls of the system that takes.
#pragma once

#include <cerrno>
#include <cstddef>
#include <unistd.h>

namespace tilewright {

/// False at an error, or when the other side ends before.
inline bool read_all(int fd, void* to, size_t bytes) {
  for (char* p = static_cast<char*>(to); bytes > 0;) {
    const ssize_t n = ::read(fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

inline bool write_all(int fd, const void* from, size_t bytes) {
  for (const char* p = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t n = ::write(fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace tilewright
