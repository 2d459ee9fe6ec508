// SPDX-License-Identifier: Apache-2.0
// What the inner loops of an object really look like: whether vectors were spilled, which no rule
// about the program can promise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/target_spec.h"

namespace tilewright::target::llvm {

/// A loop that contains no other: from the target of a backward branch to the branch.
struct HotLoop {
  std::string function;
  uint64_t begin = 0, end = 0;  // bytes from the start of the function
  int instructions = 0;
  int vector_instructions = 0;
  int vector_stack_accesses = 0;  // of vector registers, from and to the stack: spills
  int vector_moves = 0;           // between vector registers
  int calls = 0;

  int bytes() const { return static_cast<int>(end - begin); }
};

/// The innermost loops of all functions in an object made for `spec`.
std::vector<HotLoop> scan_hot_loops(const std::string& object, const ir::TargetSpec& spec);

/// The sum of vector stack accesses over all of them.
class Machine;
int spills_in_hot_loops(const std::string& object, const Machine& machine);

}  // namespace tilewright::target::llvm
