// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/bare/memory.h"

namespace tilewright::runtime {

class BlockPool;

/// Counted memory of a pool, aligned to 64 bytes. It goes back to the pool with the last reference.
struct alignas(64) Block {
  std::atomic<int32_t> refs;
  uint32_t size_class;
  size_t capacity;
  BlockPool* pool;
  Block* next;  // in the pool's list of free ones

  void* data() { return this + 1; }
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();
  bool only_reference() const { return refs.load(std::memory_order_acquire) == 1; }
};

/// Memory of sizes that only a run knows. Freed blocks are kept by size class, so that a run like
/// the last one asks the allocator for nothing; sizes that change leave no more behind than was
/// ever used at once. The pool lives until its owner has closed it and the last block is back;
/// blocks may be released by any thread.
class BlockPool {
 public:
  /// `limit`: bytes that are held at most.
  static BlockPool* create(const Allocator& allocator, size_t limit);
  /// Gives up the owner's reference.
  void close();

  /// With one reference; nullptr when there is no memory.
  Block* get(int64_t bytes);
  size_t held_bytes() const { return held_.load(std::memory_order_relaxed); }
  /// Counts memory that the owner has beside the blocks; false when that is too much.
  bool count(size_t bytes);
  void uncount(size_t bytes) { beside_ -= bytes; }
  size_t limit() const { return limit_; }
  /// Gives the free blocks back.
  void trim();
  const Allocator& allocator() const { return allocator_; }

 private:
  friend struct Block;
  static constexpr uint32_t kClasses = 4 * 48;

  void put(Block* block);
  Block* take_free(uint32_t size_class);
  void forget(Block* block);
  void free_all_beyond(size_t bytes);
  bool room_for(size_t bytes);
  void drop();
  void lock() {
    while (locked_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { locked_.clear(std::memory_order_release); }

  Allocator allocator_;
  std::atomic<int64_t> refs_;  // blocks outside, and the owner
  std::atomic<size_t> held_;
  std::atomic_flag locked_;
  bool closed_;
  size_t used_, most_used_;  // bytes of the blocks outside, now and at most
  size_t limit_, beside_;    // bytes that may be held; that the owner has beside the blocks
  Block* free_[kClasses];
};

}  // namespace tilewright::runtime
