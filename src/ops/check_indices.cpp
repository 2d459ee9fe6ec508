// SPDX-License-Identifier: Apache-2.0
// check_indices: its input 0 as it is, whose elements the plan compares with the extents that input
// 1 lists: one for all, or one for each place of the last dimension. A pass makes it.
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;

std::vector<Type> infer(const Call& call) { return {call.type(0)}; }

}  // namespace

const OpDef& check_indices_op() {
  static const OpDef def =
      define_op({.name = "check_indices", .infer = infer, .special = Special::View});
  return def;
}

}  // namespace tilewright::ops
