// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <string>
#include <vector>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace tilewright::python {

/// A tensor program's plain loops, or the one function of a text.
ir::LoopFunc function_of(const nanobind::object& what);

/// What tw.Schedule of the package holds.
struct Schedule {
  Schedule(const nanobind::object& what, std::vector<ir::Instruction> instructions,
           const std::string& target);
  Schedule(schedule::Schedule s, ir::TargetSpec t) : target(std::move(t)), steps(std::move(s)) {}

  /// One step as a line of a trace, such as `split %y [?, 14]`; gives the names of its results.
  std::vector<std::string> run(const std::string& line);

  ir::TargetSpec target;
  schedule::Schedule steps;
};

}  // namespace tilewright::python
