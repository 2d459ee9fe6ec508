// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/registers.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/operand.h"
#include "target/llvm/visit_once.h"

namespace tilewright::target::llvm {

using ir::BinaryOp;
using ir::Expr;

std::optional<LaneIndex> lane_index(const Expr& index) {
  if (!index.type().is_vector()) return LaneIndex{index, 0};
  if (const auto* ramp = index.as<ir::Ramp>()) {
    const std::optional<int64_t> stride = ir::const_int(ramp->stride);
    if (!stride) return std::nullopt;
    return LaneIndex{ramp->base, *stride};
  }
  if (const auto* all = index.as<ir::Broadcast>()) return LaneIndex{all->value, 0};
  const auto* binary = index.as<ir::Binary>();
  if (!binary) return std::nullopt;
  // i64 arithmetic wraps, so these identities hold for all values.
  const std::optional<LaneIndex> x = lane_index(binary->a), y = lane_index(binary->b);
  if (!x || !y) return std::nullopt;
  switch (binary->op) {
    case BinaryOp::Add: return LaneIndex{x->base + y->base, x->stride + y->stride};
    case BinaryOp::Sub: return LaneIndex{x->base - y->base, x->stride - y->stride};
    case BinaryOp::Mul: {
      if (x->stride == 0 && y->stride == 0) return LaneIndex{x->base * y->base, 0};
      const LaneIndex& lanes = x->stride != 0 ? *x : *y;
      const std::optional<int64_t> factor = ir::const_int(x->stride != 0 ? y->base : x->base);
      int64_t stride = 0;
      if ((x->stride != 0 && y->stride != 0) || !factor ||
          __builtin_mul_overflow(lanes.stride, *factor, &stride))
        return std::nullopt;
      return LaneIndex{lanes.base * Expr(*factor), stride};
    }
    default: return std::nullopt;
  }
}

std::optional<ConstantPlace> constant_place(const std::vector<Expr>& indices) {
  if (indices.empty()) return ConstantPlace{};
  const std::optional<LaneIndex> lanes = lane_index(indices[0]);
  if (!lanes || lanes->stride != (indices[0].type().is_vector() ? 1 : 0)) return std::nullopt;
  const std::optional<int64_t> offset = ir::const_int(lanes->base);
  if (!offset) return std::nullopt;
  return ConstantPlace{*offset, indices[0].type().lanes};
}

namespace {

/// Overlapping slices become one.
std::vector<Slice> merge(std::vector<Slice> slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::pair(a.offset, a.elements) < std::pair(b.offset, b.elements);
  });
  std::vector<Slice> merged;
  for (const Slice& s : slices) {
    if (merged.empty() || s.offset >= merged.back().offset + merged.back().elements) {
      merged.push_back(s);
      continue;
    }
    Slice& last = merged.back();
    if (s.offset == last.offset && s.elements == last.elements) continue;
    last.uniform = false;
    last.elements = std::max(last.elements, s.offset + s.elements - last.offset);
  }
  return merged;
}

bool mentions(const ir::Stmt& body, const ir::Buffer& buffer) {
  bool found = false;
  visit_once(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* st = s.as<ir::Store>()) found |= st->buffer == buffer;
        if (const auto* p = s.as<ir::Prefetch>()) found |= p->buffer == buffer;
        if (const auto* a = s.as<ir::Atomic>()) found |= a->buffer == buffer || a->old == buffer;
        if (const auto* c = s.as<ir::InstrCall>())
          for (const ir::Region& r : c->operands) found |= r.buffer == buffer;
        return !found;
      },
      [&](const Expr& e) {
        if (const auto* l = e.as<ir::Load>()) found |= l->buffer == buffer;
      });
  return found;
}

}  // namespace

std::optional<std::vector<Slice>> register_slices(const ir::Buffer& buffer, const ir::Stmt& body,
                                                  bool inside_parallel) {
  std::vector<Slice> slices;
  bool possible = true;
  const auto access = [&](const ir::Buffer& b, const std::vector<Expr>& indices) {
    if (b != buffer) return;
    const std::optional<ConstantPlace> place = constant_place(indices);
    if (place)
      slices.push_back({place->offset, place->lanes});
    else
      possible = false;
  };
  const auto operand = [&](const ir::InstrCall& c, size_t i) {
    if (c.operands[i].buffer != buffer) return;
    const std::optional<int64_t> first =
        buffer->rank() == 0 ? 0 : ir::const_int(c.operands[i].ranges[0].min);
    int64_t n = 1;
    for (const Expr& extent : ir::physical_extents(*c.instr->operands[i].buffer))
      n *= ir::const_int(extent).value_or(1);
    if (first)
      slices.push_back({*first, n});
    else
      possible = false;
  };
  const auto in_load = [&](const Expr& e) {
    if (const auto* l = e.as<ir::Load>()) access(l->buffer, l->indices);
  };
  visit_once(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* st = s.as<ir::Store>()) access(st->buffer, st->indices);
        if (const auto* a = s.as<ir::Atomic>()) {
          if (a->buffer == buffer) possible = false;
          if (a->old == buffer) slices.push_back({0, 1});
        }
        if (const auto* c = s.as<ir::InstrCall>())
          for (size_t i = 0; i < c->operands.size(); ++i) operand(*c, i);
        if (const auto* f = s.as<ir::For>())
          if (f->loop == ir::ForKind::Parallel && !inside_parallel && mentions(f->body, buffer))
            possible = false;
        return possible;
      },
      in_load);
  if (!possible) return std::nullopt;
  return merge(std::move(slices));
}

}  // namespace tilewright::target::llvm
