// SPDX-License-Identifier: Apache-2.0
// A module in memory, where the runtime uses it in place.
#pragma once

#include "support/bare/paged_memory.h"

namespace tilewright {

struct Module;

/// The bytes of the module's file, on large pages where they are many: a run reads all weights, and
/// where those lie on many small pages, finding them takes a part of the time. (A file is mapped as
/// it lies in the system's cache.) Empty when there is no memory for them. Defined in writer.cpp.
PagedMemory module_in_memory(const Module& module);

}  // namespace tilewright
