// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith/context.h"
#include "arith/simplify.h"
#include "arith/solver.h"

namespace tilewright::arith {

/// What a context holds: the facts, and the simplifier that uses them.
struct Context::Facts {
  Solver solver;
  Simplifier simplifier{solver};

  Facts() = default;
  Facts(const Facts& other) : solver(other.solver) {}
};

}  // namespace tilewright::arith
