// SPDX-License-Identifier: Apache-2.0
// What a search knows; its strategies work on it.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "tune/model/cost_model.h"
#include "tune/search/search.h"

namespace tilewright::tune {

struct Search::State {
  const Space& space;
  SearchOptions options;
  Guide guide;
  ir::Random random;

  std::vector<Trial> trials;
  std::optional<size_t> best;
  size_t last_gain = 0;  // trials when the best was found
  std::unordered_set<Point, PointHash> seen;
  std::unordered_set<size_t> traces;  // points that come to the same schedule are tried once
  /// What a point comes to.
  struct Applied {
    bool refused = false;
    std::optional<schedule::Trace> trace;  // of those that are proposed: it is large
    size_t text = 0;                       // stands for the trace's
    std::optional<Features> features;      // of the scheduled program; for the model only
  };
  std::unordered_map<Point, Applied, PointHash> applied;
  std::vector<Point> scheduled;  // those of them that were not refused, in order
  std::vector<Point> suggested;  // to propose next, the last first
  std::optional<Point> cursor;   // of the grid
  bool exhausted = false;
  size_t refused = 0;
  std::string refusal;

  /// One walk over measured times.
  struct Walker {
    Point at;
    double seconds = 0;
    std::optional<Point> tried;
  };
  std::vector<Walker> walkers;

  State(const Space& s, SearchOptions o, Guide g)
      : space(s), options(std::move(o)), guide(std::move(g)), random(options.seed) {}

  /// Notes the point as proposed; false when it was before, comes to the same as another, or its
  /// steps are refused.
  bool take(const Point& point);
  /// From memory where it was asked before: scheduling is what a search spends its time on.
  const Applied& at(const Point& point);
  /// Of the scheduled program; nothing when it is refused.
  const std::optional<Features>& features_of(const Point& point) { return at(point).features; }
  /// All of them, at the same time where options say so: what at() gives afterwards.
  void prepare(const std::vector<Point>& points);

  /// Adds points of options.start, in the order of a model that has learnt.
  void propose_start(size_t count, std::vector<Point>& out);
  /// What Search::propose gives, and Search::why_done.
  std::vector<Point> next(size_t count);
  std::string why_done() const;

  // The strategies; each adds points to `out` until there are `count`.
  void propose_random(size_t count, std::vector<Point>& out);
  void propose_next(size_t count, std::vector<Point>& out);
  void propose_walks(size_t count, std::vector<Point>& out);
  void propose_learned(size_t count, std::vector<Point>& out);
  void propose_all(size_t count, std::vector<Point>& out);

  void accept_walks(const std::vector<Trial>& trials);
};

}  // namespace tilewright::tune
