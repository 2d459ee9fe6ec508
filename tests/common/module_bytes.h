// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "module/in_memory.h"
#include "module/module.h"

namespace tilewright {

/// The module's file, to look at and to change.
inline std::vector<std::byte> module_bytes(const Module& module) {
  const PagedMemory memory = module_in_memory(module);
  return {memory.span().begin(), memory.span().end()};
}

}  // namespace tilewright
