// SPDX-License-Identifier: Apache-2.0
// Blocks: code that runs under declared bounds.
#include <algorithm>

#include "ir/build.h"
#include "ir/interpret/compiler.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ir::run {

bool has_block(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Block&) { return !(found = true); });
  return found;
}

/// The region in terms of the buffer that is really there.
Box Compiler::box_of(const Storage& s, const Region& region) {
  Box box;
  if (!s.operand) {
    for (const Range& r : region.ranges) {
      const Reg min = scalar(r.min);
      box.ranges.emplace_back(min, scalar(r.extent));
    }
    return box;
  }
  box.ranges = s.region;
  for (size_t i = 0; i < region.ranges.size(); ++i) {
    auto& [min, extent] = box.ranges[static_cast<size_t>(s.dims[i])];
    min = binary_op(BinaryOp::Add, kIndex, expr(region.ranges[i].min), {min, 1}).reg;
    extent = scalar(region.ranges[i].extent);
  }
  return box;
}

std::vector<Compiler::ActiveBlock::Declared> Compiler::declared(
    const std::vector<Region>& regions) {
  std::vector<ActiveBlock::Declared> result;
  for (const Region& r : regions) {
    const Storage& s = storage(*r.buffer, origin_->span);
    result.push_back({s.buffer, box_of(s, r)});
  }
  return result;
}

void Compiler::block(const Block& b) {
  const Mark m = mark();
  BlockInfo info;
  info.block = &b;
  std::vector<Value> values;
  for (const BlockIter& it : b.iters) {
    values.push_back(expr(it.binding));
    bind(it.var, values.back());
    mark_thread_var(it.var, names_thread(it.binding));
  }
  int32_t skip = -1;
  if (b.predicate) skip = emit({.op = Op::JumpIfNot, .a = scalar(b.predicate)});
  for (const bool reductions : {false, true})
    for (size_t i = 0; i < b.iters.size(); ++i) {
      if ((b.iters[i].kind == IterKind::Reduction) != reductions) continue;
      info.iters.emplace_back(values[i].reg, scalar(b.iters[i].extent));
      info.order.push_back(static_cast<int>(i));
      info.reductions += reductions;
    }
  info.once = check_ && !b.opaque && b.init && info.reductions > 0 && !b.writes.empty();

  ActiveBlock active;
  active.block = &b;
  if (check_) {
    active.reads = declared(b.reads);
    active.writes = declared(b.writes);
    // A reduction into another allocation, or within another instance of the block around, is
    // another one.
    const Storage* outermost = nullptr;
    for (size_t i = 0; i < b.writes.size(); ++i) {
      const Storage& s = storage(*b.writes[i].buffer, b.span);
      if (outermost && s.alloc_level >= outermost->alloc_level) continue;
      outermost = &s;
      info.target_slot = s.slot;
      info.target = active.writes[i].box;
    }
    if (outermost && outermost->alloc_level > 0 &&
        outermost->block_depth == static_cast<int>(blocks_.size()))
      info.home_slot = outermost->slot;
    else
      info.home_activation = blocks_.empty() ? program_.root_activation : blocks_.back().activation;
  }
  emit({.op = Op::BlockEnter, .a = static_cast<Reg>(program_.blocks.size())});
  program_.blocks.push_back(std::move(info));
  const bool nested = check_ && (has_block(b.body) || (b.init && has_block(b.init)));
  if (nested) {
    active.activation = reserve();
    emit({.op = Op::Activate, .dst = active.activation});
  }
  const Reg activation = active.activation;
  blocks_.push_back(std::move(active));
  const StmtNode* const outer = origin_;
  if (b.init) {
    const Mark before_init = mark();
    std::vector<int32_t> skips;
    for (size_t i = 0; i < values.size(); ++i)
      if (b.iters[i].kind == IterKind::Reduction)
        skips.push_back(emit({.op = Op::JumpIf, .a = values[i].reg}));
    stmt(b.init);
    release(before_init);
    for (const int32_t at : skips) set_target(at);
  }
  stmt(b.body);
  origin_ = outer;
  blocks_.pop_back();
  if (nested) emit({.op = Op::Deactivate, .a = activation});
  if (skip >= 0) set_target(skip);
  release(m);
}

}  // namespace tilewright::ir::run
