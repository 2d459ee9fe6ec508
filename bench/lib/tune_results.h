// SPDX-License-Identifier: Apache-2.0
// What a benchmark of searches has measured, in a file of JSON lines: every point once, the best
// again and longer, and which points each search proposed. A line is written when it is known, so
// that a benchmark that is stopped goes on where it was.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tune/measure/runner.h"

namespace bench {

/// A time over that of the default schedule, and its interval. Failed: infinite.
struct Ratio {
  double median = INFINITY, low = INFINITY, high = INFINITY;
};

struct KnownPoint {
  Ratio first;                     // what searches were told
  std::optional<Ratio> confirmed;  // measured again, and longer
  const Ratio& ratio() const { return confirmed ? *confirmed : first; }
};

class TuneResults {
 public:
  /// Throws std::runtime_error for a file of another machine, or one that cannot be written.
  TuneResults(std::string path, const std::string& machine);

  using Points = std::map<std::string, KnownPoint>;
  using Run = std::tuple<std::string, std::string, uint64_t>;  // task, strategy, seed

  Points& points(const std::string& task) { return points_[task]; }
  /// The points of a search in their order, and how many it was to try at most.
  struct Proposed {
    std::vector<std::string> points;
    size_t trials = 0;
  };
  const Proposed& run(const Run& run) { return runs_[run]; }

  void add(const std::string& task, const std::string& point,
           const tilewright::tune::Measurement& m);
  void confirm(const std::string& task, const std::string& point,
               const tilewright::tune::Measurement& m);
  void finish(const Run& run, Proposed proposed);

 private:
  void write(const std::string& line) const;

  std::string path_;
  std::map<std::string, Points> points_;
  std::map<Run, Proposed> runs_;
};

}  // namespace bench
