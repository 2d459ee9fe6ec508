// SPDX-License-Identifier: Apache-2.0
// The contract of a back end: loop IR of stage `final` in, code out. target/all.cpp lists them; the
// pipeline that brings a function to `final` is lower's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::target {

/// How far the numbers of a kernel may differ from its definition (DESIGN.md §4); part of the
/// kernel.
enum class Numerics : uint8_t {
  Ieee,          // every operation rounds as written
  Reassociated,  // order inside reductions, contraction of a * b + c
  RealEqual,     // identities over the reals, within a stated bound
};
std::string_view name(Numerics numerics);

struct EmitOptions {
  Numerics numerics = Numerics::Reassociated;
  /// Do conversions from f32 to bf16 keep them? Else they may become 0 of the same sign, as the
  /// machine's instruction has it.
  bool subnormals = true;
};

/// Bytes of tw_host::workspace and, for each worker, of tw_host::scratch that a kernel needs.
/// Expressions over the function's symbols, multiples of 64.
struct Workspace {
  ir::Expr shared = 0;
  ir::Expr per_worker = 0;
};

enum class CodeFormat : uint8_t { Object, Text };

/// A function in a form that can be stored, linked or loaded. Called as include/tilewright/kernel.h
/// says.
struct Kernel {
  std::string entry;
  CodeFormat format = CodeFormat::Object;
  std::string code;
  std::string triple;
  ir::IsaSet needs;  // what the machine must have
  Numerics numerics = Numerics::Reassociated;
  Workspace workspace;
};

struct Backend {
  std::string_view name;  // "llvm"
  bool (*supports)(const ir::TargetSpec& spec);
  /// Throws Error when the function holds something that the target cannot do.
  Kernel (*emit)(const ir::LoopFunc& func, const ir::TargetSpec& spec, const EmitOptions& options);
};

}  // namespace tilewright::target
