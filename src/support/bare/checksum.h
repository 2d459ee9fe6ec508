// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright {

/// A 64-bit checksum of a byte string, the same on every machine; finds damage, not forgery. Any
/// change within one aligned 8-byte word changes it for certain.
uint64_t checksum(const void* data, size_t bytes);

/// The same piece by piece.
class Checksum {
 public:
  Checksum();
  void add(const void* data, size_t bytes);
  uint64_t value() const;

 private:
  static constexpr size_t kLanes = 8;
  static constexpr size_t kBlock = kLanes * 8;
  void blocks(const unsigned char* p, size_t count);

  uint64_t lanes_[kLanes];
  unsigned char rest_[kBlock];
  size_t rest_bytes_ = 0;
  uint64_t total_ = 0;
};

}  // namespace tilewright
