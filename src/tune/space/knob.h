// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::tune {

enum class KnobKind : uint8_t { Split, Order, Choice, Number, Bool };

/// What one candidate of a knob stands for: the factors of a split, outermost first and without
/// the open one; the places of an order; a single number otherwise.
using Value = std::vector<int64_t>;

/// One thing that a template leaves open.
struct Knob {
  std::string name;
  KnobKind kind{};
  std::vector<Value> candidates;
  std::vector<std::string> labels;  // of a choice, by number

  /// `4x14`, `2.0.1`, `registers`, `8`, `yes`: no spaces, and each candidate its own.
  std::string text(size_t candidate) const;
};

/// A decision for each knob of a space, by number of the candidate.
struct Point {
  std::vector<uint32_t> choice;
  friend bool operator==(const Point&, const Point&) = default;
};
struct PointHash {
  size_t operator()(const Point& p) const;
};

/// Values of some knobs, in the order in which a constraint lists them.
using Values = std::vector<const Value*>;

/// What must hold between values of knobs. A point that breaks it is not part of the space.
struct Constraint {
  std::string text;           // "tile_y * tile_x fits 32 registers"
  std::vector<size_t> knobs;  // those it is about
  std::function<bool(const Values&)> holds;
  /// No value makes it easier to keep than the first candidate of its knob does, so that it can be
  /// checked before all of them are decided.
  bool monotone = false;
};

}  // namespace tilewright::tune
