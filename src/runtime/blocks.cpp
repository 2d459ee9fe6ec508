// SPDX-License-Identifier: Apache-2.0
#include "runtime/blocks.h"

#include <algorithm>
#include <bit>
#include <new>

namespace tilewright::runtime {
namespace {

// Four classes for each power of two from 64 on: at most a fifth of a block is unused.
constexpr int64_t kLargest = int64_t{1} << 47;

uint32_t class_of(uint64_t bytes) {
  if (bytes <= 64) return 0;
  const auto log =
      static_cast<uint32_t>(std::bit_width(bytes - 1)) - 1;  // 2^log < bytes <= 2^(log+1)
  const uint64_t quarter = uint64_t{1} << (log - 2);
  const auto step = static_cast<uint32_t>((bytes - (uint64_t{1} << log) + quarter - 1) / quarter);
  return (log - 6) * 4 + step;
}

uint64_t bytes_of(uint32_t size_class) {
  const uint64_t base = uint64_t{64} << (size_class / 4);
  return base + base / 4 * (size_class % 4);
}

size_t bytes_with(const Block& block) { return sizeof(Block) + block.capacity; }

}  // namespace

void Block::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) pool->put(this);
}

BlockPool* BlockPool::create(const Allocator& allocator, size_t limit) {
  void* memory = allocator.get(sizeof(BlockPool), alignof(BlockPool));
  if (memory == nullptr) return nullptr;
  auto* pool = new (memory) BlockPool();
  pool->allocator_ = allocator;
  pool->limit_ = limit;
  pool->refs_.store(1);
  return pool;
}

/// A free block of the class, or of one up to twice as large.
Block* BlockPool::take_free(uint32_t size_class) {
  const uint32_t end = std::min(size_class + 5, kClasses);
  for (uint32_t at = size_class; at < end; ++at) {
    Block* block = free_[at];
    if (block == nullptr) continue;
    free_[at] = block->next;
    return block;
  }
  return nullptr;
}

Block* BlockPool::get(int64_t bytes) {
  if (bytes < 0 || bytes > kLargest) return nullptr;
  const uint32_t size_class = class_of(static_cast<uint64_t>(bytes));
  const size_t capacity = (bytes_of(size_class) + 63) / 64 * 64, all = sizeof(Block) + capacity;
  lock();
  Block* block = take_free(size_class);
  const bool is_new = block == nullptr;
  if (is_new && !room_for(all)) {
    unlock();
    return nullptr;
  }
  used_ += is_new ? all : bytes_with(*block);
  most_used_ = std::max(most_used_, used_);
  if (is_new) free_all_beyond(most_used_ - all);
  unlock();
  if (is_new) {
    void* memory = allocator_.get(all, 64);
    if (memory == nullptr) {
      lock();
      used_ -= all;
      unlock();
      return nullptr;
    }
    block = new (memory) Block();
    block->size_class = size_class;
    block->capacity = capacity;
    block->pool = this;
    held_.fetch_add(all, std::memory_order_relaxed);
  }
  block->refs.store(1, std::memory_order_relaxed);
  refs_.fetch_add(1, std::memory_order_relaxed);
  return block;
}

/// Frees blocks, small ones first, until no more than `bytes` are held or none is free.
void BlockPool::free_all_beyond(size_t bytes) {
  for (Block*& list : free_)
    while (list != nullptr && held_bytes() > bytes) {
      Block* block = list;
      list = block->next;
      forget(block);
    }
}

/// May so much more be held? Free blocks make room.
bool BlockPool::room_for(size_t bytes) {
  const size_t taken = beside_ + bytes;
  if (taken < bytes || taken > limit_) return false;
  free_all_beyond(limit_ - taken);
  return held_bytes() <= limit_ - taken;
}

bool BlockPool::count(size_t bytes) {
  lock();
  const bool fits = room_for(bytes);
  if (fits) beside_ += bytes;
  unlock();
  return fits;
}

void BlockPool::trim() {
  lock();
  free_all_beyond(0);
  most_used_ = used_;
  unlock();
}

void BlockPool::forget(Block* block) {
  const size_t bytes = bytes_with(*block);
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  allocator_.put(block, bytes);
}

void BlockPool::put(Block* block) {
  lock();
  used_ -= bytes_with(*block);
  const bool keep = !closed_;
  if (keep) {
    block->next = free_[block->size_class];
    free_[block->size_class] = block;
  }
  unlock();
  if (!keep) forget(block);
  drop();
}

void BlockPool::drop() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const Allocator allocator = allocator_;
    allocator.put(this, sizeof *this);
  }
}

void BlockPool::close() {
  lock();
  closed_ = true;
  unlock();
  free_all_beyond(0);
  drop();
}

}  // namespace tilewright::runtime
