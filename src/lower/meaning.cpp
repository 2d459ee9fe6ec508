// SPDX-License-Identifier: Apache-2.0
#include "lower/meaning.h"

#include "ir/build.h"
#include "ir/operand.h"
#include "ir/rewrite.h"
#include "lower/access.h"
#include "lower/lanes.h"
#include "lower/physical.h"

namespace tilewright::lower {

using namespace ir;

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

}  // namespace tilewright::lower
