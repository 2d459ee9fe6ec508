// SPDX-License-Identifier: Apache-2.0
#include "runtime/blocks.h"

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

}  // namespace

void Block::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) pool->put(this);
}

BlockPool* BlockPool::create(const Allocator& allocator) {
  void* memory = allocator.get(sizeof(BlockPool), alignof(BlockPool));
  if (memory == nullptr) return nullptr;
  auto* pool = new (memory) BlockPool();
  pool->allocator_ = allocator;
  pool->refs_.store(1);
  return pool;
}

Block* BlockPool::get(int64_t bytes) {
  if (bytes < 0 || bytes > kLargest) return nullptr;
  const uint32_t size_class = class_of(static_cast<uint64_t>(bytes));
  lock();
  Block* block = free_[size_class];
  if (block != nullptr) free_[size_class] = block->next;
  unlock();
  if (block == nullptr) {
    const size_t capacity = (bytes_of(size_class) + 63) / 64 * 64;
    void* memory = allocator_.get(sizeof(Block) + capacity, 64);
    if (memory == nullptr) return nullptr;
    block = new (memory) Block();
    block->size_class = size_class;
    block->capacity = capacity;
    block->pool = this;
    held_.fetch_add(sizeof(Block) + capacity, std::memory_order_relaxed);
  }
  block->refs.store(1, std::memory_order_relaxed);
  refs_.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void BlockPool::forget(Block* block) {
  const size_t bytes = sizeof(Block) + block->capacity;
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  allocator_.put(block, bytes);
}

void BlockPool::put(Block* block) {
  lock();
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
  for (Block*& list : free_)
    while (list != nullptr) {
      Block* block = list;
      list = block->next;
      forget(block);
    }
  drop();
}

}  // namespace tilewright::runtime
