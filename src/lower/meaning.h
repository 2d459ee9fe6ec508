// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/stmt.h"

namespace tilewright::lower {

/// What a call of an instruction does, on the regions that it is given.
///   call outer.update(C[i +: 2], A[i +: 2], B[k])
///   ->  for y in 0..2 { C[i + y] sum= A[i + y] * B[k] }
ir::Stmt meaning_of(const ir::InstrCall& call);

}  // namespace tilewright::lower
