// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tune/measure/runner.h"

namespace tilewright::tune {

/// What is known of one trial. Failures are records too: nobody need try them again.
struct Record {
  std::string workload;  // Task::workload
  std::string target;    // target_text()
  std::string trace;     // as schedule::print has it
  std::string point;     // the same in the words of the space it came from; may be empty
  Measurement measurement;
  int threads = 1;       // of the kernel
  std::string config;    // how it was measured: repeats, limits, seed
  std::string compiler;  // which Tilewright and which code generator built it
  int64_t time = 0;      // seconds since 1970
  std::string name;      // of the kernel, for people
  int64_t id = 0;        // in its file; 0: not in one yet

  /// SHA-256 of all but `id` and `name`: the same record twice is one.
  std::string identity() const;
};

}  // namespace tilewright::tune
