// SPDX-License-Identifier: Apache-2.0
// Calls of declared instructions: the operands as views of the regions handed to them.
#include "ir/build.h"
#include "ir/interpret/compiler.h"
#include "ir/operand.h"
#include "support/str.h"

namespace tilewright::ir::run {

Compiler::Storage Compiler::view(const InstrCall& call, size_t i) {
  const Region& region = call.operands[i];
  const Param& operand = call.instr->operands[i];
  const Span& at = call.span;
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
  if (!call.strides.empty()) {
    Storage v = s;
    v.operand = &declared;
    v.region = box.ranges;
    v.strided = true;
    for (const Expr& stride : call.strides[i]) v.strides.push_back(scalar(stride));
    v.read_only = s.read_only || operand.access == Access::In;
    if (region.rank) v.peer = region.rank;
    return v;
  }
  // Extents that only the run knows are compared there, dimension by dimension.
  const size_t rank = region.ranges.size(), wanted = declared.shape.size();
  std::optional<std::vector<size_t>> dims = operand_dims(region, declared);
  if (!dims) {
    dims.emplace();
    for (size_t d = 0; d < rank; ++d)
      if (rank == wanted || !is_const(region.ranges[d].extent, 1)) dims->push_back(d);
  }
  if (dims->size() != wanted)
    wrong_shape(str("the region has ", rank, " dimensions, the operand ", wanted));
  const auto operand_index = static_cast<Reg>(program_.instr_operands.size());
  program_.instr_operands.push_back(&declared);
  Storage v = s;
  v.operand = &declared;
  v.region = box.ranges;
  v.dims.clear();
  for (size_t i = 0; i < wanted; ++i) {
    const size_t d = (*dims)[i];
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

/// A layout's expression at indices that may have lanes.
Value Compiler::layout_value(const Expr& e, const std::unordered_map<const ExprNode*, Value>& at) {
  if (const auto found = at.find(e.get()); found != at.end()) return found->second;
  const Binary* b = e.as<Binary>();
  return b ? binary_op(b->op, kIndex, layout_value(b->a, at), layout_value(b->b, at)) : expr(e);
}

/// The indices of the buffer's element that is the operand's element at `index`.
std::vector<Value> Compiler::within_region(const Storage& s, const std::vector<Value>& index) {
  std::vector<Value> out;
  for (const auto& [min, extent] : s.region) out.push_back({min, 1});
  const auto check = [&](size_t i, Reg extent) {
    for (int l = 0; l < index[i].lanes; ++l)
      emit({.op = Op::CheckIndex,
            .a = index[i].reg + l,
            .b = extent,
            .c = static_cast<Reg>(program_.instr_operands.size())});
  };
  for (size_t i = 0; i < index.size(); ++i) {
    if (s.strided) {
      check(i, scalar(s.operand->shape[i]));
      continue;
    }
    const auto d = static_cast<size_t>(s.dims[i]);
    check(i, s.region[d].second);
    out[d] = binary_op(BinaryOp::Add, kIndex, index[i], out[d]);
  }
  if (!index.empty()) program_.instr_operands.push_back(s.operand);
  if (!s.strided || out.empty()) return out;
  std::vector<Value> place = index;
  if (s.operand->layout) {
    std::unordered_map<const ExprNode*, Value> at;
    for (size_t i = 0; i < index.size(); ++i) at[s.operand->layout->indices[i].get()] = index[i];
    place.clear();
    for (const PhysDim& dim : s.operand->layout->dims) place.push_back(layout_value(dim.index, at));
  }
  for (size_t d = 0; d < place.size(); ++d) {
    const Value step = binary_op(BinaryOp::Mul, kIndex, place[d], {s.strides[d], 1});
    out[0] = binary_op(BinaryOp::Add, kIndex, step, out[0]);
  }
  return out;
}

/// The instruction's body in place, with its operands seen through the given regions.
void Compiler::instr_call(const InstrCall& c) {
  const Mark m = mark();
  const InstructionNode& instr = *c.instr;
  const Stmt& body = instr.form(c.form);
  std::vector<std::pair<const BufferNode*, Storage>> views;
  for (size_t i = 0; i < c.operands.size(); ++i)
    views.emplace_back(instr.operands[i].buffer.get(), view(c, i));
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
