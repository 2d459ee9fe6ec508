// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"
#include "te/program.h"

namespace tilewright::lower {

/// Where an operand of an instruction lives and how it lies there, by the name of its tensor.
/// Operands that are not listed are global and row-major.
struct OperandDeclaration {
  std::string name;
  ir::Scope scope;
  ir::Layout layout;  // null: row-major
};

/// A hardware instruction from its meaning, a tensor program of one stage:
///   c[y, x] = sum(k) a[y, k] * b[k, x]
///   ->  instr NAME(c: inout, a: in, b: in) emit EMIT {
///         compute { the loops of the stage, with init }
///         reset   { c[y, x] = 0 }
///         update  { c[y, x] sum= a[y, k] * b[k, x] } }
/// Results come first among the operands. Without a reduction there is only `compute`.
ir::Instruction to_instruction(const te::Program& meaning,
                               const std::vector<OperandDeclaration>& operands = {},
                               std::string emit = {});

}  // namespace tilewright::lower
