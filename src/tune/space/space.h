// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interpret/random.h"
#include "tune/space/knobs.h"

namespace tilewright::tune {

/// How many points a space has.
struct SpaceSize {
  double points = 0;
  bool exact = true;  // counted; otherwise an estimate from random samples
};

/// All schedules that a template can make of one function: its knobs and what must hold between
/// their values. Only legal points leave it.
class Space {
 public:
  /// Runs the template once. An Error names the template when it throws.
  Space(const ir::LoopFunc& func, Template how, std::vector<ir::Instruction> instructions = {})
      : Space(schedule::Schedule(func, std::move(instructions)), std::move(how)) {}
  /// Every schedule of the space starts with the steps of this one.
  Space(schedule::Schedule start, Template how);

  const std::string& name() const { return how_.name; }
  const std::vector<Knob>& knobs() const { return knobs_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  const SpaceSize& size() const { return size_; }
  /// Why there is no point at all; empty when there is one.
  const std::string& why_empty() const { return why_empty_; }

  bool legal(const Point& point) const;
  /// A legal point; nothing when the space is empty.
  std::optional<Point> random(ir::Random& random) const;
  /// A legal point that differs from this one in one knob, or in those that must change with it; or
  /// two loops that are split have exchanged their innermost sizes.
  Point neighbour(const Point& point, ir::Random& random) const;
  /// A legal point near this one, which need not be one: knobs keep their values where they can.
  std::optional<Point> repaired(const Point& point, ir::Random& random) const;
  /// The legal points in the order of knobs and candidates: the first, and the one that follows.
  std::optional<Point> first() const;
  std::optional<Point> next(const Point& point) const;

  /// The schedule of a legal point. An Error when the template, or a step in it, fails.
  schedule::Schedule apply(const Point& point) const;

  /// `tile_y=4x14 order=2.0.1 pack_B=yes`, and back. An Error says which knob does not fit: records
  /// of another version or shape.
  std::string encode(const Point& point) const;
  Point decode(std::string_view text) const;

  /// Size, knobs and constraints, for people.
  std::string print() const;

 private:
  /// With the innermost sizes of two splits exchanged, where that is legal.
  Point exchanged(const Point& point, ir::Random& random) const;
  bool fits(const Constraint& constraint, const std::vector<uint32_t>& choice) const;
  bool group_fits(const std::vector<size_t>& group, const std::vector<uint32_t>& choice) const;
  bool fits_so_far(const std::vector<size_t>& knobs, size_t at,
                   const std::vector<uint32_t>& choice) const;
  bool advance(const std::vector<size_t>& knobs, size_t at, bool after,
               std::vector<uint32_t>& choice) const;
  bool complete(const std::vector<size_t>& group, const std::vector<uint32_t>& wanted,
                std::vector<uint32_t>& choice, ir::Random& random) const;
  void find_groups();
  SpaceSize count() const;

  schedule::Schedule start_;
  Template how_;
  std::vector<Knob> knobs_;
  std::vector<Constraint> constraints_;
  std::vector<std::vector<size_t>> of_knob_;  // the constraints about each knob
  std::vector<std::vector<size_t>> groups_;   // knobs that constraints connect
  SpaceSize size_;
  std::string why_empty_;
};

}  // namespace tilewright::tune
