// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "lower/access.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// For each dimension of the operand that of the region: all in order, but for some of extent 1.
std::vector<size_t> dimensions(const Region& region, const BufferNode& operand) {
  std::vector<size_t> dims(operand.shape.size());
  size_t o = dims.size();
  for (size_t r = region.ranges.size(); r-- > 0 && o > 0;)
    if (const_int(region.ranges[r].extent) == const_int(operand.shape[o - 1])) dims[--o] = r;
  require(o == 0, "an operand of an instruction has another shape than its region");
  return dims;
}

Stmt meaning_of(const InstrCall& call) {
  Stmt body = call.instr->form(call.form);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Region& region = call.operands[i];
    const Buffer& operand = call.instr->operands[i].buffer;
    const std::vector<size_t> dims = dimensions(region, *operand);
    body = redirect(body, operand, region.buffer, [&](const std::vector<Expr>& indices) {
      std::vector<Expr> out;
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
