// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"
#include "schedule/trace.h"

namespace tilewright::tune {

/// A kernel to find a schedule for. Names of buffers and blocks are made up, in their order, so
/// that the traces of kernels that do the same are the same in every model and every run.
struct Task {
  std::string name;  // for people: "conv_add_relu"
  ir::TargetSpec target;
  ir::LoopFunc func;                   // stage `loops`, canonical: what traces are for
  std::vector<std::string> constants;  // parameters that never change: see choose_schedule
  std::vector<int64_t> symbols;        // values of the function's symbols to measure with
  double weight = 1;                   // how often a run of the model calls it
  int64_t between = 0;    // bytes of constants that the model reads from one to the next
  int64_t arena = 0;      // bytes that the model's values lie in
  int64_t workspace = 0;  // and what its kernels compute on the way
  std::string workload;   // all that the kernel is, as text: equal for equal kernels
};

/// `blocks` as lower::to_blocks makes them. `symbols` may be empty: then likely values are taken.
Task make_task(std::string name, const ir::LoopFunc& blocks,
               const std::vector<std::string>& constants, const ir::TargetSpec& target,
               std::vector<int64_t> symbols = {});

/// The task that has this workload, but for its name. Throws Error for a text that is none.
Task task_from(const std::string& workload, const ir::TargetSpec& target);

/// The function with names for its buffers and blocks that follow from their order alone, but for
/// the stages of Winograd's algorithm, which schedules know by name.
ir::LoopFunc with_made_up_names(const ir::LoopFunc& func);

/// The machine and the code generator, as text: records of one are not those of another.
std::string target_text(const ir::TargetSpec& target);

/// What choose_schedule does for the task.
schedule::Trace default_trace(const Task& task);

/// The function as the trace has it, verified, the steps of scans scheduled too. Throws Error when
/// the trace does not apply.
ir::LoopFunc scheduled(const Task& task, const schedule::Trace& trace);

}  // namespace tilewright::tune
