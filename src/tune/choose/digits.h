// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"

namespace tilewright::tune {

/// The same function with iterators taken apart whose stage asks for their quotient and remainder
/// alone, so that no element is divided for. Results have more dimensions and the same bytes.
///   Y[i in 12] = A[i % 3]  ->  Y[q in 4, r in 3] = A[r]
ir::LoopFunc in_digits(const ir::LoopFunc& blocks);

}  // namespace tilewright::tune
