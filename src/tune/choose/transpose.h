// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tune/choose/lanes.h"

namespace tilewright::tune {

/// A stage whose lanes jump in what it reads, while another iterator runs along it: the two make
/// a transposition.
///   for i { for j { B[i, j] = A[j, i] } }
struct Transposition {
  size_t lane, column;  // iterators; `column` is that along which A is contiguous
  std::vector<std::string> buffers;
};

std::optional<Transposition> transposition_of(const Stage& stage, size_t lane, const Sizes& sizes);

/// Square blocks: rows are read as vectors and turned in registers. What is left at the ends of
/// both dimensions becomes nests of smaller blocks.
void schedule_transposition(schedule::Schedule& s, const Stage& stage, const Transposition& turned,
                            int64_t lanes, const ir::TargetSpec& spec);

}  // namespace tilewright::tune
