// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/function_ref.h"
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// A function of scalars for the few arguments that need a long way round; made once per module by
/// `body`, which is given a builder and the arguments and returns the results.
ll::Function* slow_function(Lanes& b, const std::string& name, const std::vector<ll::Type*>& args,
                            const std::vector<ll::Type*>& results,
                            FunctionRef<std::vector<ll::Value*>(Lanes&, ll::Function*)> body);

/// `near` with the lanes where `mask` holds replaced by what `slow` gives for their arguments.
/// Costs one branch when there are none.
std::vector<ll::Value*> replace_lanes(Lanes& b, ll::Value* mask, ll::Function* slow,
                                      const std::vector<ll::Value*>& args,
                                      const std::vector<ll::Value*>& near);

}  // namespace tilewright::target::llvm
