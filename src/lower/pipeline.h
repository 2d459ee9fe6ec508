// SPDX-License-Identifier: Apache-2.0
// From stage `scheduled` (or `loops`) to `final`: the passes, and lists of them as data.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/func.h"

namespace tilewright::lower {

struct PassContext;

/// A pure function from program to program. Its file states what it does, with an example, what it
/// needs and what it leaves.
struct Pass {
  std::string_view name;
  ir::LoopFunc (*run)(const ir::LoopFunc&, PassContext&);
};

/// What lowering may produce for a machine.
struct Limits {
  int max_lanes = 64;              // of one vector; a power of two; longer loops become several
  int64_t max_unrolled = 1 << 16;  // statements that unrolling may leave in a function
  int64_t max_partitioned = 4096;  // statements that loop partitioning may leave in a function
  std::vector<std::string> instructions;  // by their `emit`: the target has them, they stay calls
};

struct PassTime {
  std::string_view pass;
  double seconds = 0;
};

/// The options of a run, and what it reports.
struct PassContext {
  Limits limits;
  std::vector<std::string> skip;  // names of passes left out
  std::function<void(const Pass&, const ir::LoopFunc&)>
      after;                    // called after each pass; may be empty
  std::vector<PassTime> times;  // one entry per pass that ran
};

/// Runs the passes in order and verifies the program after each.
ir::LoopFunc run(std::span<const Pass> passes, ir::LoopFunc func, PassContext& context);

/// Every pass, in the order of passes.h.
std::span<const Pass> all_passes();
/// nullptr when there is no pass of that name.
const Pass* find_pass(std::string_view name);

/// From `loops` or `scheduled` to `final` for a CPU.
std::span<const Pass> cpu_pipeline();

}  // namespace tilewright::lower
