// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/target_spec.h"
#include "tune/model/cost_model.h"
#include "tune/records/records.h"

namespace tilewright::tune {

/// What the cost model can learn of a machine before the first trial: programs that were measured
/// for other kernels than these, most of all for those that are like one of them. Features are
/// computed anew from a record's texts. Tasks are numbered from `first_task` on. A record that
/// cannot be read, or any more, is left out.
std::vector<Sample> samples_of_others(Records& records, const std::vector<std::string>& kernels,
                                      const ir::TargetSpec& target, int kernel_threads,
                                      uint64_t first_task);

}  // namespace tilewright::tune
