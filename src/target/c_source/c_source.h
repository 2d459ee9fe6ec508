// SPDX-License-Identifier: Apache-2.0
// The C back end: functions of stage `final` → one freestanding C11 file. It includes headers of
// the compiler only, prints the functions it needs itself, and imports nothing but the memcpy and
// memset that compilers make of loops.
//
//   cc -std=c11 -O2 -ffreestanding -ffp-contract=off -c kernels.c
//
// Contraction of a * b + c changes bits: leave -ffp-contract=off out where that is welcome
// (numerics class `reassociated`), never add -ffast-math.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/func.h"
#include "target/backend.h"

namespace tilewright::target::c_source {

/// How the functions of a file are called.
enum class Form : uint8_t {
  Kernels,  // from outside, as include/tilewright/kernel.h says
  Steps,    // by what is added to the file, without a host: parallel loops are plain ones
};

/// One C file.
struct File {
  struct Entry {
    std::string name;  // the function's, or the nearest that C allows
    /// In the form of steps all of it is shared, and given as the last argument, `void* workspace`,
    /// when there is any: static void name(buffers…, int64_t symbols…, void* workspace).
    Workspace workspace;
  };
  std::string text;
  std::vector<Entry> entries;  // one per function, in order
};

/// Throws Error when a function holds what C cannot do, or is not of stage `final`.
File emit(std::span<const ir::LoopFunc> funcs, const EmitOptions& options,
          Form form = Form::Kernels);

const Backend& backend();

}  // namespace tilewright::target::c_source
