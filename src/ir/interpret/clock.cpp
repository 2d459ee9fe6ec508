// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/clock.h"

#include <algorithm>

namespace tilewright::ir::run {

constexpr int kBits = 4;
constexpr uint32_t kFan = 1u << kBits;

/// A leaf holds the times of 16 tasks, an inner node 16 nodes of the level below.
struct Clock::Node {
  uint32_t refs = 1;
  union {
    Node* child[kFan];
    uint32_t time[kFan];
  };
  Node() { std::fill(child, child + kFan, nullptr); }
};

Clock::Node* Clock::retained(Node* node) {
  if (node) ++node->refs;
  return node;
}

void Clock::drop(Node* node, int height) {
  if (!node || --node->refs > 0) return;
  if (height > 0)
    for (Node* c : node->child) drop(c, height - 1);
  delete node;
}

/// The node to change in place: itself when nobody else holds it, else a copy.
Clock::Node* Clock::unique(Node* node, int height) {
  if (node->refs == 1) return node;
  Node* copy = new Node;
  if (height > 0)
    for (uint32_t i = 0; i < kFan; ++i) copy->child[i] = retained(node->child[i]);
  else
    std::copy(node->time, node->time + kFan, copy->time);
  --node->refs;
  return copy;
}

Clock::Clock(const Clock& other) : root_(retained(other.root_)), height_(other.height_) {}

Clock::~Clock() { drop(root_, height_); }

uint32_t Clock::at(uint32_t id) const {
  if (!root_ || id >> (kBits * (height_ + 1)) != 0) return 0;
  const Node* node = root_;
  for (int h = height_; h > 0; --h) {
    node = node->child[(id >> (kBits * h)) % kFan];
    if (!node) return 0;
  }
  return node->time[id % kFan];
}

void Clock::grow(int height) {
  while (height_ < height) {
    if (root_) {
      Node* above = new Node;
      above->child[0] = root_;
      root_ = above;
    }
    ++height_;
  }
}

void Clock::raise(uint32_t id, uint32_t time) {
  int height = 0;
  while (id >> (kBits * (height + 1)) != 0) ++height;
  grow(height);
  Node** at = &root_;
  for (int h = height_;; --h) {
    *at = *at ? unique(*at, h) : new Node;
    if (h == 0) break;
    at = &(*at)->child[(id >> (kBits * h)) % kFan];
  }
  uint32_t& known = (*at)->time[id % kFan];
  known = std::max(known, time);
}

/// Takes over the reference to `a`, borrows `b`.
Clock::Node* Clock::joined(Node* a, Node* b, int height) {
  if (a == b || !b) return a;
  if (!a) return retained(b);
  if (height == 0) {
    bool a_later = false, b_later = false;
    for (uint32_t i = 0; i < kFan; ++i) {
      a_later |= a->time[i] > b->time[i];
      b_later |= b->time[i] > a->time[i];
    }
    if (!b_later) return a;
    if (!a_later) {
      drop(a, 0);
      return retained(b);
    }
    a = unique(a, 0);
    for (uint32_t i = 0; i < kFan; ++i) a->time[i] = std::max(a->time[i], b->time[i]);
    return a;
  }
  for (uint32_t i = 0; i < kFan; ++i) {
    if (a->child[i] == b->child[i] || !b->child[i]) continue;
    if (a->refs == 1) {
      a->child[i] = joined(a->child[i], b->child[i], height - 1);
      continue;
    }
    Node* const before = a->child[i];
    Node* const after = joined(retained(before), b->child[i], height - 1);
    if (after == before) {
      drop(after, height - 1);
      continue;
    }
    a = unique(a, height);
    drop(a->child[i], height - 1);
    a->child[i] = after;
  }
  return a;
}

void Clock::join(const Clock& other) {
  if (!other.root_ || root_ == other.root_) return;
  if (!root_) {
    *this = other;
    return;
  }
  grow(other.height_);
  if (other.height_ == height_) {
    root_ = joined(root_, other.root_, height_);
    return;
  }
  Clock taller = other;
  taller.grow(height_);
  root_ = joined(root_, taller.root_, height_);
}

}  // namespace tilewright::ir::run
