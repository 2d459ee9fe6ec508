// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedule/meaning.h"
#include "schedule/program.h"

namespace tilewright::schedule {

/// How a nest is an instance of an instruction: the region each operand stands for. Operands that
/// the form does not touch have a null buffer.
struct Match {
  std::vector<ir::Region> operands;
  std::string reason;  // why it is none; empty when it is one
};

/// Matches by structure, never by name: the same statement and expression (commutative operators in
/// either order), a loop for every axis with the same extent, and for each operand one region that
/// is indexed just as the operand is, inside its buffer, in the operand's scope and layout. The
/// reason names the expression, axis or operand that differs.
///   c[n] sum= i32(a[k]) * i32(b[n, k])   and   C[y, x] sum= i32(W[x, z]) * i32(A[y, z])
Match match(const ir::InstructionNode& instruction, const Meaning& meaning, const Meaning& nest,
            const arith::Context& context);

}  // namespace tilewright::schedule
