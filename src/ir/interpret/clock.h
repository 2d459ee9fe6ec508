// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace tilewright::ir::run {

/// A vector clock: how far into every task's work something has seen. Kept as a tree that copies
/// share, so that thousands of threads can hold one each and joining two that came from the same
/// barrier looks only at where they differ.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock& other);
  Clock(Clock&& other) noexcept
      : root_(std::exchange(other.root_, nullptr)), height_(std::exchange(other.height_, 0)) {}
  Clock& operator=(Clock other) noexcept {
    std::swap(root_, other.root_);
    std::swap(height_, other.height_);
    return *this;
  }
  ~Clock();

  /// The time of task `id` up to which everything happened before; 0: nothing.
  uint32_t at(uint32_t id) const;
  /// Raises the time of one task.
  void raise(uint32_t id, uint32_t time);
  /// The later time of each task.
  void join(const Clock& other);

 private:
  struct Node;
  static Node* retained(Node* node);
  static void drop(Node* node, int height);
  static Node* unique(Node* node, int height);
  static Node* joined(Node* a, Node* b, int height);
  void grow(int height);

  Node* root_ = nullptr;
  int height_ = 0;  // inner levels above the leaves
};

/// One access in time: a task and its time then. 0 happened before everything.
struct Epoch {
  uint32_t task = 0, time = 0;
  bool none() const { return time == 0; }
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

}  // namespace tilewright::ir::run
