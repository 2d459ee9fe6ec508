// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::target {

/// The instructions that ship with the compiler, with their meaning, for `schedule::tensorize`:
/// those that a machine with these abilities has.
std::vector<ir::Instruction> instructions_for(ir::IsaSet isa);

}  // namespace tilewright::target
