// SPDX-License-Identifier: Apache-2.0
// Blocks and instruction calls: code that runs under declared bounds.
#include <algorithm>

#include "ir/build.h"
#include "ir/interpret/compiler.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

bool has_block(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Block&) { return !(found = true); });
  return found;
}

}  // namespace

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
  info.once = check_ && !b.opaque && b.init && info.reductions > 0;

  ActiveBlock active;
  active.block = &b;
  if (check_) {
    active.reads = declared(b.reads);
    active.writes = declared(b.writes);
    // A reduction into another allocation, or within another instance of the block around, is
    // another one.
    const Storage* outermost = nullptr;
    for (const Region& r : b.writes) {
      const Storage& s = storage(*r.buffer, b.span);
      if (!outermost || s.alloc_level < outermost->alloc_level) outermost = &s;
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

Compiler::Storage Compiler::view(const Region& region, const Param& operand, const Span& at) {
  Storage s = storage(*region.buffer, at);
  const Box box = box_of(s, region);
  const BufferNode& declared = *operand.buffer;
  const auto wrong_shape = [&](const std::string& note) {
    throw Error({.code = "ir.run.instr",
                 .at = at,
                 .message = str("a region of `", region.buffer->name, "` does not fit operand `",
                                declared.name, "`"),
                 .notes = {note},
                 .help = "give the region as many elements in each dimension as the operand has; "
                         "dimensions of extent 1 may be left out"});
  };
  // The operand's dimensions are the region's, less those of extent 1 when there are too many.
  std::vector<int> dims;
  const size_t rank = region.ranges.size(), wanted = declared.shape.size();
  size_t spare = rank >= wanted ? rank - wanted : 0;
  for (size_t d = 0; d < rank; ++d) {
    const bool fits = dims.size() < wanted &&
                      const_int(region.ranges[d].extent) == const_int(declared.shape[dims.size()]);
    if (spare > 0 && is_const(region.ranges[d].extent, 1) && !fits)
      --spare;
    else if (spare > 0 && is_const(region.ranges[d].extent, 1) && rank - d > wanted - dims.size())
      --spare;  // a leading 1 is left out rather than a later one
    else
      dims.push_back(static_cast<int>(d));
  }
  if (dims.size() != wanted)
    wrong_shape(str("the region has ", rank, " dimensions, the operand ", wanted));
  const auto operand_index = static_cast<Reg>(program_.instr_operands.size());
  program_.instr_operands.push_back(&declared);
  Storage v = s;
  v.operand = &declared;
  v.region = box.ranges;
  v.dims.clear();
  for (size_t i = 0; i < wanted; ++i) {
    const auto d = static_cast<size_t>(dims[i]);
    const std::optional<int64_t> have = const_int(region.ranges[d].extent);
    const std::optional<int64_t> want = const_int(declared.shape[i]);
    if (have && want && *have != *want)
      wrong_shape(str("dimension ", i, " has ", *have, " elements, the operand's ", *want));
    // Within an operand of an enclosing instruction, a dimension is one of that operand's.
    const int inner = s.operand ? s.dims[d] : static_cast<int>(d);
    v.dims.push_back(inner);
    if (!have || !want)
      emit({.op = Op::CheckExtent,
            .a = box.ranges[static_cast<size_t>(inner)].second,
            .b = scalar(declared.shape[i]),
            .c = operand_index});
  }
  v.read_only = s.read_only || operand.access == Access::In;
  if (region.rank) v.peer = region.rank;
  return v;
}

/// The instruction's body in place, with its operands seen through the given regions.
void Compiler::instr_call(const InstrCall& c) {
  const Mark m = mark();
  const InstructionNode& instr = *c.instr;
  const Stmt& body = instr.form(c.form);
  std::vector<std::pair<const BufferNode*, Storage>> views;
  for (size_t i = 0; i < c.operands.size(); ++i)
    views.emplace_back(instr.operands[i].buffer.get(),
                       view(c.operands[i], instr.operands[i], c.span));
  // An instruction whose body calls itself would never end; one that calls another is fine.
  for (auto& [operand, v] : views) {
    if (buffers_.count(operand))
      throw Error({.code = "ir.run.instr",
                   .at = c.span,
                   .message = str("instruction `", instr.name, "` calls itself"),
                   .help = "write the body of an instruction in terms of its operands"});
    buffers_[operand] = std::move(v);
  }
  const bool outer_instruction = in_instruction_;
  in_instruction_ = true;
  ActiveBlock active;
  if (check_ && has_block(body)) {
    active.activation = reserve();
    emit({.op = Op::Activate, .dst = active.activation});
  } else {
    active.activation = blocks_.empty() ? program_.root_activation : blocks_.back().activation;
  }
  const bool own = check_ && has_block(body);
  const Reg activation = active.activation;
  blocks_.push_back(std::move(active));
  const StmtNode* const outer = origin_;
  stmt(body);
  origin_ = outer;
  blocks_.pop_back();
  if (own) emit({.op = Op::Deactivate, .a = activation});
  in_instruction_ = outer_instruction;
  for (const auto& [operand, v] : views) buffers_.erase(operand);
  release(m);
}

}  // namespace tilewright::ir::run
