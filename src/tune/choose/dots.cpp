// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/dots.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/func.h"
#include "ir/rewrite.h"
#include "tune/choose/strides.h"

namespace tilewright::tune {
namespace {

/// The load that a factor is, in the type of the sums.
const ir::Load* only_load(const ir::Expr& factor) {
  const auto* cast = factor.as<ir::Cast>();
  return cast ? cast->value.as<ir::Load>() : factor.as<ir::Load>();
}

/// c: [lanes] in registers, a: [group], b: [lanes, group], and it multiplies.
bool is_dot(const ir::InstructionNode& i, int64_t lanes) {
  const auto& o = i.operands;
  const auto rank = [&](size_t n) { return o[n].buffer->shape.size(); };
  if (o.size() != 3 || o[0].buffer->scope.kind != ir::ScopeKind::Register || rank(0) != 1 ||
      rank(1) != 1 || rank(2) != 2 || ir::const_int(o[0].buffer->shape[0]) != lanes)
    return false;
  bool multiplies = false;
  ir::walk(i.form(ir::InstrForm::Update), [&](const ir::Update& u) {
    for (const ir::Expr& value : u.values) {
      const auto* b = value.as<ir::Binary>();
      multiplies = b && b->op == ir::BinaryOp::Mul;
    }
  });
  return multiplies;
}

}  // namespace

std::optional<Dot> dot_for(const Stage& stage, const Contraction& c, size_t lane, int64_t lanes,
                           const Sizes& sizes, const ir::TargetSpec& spec) {
  const bool in_a = std::ranges::count(c.of_a, lane) > 0;
  const ir::Load *across = only_load(in_a ? c.a : c.b), *same = only_load(in_a ? c.b : c.a);
  if (!across || !same) return std::nullopt;
  const auto& iters = stage.block->iters;
  // Where there are tiles, pairs of bf16 are no faster in lanes than f32.
  if (spec.isa.has(ir::Isa::AmxBf16) && stage.result()->elem == ir::Elem::F32) return std::nullopt;
  for (const ir::Instruction& i : spec.instructions) {
    if (!is_dot(*i, lanes) || i->operands[0].buffer->elem != stage.result()->elem ||
        i->operands[1].buffer->elem != same->buffer->elem ||
        i->operands[2].buffer->elem != across->buffer->elem)
      continue;
    const int64_t group = *ir::const_int(i->operands[1].buffer->shape[0]);
    for (const size_t k : c.reduced) {
      const auto extent = ir::const_int(iters[k].extent);
      const auto by_itself = std::ranges::count_if(
          across->indices, [&](const ir::Expr& e) { return e == iters[k].var; });
      const auto in_any = std::ranges::count_if(
          across->indices, [&](const ir::Expr& e) { return ir::uses(e, iters[k].var); });
      if (extent && *extent > 0 && *extent % group == 0 && by_itself == 1 && in_any == 1 &&
          stride(same->buffer, same->indices, iters[k].var, sizes) == 1)
        return Dot{i->name, group, k};
    }
  }
  return std::nullopt;
}

}  // namespace tilewright::tune
