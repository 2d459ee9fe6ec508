// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/bare/paged_memory.h"
#include "tune/measure/task.h"

namespace tilewright::tune {

/// Memory as kernels want it.
class Memory {
 public:
  enum class Pages : uint8_t { Small, Large };
  /// Of so many bytes in a run.
  static Pages pages_of(int64_t bytes);
  explicit Memory(int64_t bytes, Pages pages = Pages::Small);
  std::byte* data() const { return large_.size() > 0 ? large_.data() : data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  PagedMemory large_;  // new pages: those that malloc has had before are small ones
  int64_t size_;
};

/// The parameters of a task: what they hold before a call, made from a seed.
class Arguments {
 public:
  Arguments() = default;
  /// Bytes of each parameter; throws Error when one has no known size, or an absurd one.
  explicit Arguments(const Task& task);
  void fill(uint64_t seed);

  size_t inputs() const { return inputs_; }
  size_t count() const { return params_.size(); }
  int64_t bytes(size_t i) const { return bytes_[i]; }
  int64_t total() const;
  const Memory& content(size_t i) const { return content_[i]; }
  ir::Elem elem(size_t i) const { return params_[i].buffer->elem; }
  int64_t elements(size_t i) const { return elements_[i]; }
  /// For one of the constants, as given or packed, on the pages that those of the model lie on; a
  /// small one is not worth a large page of its own.
  Memory memory_of_constant(int64_t bytes) const;

 private:
  std::vector<ir::Param> params_;
  std::vector<int64_t> elements_, bytes_;
  std::vector<Memory> content_;
  Memory::Pages of_constants_ = Memory::Pages::Small;
  size_t inputs_ = 0;
};

/// How one result differs from what is right, as a sentence; empty when it is as it should be.
/// Floats may differ by what another order of a sum makes, and integers that come of floats by one
/// here and there.
std::string difference(ir::Elem elem, int64_t elements, const std::byte* want, const std::byte* got,
                       bool from_floats);
/// Does the function compute with floats?
bool computes_floats(const ir::LoopFunc& func);

}  // namespace tilewright::tune
