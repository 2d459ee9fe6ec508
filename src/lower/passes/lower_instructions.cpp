// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/operand.h"
#include "ir/rewrite.h"
#include "lower/access.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "lower/physical.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

Stmt meaning_of(const InstrCall& call) {
  Stmt body = call.instr->form(call.form);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Region& region = call.operands[i];
    const Buffer& operand = call.instr->operands[i].buffer;
    const auto fitting = operand_dims(region, *operand);
    require(fitting || !call.strides.empty(), "an operand has another shape than its region");
    body = redirect(body, operand, region.buffer, [&](const std::vector<Expr>& indices) {
      std::vector<Expr> out;
      if (!call.strides.empty()) {  // at stage `final`
        if (region.ranges.empty()) return out;
        const std::vector<Expr> places = physical_indices(*operand, indices);
        return std::vector<Expr>{strided(region.ranges[0].min, places, call.strides[i])};
      }
      const std::vector<size_t>& dims = *fitting;
      for (const Range& r : region.ranges) out.push_back(r.min);
      for (size_t d = 0; d < dims.size(); ++d)
        out[dims[d]] = lane_binary(BinaryOp::Add, out[dims[d]], indices[d]);
      return out;
    });
  }
  return body;
}

}  // namespace

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
