// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "module/isa.h"

namespace tilewright::runtime {

/// What this machine and its system let a program use.
IsaNeeds this_machine();

/// Can a machine run code with these needs?
bool covers(const IsaNeeds& machine, const IsaNeeds& needs);

/// The parts of `needs` that a machine lacks, "avx512f, amx-int8"; cut at `bytes`.
void describe_missing(const IsaNeeds& machine, const IsaNeeds& needs, char* text, size_t bytes);

/// "x86_64 avx2 fma"; cut at `bytes`.
void describe(const IsaNeeds& isa, char* text, size_t bytes);

}  // namespace tilewright::runtime
