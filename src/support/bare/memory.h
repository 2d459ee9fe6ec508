// SPDX-License-Identifier: Apache-2.0
// Memory that may be refused: the runtime answers with an error, it does not end the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tilewright {

/// Where memory comes from; the caller of the runtime may give his own.
struct Allocator {
  void* user = nullptr;
  void* (*allocate)(void* user, size_t bytes, size_t alignment) = nullptr;
  void (*release)(void* user, void* memory, size_t bytes) = nullptr;

  void* get(size_t bytes, size_t alignment) const { return allocate(user, bytes, alignment); }
  void put(void* memory, size_t bytes) const { release(user, memory, bytes); }
};

/// The one of the C library.
Allocator system_allocator();

/// `n` plain records, all bits 0; empty when there was no memory.
template <class T>
class Array {
 public:
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

  Array() = default;
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() { clear(); }

  bool resize(const Allocator& from, size_t n) {
    clear();
    if (n == 0) return true;
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, sizeof(T), &bytes)) return false;
    void* p = from.get(bytes, alignof(T) > 64 ? alignof(T) : 64);
    if (p == nullptr) return false;
    std::memset(p, 0, bytes);
    data_ = static_cast<T*>(p);
    size_ = n;
    from_ = from;
    return true;
  }
  void clear() {
    if (data_ != nullptr) from_.put(data_, size_ * sizeof(T));
    data_ = nullptr;
    size_ = 0;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  void swap(Array& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(from_, other.from_);
  }
  T* data_ = nullptr;
  size_t size_ = 0;
  Allocator from_;
};

}  // namespace tilewright
