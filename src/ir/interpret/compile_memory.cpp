// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/interpret/compiler.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

uint8_t access_flags(const AccessInfo& a) {
  const bool slow = a.peer != kNoReg || a.buffer->layout || bits(a.buffer->elem) < 8 ||
                    a.delivers || a.rank > UINT8_MAX;
  return static_cast<uint8_t>((a.race_checked ? kRaceChecked : 0) | (slow ? kSlowAccess : 0));
}

}  // namespace

const Compiler::Storage& Compiler::storage(const BufferNode& buffer, const Span& at) const {
  const auto found = buffers_.find(&buffer);
  if (found != buffers_.end()) return found->second;
  throw Error({.code = "ir.run.unbound",
               .at = at,
               .message = str("buffer `", buffer.name, "` does not exist here"),
               .help = "make it a parameter, or use it inside the braces of its `alloc`"});
}

std::vector<Value> Compiler::indices(const std::vector<Expr>& index) {
  std::vector<Value> values;
  values.reserve(index.size());
  for (const Expr& e : index) values.push_back(expr(e));
  return values;
}

int32_t Compiler::access(const Storage& s, std::vector<Value> index, const Expr& mask,
                         const Expr& rank, bool write, bool update_target) {
  if (write && s.read_only)
    throw Error({.code = "ir.run.input",
                 .at = origin_ ? origin_->span : Span{},
                 .message = str("`", (s.operand ? s.operand : s.buffer)->name,
                                "` is an `in` parameter and is written"),
                 .help = "declare it `out` or `inout`"});
  if (s.operand) index = within_region(s, index);
  AccessInfo a;
  a.buffer = s.buffer;
  a.slot = s.slot;
  a.rank = static_cast<int32_t>(index.size());
  a.race_checked = s.race_checked;
  a.in_instruction = in_instruction_;
  a.delivers = write && in_async_ && s.buffer->scope.kind != ScopeKind::Register &&
               s.buffer->scope.kind != ScopeKind::Tile;
  if (mask) a.mask = expr(mask).operand();
  if (mask) a.lanes = mask.type().lanes;
  const Expr& peer = s.peer ? s.peer : rank;
  if (peer) a.peer = scalar(peer);
  a.first = static_cast<int32_t>(program_.operands.size());
  for (const Value& v : index) {
    program_.operands.push_back(v.operand());
    a.lanes = std::max(a.lanes, v.lanes);
  }
  if (check_) check_regions(a, index, write, update_target);
  program_.accesses.push_back(a);
  return static_cast<int32_t>(program_.accesses.size()) - 1;
}

/// Emits the test that an access lies in its blocks' regions, unless the registers already show it:
/// the index is the region's only element, or the region is the whole dimension.
void Compiler::check_regions(const AccessInfo& a, const std::vector<Value>& index, bool write,
                             bool update_target) {
  const auto at = buffers_.find(a.buffer);  // the storage itself, not an operand's view of it
  const Storage* s = at == buffers_.end() ? nullptr : &at->second;
  const size_t first = s ? static_cast<size_t>(s->block_depth) : 0;
  for (size_t i = first; i < blocks_.size(); ++i) {
    const ActiveBlock& active = blocks_[i];
    if (!active.block) continue;  // an instruction call
    RegionInfo region{active.block, a.buffer, a.first, a.rank, a.lanes, a.mask, write, {}};
    bool shown = false;
    const auto consider = [&](const std::vector<ActiveBlock::Declared>& list) {
      for (const ActiveBlock::Declared& d : list) {
        if (d.buffer != a.buffer || shown) continue;
        shown = true;
        for (size_t k = 0; k < index.size() && shown; ++k) {
          const auto [min, extent] = d.box.ranges[k];
          const bool single =
              index[k].lanes == 1 && index[k].reg == min && extent < 0 &&
              static_cast<int64_t>(program_.constants[static_cast<size_t>(~extent)]) >= 1;
          const bool whole = s && min == constant(0) && extent == s->shape[k];
          shown = single || whole;
        }
        region.boxes.push_back(d.box);
      }
    };
    if (write) {
      consider(active.writes);
    } else {
      consider(active.reads);
      if (update_target) consider(active.writes);
    }
    if (shown) continue;
    emit({.op = Op::Region, .a = static_cast<Reg>(program_.regions.size())});
    program_.regions.push_back(std::move(region));
  }
}

void Compiler::emit_load(Reg dst, int32_t access) {
  const AccessInfo& a = program_.accesses[static_cast<size_t>(access)];
  if (a.lanes > 1 || a.mask.reg != kNoReg) {
    emit({.op = Op::LoadLanes, .dst = dst, .c = access});
    return;
  }
  emit({.op = Op::Load,
        .x = static_cast<uint8_t>(a.rank),
        .y = access_flags(a),
        .dst = dst,
        .a = a.slot,
        .b = a.first,
        .c = access});
}

