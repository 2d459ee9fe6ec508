// SPDX-License-Identifier: Apache-2.0
// What all candidates of a task are compared with: the default schedule.
#pragma once

#include "tune/measure/trial.h"

namespace tilewright::tune {

/// Builds the default schedule, runs it in a child, and compares parts of its results with what the
/// interpreter makes of the plain loops. What goes wrong is its `problem`. It keeps `far`.
Reference make_reference(const Task& task, const MeasureOptions& options,
                         std::shared_ptr<FarMemory> far);

/// How its results differ from what the interpreter makes of the plain loops, on a part at their
/// beginning and one at their end; empty when they do not.
std::string differs_from_interpreter(const Task& task, const Reference& reference);

/// What the end of a child that has sent no result says; `status` as waitpid gives it.
Measurement ended(int status);

/// The threads of a child, started before it is shut in; null when it needs none. They go with the
/// process.
runtime::ThreadPool* pool_of(int threads);

}  // namespace tilewright::tune
