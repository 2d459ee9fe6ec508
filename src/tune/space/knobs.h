// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "tune/space/knob.h"

namespace tilewright::tune {

/// What a scheduling function asks for its numbers. The function runs once to learn which knobs
/// there are, with the first candidate of each, and once for each point that is tried, with the
/// values of that point. Which knobs it declares, and their candidates, must not depend on values.
///   void tiled(schedule::Schedule& s, Knobs& k) {
///     auto [y, x, r] = s.loops<3>("C");
///     const Value tile = k.split("tile_y", 512, {.parts = 1, .most = 16});
///     auto [y0, y1] = s.split<2>(y, {kOpen, tile[0]});
///     if (k.boolean("unroll")) s.unroll(y1);
///   }
class Knobs {
 public:
  struct SplitOptions {
    size_t parts = 1;          // factors, beside the outermost, which is open
    int64_t most = INT64_MAX;  // that the innermost factor may be
    bool tails = false;        // the innermost may leave a rest; the others always divide
  };
  /// Factors of a loop of `extent` iterations, outermost first, without the open one.
  Value split(const std::string& name, int64_t extent, SplitOptions options);
  /// An order of `count` things, at most 6: their numbers, first one first.
  Value order(const std::string& name, size_t count);
  /// One of several things by name.
  size_t choice(const std::string& name, std::vector<std::string> labels);
  int64_t number(const std::string& name, std::vector<int64_t> candidates);
  bool boolean(const std::string& name);
  /// Any list of candidates.
  Value values(const std::string& name, KnobKind kind, std::vector<Value> candidates);

  /// Leaves out the points whose values do not fit together; `knobs` are declared before. What
  /// `holds` uses of the function's variables, it keeps by value.
  void require(std::string text, const std::vector<std::string>& knobs,
               std::function<bool(const Values&)> holds, bool monotone = false);

  /// The first candidate of a knob that is declared.
  const Value& first_of(const std::string& name) const;

 private:
  friend class Space;
  const Value& declare(Knob knob);

  bool learning_ = true;  // this is the run that learns which knobs there are
  std::vector<Knob> knobs_;
  std::vector<Constraint> constraints_;
  std::vector<uint32_t> choice_;  // of the point that is applied
  size_t next_ = 0;
};

/// A scheduling function with knobs.
struct Template {
  std::string name;  // for people and records: "cpu"
  std::function<void(schedule::Schedule&, Knobs&)> run;
};

}  // namespace tilewright::tune
