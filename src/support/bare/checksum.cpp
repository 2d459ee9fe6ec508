// SPDX-License-Identifier: Apache-2.0
// Eight lanes, each taking every eighth word: one multiplication a word and no dependence between
// lanes, so that the speed is that of the multiplier (and then of memory). A lane's step is a
// bijection of its state for a fixed word and of the word for a fixed state: one changed word
// always changes its lane, and one changed lane the result.
#include "support/bare/checksum.h"

#include <bit>
#include <cstring>

namespace tilewright {
namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // odd: 2^64 over the golden ratio

uint64_t word_at(const unsigned char* p) {
  uint64_t w;
  std::memcpy(&w, p, 8);
  if constexpr (std::endian::native == std::endian::big) w = __builtin_bswap64(w);
  return w;
}

uint64_t step(uint64_t lane, uint64_t word) { return std::rotl(lane ^ word, 29) * kMultiplier; }

/// Spreads every bit over all others.
uint64_t mix(uint64_t h) {
  h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
  h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
  return h ^ h >> 32;
}

}  // namespace

Checksum::Checksum() {
  for (size_t i = 0; i < kLanes; ++i) lanes_[i] = mix(i + 1);
}

void Checksum::blocks(const unsigned char* p, size_t count) {
  uint64_t lanes[kLanes];
  std::memcpy(lanes, lanes_, sizeof lanes);
  for (size_t block = 0; block < count; ++block, p += kBlock)
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = step(lanes[i], word_at(p + 8 * i));
  std::memcpy(lanes_, lanes, sizeof lanes);
}

void Checksum::add(const void* data, size_t bytes) {
  if (bytes == 0) return;
  const auto* p = static_cast<const unsigned char*>(data);
  total_ += bytes;
  if (rest_bytes_ > 0) {
    const size_t take = bytes < kBlock - rest_bytes_ ? bytes : kBlock - rest_bytes_;
    std::memcpy(rest_ + rest_bytes_, p, take);
    rest_bytes_ += take;
    p += take;
    bytes -= take;
    if (rest_bytes_ < kBlock) return;
    blocks(rest_, 1);
    rest_bytes_ = 0;
  }
  blocks(p, bytes / kBlock);
  rest_bytes_ = bytes % kBlock;
  std::memcpy(rest_, p + (bytes - rest_bytes_), rest_bytes_);
}

uint64_t Checksum::value() const {
  unsigned char last[kBlock] = {};
  std::memcpy(last, rest_, rest_bytes_);
  uint64_t h = mix(total_);
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t lane = step(lanes_[i], word_at(last + 8 * i));
    h = (std::rotl(h, 23) ^ mix(lane)) * kMultiplier;
  }
  return mix(h);
}

uint64_t checksum(const void* data, size_t bytes) {
  Checksum sum;
  sum.add(data, bytes);
  return sum.value();
}

}  // namespace tilewright
