// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "arith/rules.h"

namespace tilewright::arith {

/// The verdict on one rule.
struct Proof {
  bool holds = false;
  std::string how;             // "Z3", "Z3 for 37 choices of constants", "all values of i4, u4"
  std::string counterexample;  // when it does not hold
};

/// Proves or refutes a rule by its domain: mathematical integers by Z3, wrapping integers, bools
/// and floats by all values of the small types.
Proof prove_rule(const RuleText& rule);

}  // namespace tilewright::arith
