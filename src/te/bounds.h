// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "te/program.h"

namespace tilewright::te {

/// Refuses a stage that reads outside of a tensor wherever it computes anything: some element of it
/// has such an index, for all sizes. What a guard protects, and indices that are no sums of
/// multiples of axes, are not looked at.
void require_reads_inside(const Program& program);

}  // namespace tilewright::te
