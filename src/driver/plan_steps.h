// SPDX-License-Identifier: Apache-2.0
// What a module's plan does, read back for people: its calls in order, and where values lie while
// they run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "module/view.h"

namespace tilewright::driver {

/// A call of a kernel or a host operator.
struct PlanStep {
  uint32_t instruction = 0;  // its place in the plan's code, as tw_event tells it
  uint32_t kernel = kNone;   // kNone: a host operator
  std::string name;
  std::vector<uint32_t> reads, writes;  // numbers of values; a view counts as what it looks at
  std::vector<std::optional<int64_t>> scalars;  // where they follow from the inputs
};

struct PlannedValue {
  PlanValue::Storage storage = PlanValue::Storage::Dynamic;
  uint32_t index = 0;             // of inputs, outputs and constants: which
  std::string type;               // f32[1, 64, 56, 56]; `?` for what only the run tells
  std::optional<int64_t> bytes;   // likewise
  std::optional<int64_t> offset;  // in the arena
  int first = -1, last = -1;      // steps that use it, or what it lies inside of
  uint32_t whole = kNone;         // the value in whose memory it lies as a part of that
};

struct PlanSteps {
  std::vector<PlanStep> steps;
  std::vector<PlannedValue> values;
  int64_t arena_bytes = 0;
};

/// The plan of a variant for inputs of these shapes.
PlanSteps plan_steps(const ModuleView& module, const VariantView& variant,
                     const std::vector<std::vector<int64_t>>& input_shapes);

}  // namespace tilewright::driver