void Compiler::emit_store(Value value, int32_t access) {
  const AccessInfo& a = program_.accesses[static_cast<size_t>(access)];
  if (a.lanes > 1 || a.mask.reg != kNoReg) {
    if (a.lanes > 1) emit({.op = Op::Distinct, .c = access});
    emit({.op = Op::StoreLanes,
          .x = static_cast<uint8_t>(value.operand().stride),
          .dst = value.reg,
          .c = access});
    return;
  }
  emit({.op = Op::Store,
        .x = static_cast<uint8_t>(a.rank),
        .y = access_flags(a),
        .dst = value.reg,
        .a = a.slot,
        .b = a.first,
        .c = access});
}

void Compiler::store(const Store& s) {
  const Storage& target = storage(*s.buffer, s.span);
  std::vector<Value> index = indices(s.indices);
  const Value value = expr(s.value);
  emit_store(value, access(target, std::move(index), s.mask, s.rank, true, false));
}

/// All reads of the targets, the combination, all writes; nothing runs in between.
void Compiler::update(const Update& u) {
  const size_t n = u.targets.size();
  std::vector<std::vector<Value>> index(n);
  std::vector<Value> values(n);
  for (size_t i = 0; i < n; ++i) index[i] = indices(u.targets[i].indices);
  for (size_t i = 0; i < n; ++i) values[i] = expr(u.values[i]);
  const ReducerNode& reducer = *u.reducer;
  for (size_t i = 0; i < n; ++i) {
    const Storage& s = storage(*u.targets[i].buffer, u.span);
    const int32_t a = access(s, index[i], nullptr, nullptr, false, true);
    const int32_t lanes = program_.accesses[static_cast<size_t>(a)].lanes;
    const Value old{reserve(lanes), lanes};
    emit_load(old.reg, a);
    bind(reducer.lhs[i], old);
    bind(reducer.rhs[i], values[i]);
  }
  std::vector<Value> combined(n);
  for (size_t i = 0; i < n; ++i) combined[i] = expr(reducer.combine[i]);
  for (size_t i = 0; i < n; ++i) {
    const Storage& s = storage(*u.targets[i].buffer, u.span);
    emit_store(combined[i], access(s, index[i], nullptr, nullptr, true, false));
  }
}

/// Outside of hardware threads a scope changes nothing: each execution makes one instance.
Share Compiler::share_of(const BufferNode& buffer) const {
  if (!in_threads_) return Share::Task;
  switch (buffer.scope.kind) {
    case ScopeKind::Global:
    case ScopeKind::Constant: return Share::Device;
    case ScopeKind::Cluster: return Share::Cluster;
    case ScopeKind::Shared:
    case ScopeKind::Named: return Share::Block;
    case ScopeKind::Warp: return Share::Warp;
    case ScopeKind::Register:
    case ScopeKind::Tile: break;
  }
  const bool over_lanes =
      buffer.layout && std::any_of(buffer.layout->dims.begin(), buffer.layout->dims.end(),
                                   [](const PhysDim& d) { return d.kind == PhysKind::Lane; });
  return over_lanes ? Share::Agent : Share::Task;
}

void Compiler::alloc(const Alloc& a) {
  const BufferNode& buffer = *a.buffer;
  const Mark m = mark();
  AllocInfo info;
  info.buffer = &buffer;
  for (const Expr& extent : buffer.shape) info.shape.push_back(scalar(extent));
  info.share = share_of(buffer);
  if (info.share != Share::Task) info.site = program_.sites++;
  info.race_checked =
      check_ && concurrent_ && (info.share != Share::Task || has_concurrency(a.body));
  if (buffer.layout) {
    std::unordered_set<const ExprNode*> own;
    for (const Var& v : buffer.layout->indices) own.insert(v.get());
    own.insert(buffer.layout->replica.get());
    for (const PhysDim& d : buffer.layout->dims)
      for (const Expr& e : {d.index, d.extent})
        for (const Var& v : vars_of(e))
          if (!own.count(v.get()))
            info.layout_vars.emplace_back(v.as<VarNode>(), variable(*v.as<VarNode>()).reg);
  }
  info.slot = next_slot_++;
  program_.slots = std::max(program_.slots, next_slot_);
  Storage s;
  s.buffer = &buffer;
  s.slot = info.slot;
  s.shape = info.shape;
  s.alloc_level = ++alloc_level_;
  s.block_depth = static_cast<int>(blocks_.size());
  s.race_checked = info.race_checked;
  s.thread_private = in_threads_ && info.share == Share::Task;
  buffers_[&buffer] = std::move(s);
  const auto index = static_cast<Reg>(program_.allocs.size());
  program_.allocs.push_back(std::move(info));
  emit({.op = Op::Alloc, .a = index});
  const StmtNode* const outer = origin_;
  stmt(a.body);
  origin_ = outer;
  emit({.op = Op::Free, .a = index});
  --alloc_level_;
  release(m);
}

}  // namespace tilewright::ir::run
