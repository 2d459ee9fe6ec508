// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/rewrite.h"
#include "lower/meaning.h"
#include "lower/passes/passes.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

/// Replaces each call of an instruction that the target does not have by the instruction's meaning
/// on the given regions.
///   before   call outer.update(C[i +: 2], A[i +: 2], B[k])
///   after    for y in 0..2 { C[i + y] sum= A[i + y] * B[k] }
/// Needs:  nothing; before lower_blocks, since a meaning may be written with blocks.
/// Leaves: calls only of instructions in `limits.instructions`.
LoopFunc lower_instructions(const LoopFunc& func, PassContext& context) {
  const std::vector<std::string>& kept = context.limits.instructions;
  return func.with_body(rewrite(func.body, [&](const InstrCall& call, auto& self) -> Stmt {
    if (std::ranges::find(kept, call.instr->emit) != kept.end()) return Stmt::of(call);
    for (const Region& r : call.operands) {
      if (!r.rank) continue;
      throw Error({.code = "lower.instructions.rank",
                   .at = call.span,
                   .message = str("cannot write out `", call.instr->name, "`"),
                   .notes = {str("its operand `", r.buffer->name, "` belongs to another block")},
                   .help = "use a target that has the instruction"});
    }
    return self(meaning_of(call));
  }));
}

}  // namespace tilewright::lower
