// SPDX-License-Identifier: Apache-2.0
#include "ir/stmt.h"

#include "ir/check_that.h"
#include "ir/func.h"
#include "ir/lex.h"

namespace tilewright::ir {
namespace {

template <class... Parts>
void check_index(const Expr& e, const Parts&... what) {
  check_that(e && e.type() == kIndex, what..., " is not an i64 scalar");
}

template <class... Parts>
void check_condition(const Expr& e, const Parts&... what) {
  check_that(e && e.type() == kBool, what..., " is not a bool scalar");
}

void check_region(const Region& region) {
  check_that(region.ranges.size() == region.buffer->shape.size(), "a region of `",
             region.buffer->name, "` has ", region.ranges.size(), " ranges, the buffer ",
             region.buffer->rank(), " dimensions");
  for (const Range& r : region.ranges) {
    check_index(r.min, "the start of a range of `", region.buffer->name, "`");
    check_index(r.extent, "the extent of a range of `", region.buffer->name, "`");
  }
}

void check_hints(const std::vector<Hint>& hints) {
  for (size_t i = 0; i < hints.size(); ++i) {
    check_that(is_name(hints[i].key), "`", hints[i].key, "` cannot be the name of a hint");
    check_that(hints[i].text.empty() || hints[i].number == 0, "hint `", hints[i].key,
               "` has two values");
    for (size_t j = 0; j < i; ++j)
      check_that(hints[i].key != hints[j].key, "hint `", hints[i].key, "` is given twice");
  }
}

}  // namespace

std::string_view name(ForKind kind) {
  constexpr std::string_view kNames[] = {"serial",   "parallel", "vectorized",
                                         "unrolled", "bind",     "vthread"};
  return kNames[static_cast<int>(kind)];
}

std::string_view name(ThreadAxis axis) {
  constexpr std::string_view kNames[] = {"block.x",   "block.y",   "block.z",
                                         "cluster.x", "cluster.y", "cluster.z",
                                         "thread.x",  "thread.y",  "thread.z"};
  return kNames[static_cast<int>(axis)];
}

std::string_view name(IterKind kind) {
  constexpr std::string_view kNames[] = {"spatial", "reduce", "ordered"};
  return kNames[static_cast<int>(kind)];
}

std::string_view name(InstrForm form) {
  constexpr std::string_view kNames[] = {"compute", "reset", "update"};
  return kNames[static_cast<int>(form)];
}

std::string_view name(ChannelReach reach) {
  constexpr std::string_view kNames[] = {"agent", "block", "cluster"};
  return kNames[static_cast<int>(reach)];
}

std::string_view name(ChannelOpKind kind) {
  constexpr std::string_view kNames[] = {"acquire", "commit", "wait", "release"};
  return kNames[static_cast<int>(kind)];
}

std::string_view name(BarrierReach reach) {
  constexpr std::string_view kNames[] = {"warp", "agent", "named", "block", "cluster", "grid"};
  return kNames[static_cast<int>(reach)];
}

std::string_view name(AtomicOp op) {
  constexpr std::string_view kNames[] = {"add", "min", "max", "exchange", "compare_exchange"};
  return kNames[static_cast<int>(op)];
}

std::string_view name(MemoryOrder order) {
  constexpr std::string_view kNames[] = {"relaxed", "acquire", "release", "acquire_release"};
  return kNames[static_cast<int>(order)];
}

std::string_view name(Access access) {
  constexpr std::string_view kNames[] = {"in", "out", "inout"};
  return kNames[static_cast<int>(access)];
}

std::string_view name(Stage stage) {
  constexpr std::string_view kNames[] = {"loops", "scheduled", "final"};
  return kNames[static_cast<int>(stage)];
}

void Store::check() const {
  const int lanes = check_access(buffer, indices, mask, rank);
  check_that(value.type() == Type{buffer->elem, lanes}, "`", buffer->name, "` takes ",
             Type{buffer->elem, lanes}, ", not ", value.type());
}

void Update::check() const {
  const size_t n = reducer->lhs.size();
  check_that(targets.size() == n && values.size() == n, "reducer `", reducer->name, "` combines ",
             n, " values, the update has ", targets.size(), " targets and ", values.size(),
             " values");
  const int lanes = check_access(targets[0].buffer, targets[0].indices, nullptr, nullptr);
  for (size_t i = 0; i < n; ++i) {
    const Elem elem = reducer->lhs[i].type().elem;
    check_that(check_access(targets[i].buffer, targets[i].indices, nullptr, nullptr) == lanes,
               "the targets of one update have different numbers of lanes");
    check_that(targets[i].buffer->elem == elem, "reducer `", reducer->name, "` combines ",
               ir::name(elem), ", `", targets[i].buffer->name, "` holds ",
               ir::name(targets[i].buffer->elem));
    check_that(values[i].type() == Type{elem, lanes}, "reducer `", reducer->name, "` combines ",
               Type{elem, lanes}, ", not ", values[i].type());
  }
}

void Seq::check() const {
  for (const Stmt& s : stmts) check_that(static_cast<bool>(s), "a sequence holds a null statement");
}

void Let::check() const {
  check_that(var.type() == value.type(), "`", var.name(), "` is ", var.type(), ", its value ",
             value.type());
}

void Alloc::check() const { check_that(buffer && body, "an allocation without buffer or body"); }

void For::check() const {
  check_that(var.type() == kIndex, "loop variable `", var.name(), "` is not an i64");
  check_index(min, "the start of loop `", var.name(), "`");
  check_index(extent, "the extent of loop `", var.name(), "`");
  check_that(static_cast<bool>(body), "loop `", var.name(), "` has no body");
  check_hints(hints);
}

void While::check() const { check_condition(cond, "the condition of `while`"); }

void If::check() const { check_condition(cond, "the condition of `if`"); }

void Block::check() const {
  for (const BlockIter& it : iters) {
    check_that(it.var.type() == kIndex, "iterator `", it.var.name(), "` is not an i64");
    check_index(it.extent, "the extent of iterator `", it.var.name(), "`");
    check_index(it.binding, "the binding of iterator `", it.var.name(), "`");
  }
  if (predicate) check_condition(predicate, "the predicate of block `", name, "`");
  for (const Region& r : reads) check_region(r);
  for (const Region& r : writes) check_region(r);
  check_that(static_cast<bool>(body), "block `", name, "` has no body");
  check_hints(hints);
}

void InstrCall::check() const {
  check_that(static_cast<bool>(instr->form(form)), "instruction `", instr->name, "` has no ",
             ir::name(form), " form");
  check_that(operands.size() == instr->operands.size(), "instruction `", instr->name, "` has ",
             instr->operands.size(), " operands, the call ", operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    check_region(operands[i]);
    check_that(operands[i].buffer->elem == instr->operands[i].buffer->elem, "operand `",
               instr->operands[i].buffer->name, "` of instruction `", instr->name, "` is ",
               ir::name(instr->operands[i].buffer->elem), ", `", operands[i].buffer->name,
               "` holds ", ir::name(operands[i].buffer->elem));
  }
  check_that(strides.empty() || strides.size() == operands.size(), "a call of instruction `",
             instr->name, "` has ", operands.size(), " operands and strides for ", strides.size());
  for (size_t i = 0; i < strides.size(); ++i) {
    const BufferNode& operand = *instr->operands[i].buffer;
    check_that(strides[i].size() == operand.physical_rank(), "operand `", operand.name,
               "` of instruction `", instr->name, "` has ", operand.physical_rank(),
               " physical dimensions, its strides ", strides[i].size());
    for (const Expr& stride : strides[i])
      check_index(stride, "a stride of operand `", operand.name, "`");
  }
}

void Agents::check() const {
  check_that(!agents.empty(), "`agents` without an agent");
  for (const Agent& a : agents) {
    check_that(a.count >= 1 && a.threads >= 1 && a.registers >= 0 && a.body, "agent `", a.name,
               "` needs a count and threads of at least 1");
    check_that(a.count == 1 || a.index, "agent `", a.name, "` needs an index variable");
  }
}

void ChannelScope::check() const {
  check_that(channel->slots >= 1 && channel->commits >= 1 && channel->releases >= 1, "channel `",
             channel->name, "` needs at least one slot, commit and release");
}

void ChannelOp::check() const {
  check_index(item, "the item of channel `", channel->name, "`");
  if (bytes) {
    check_that(op == ChannelOpKind::Commit, "only `commit` states bytes");
    check_index(bytes, "the bytes of `commit`");
  }
  if (rank) check_index(rank, "the rank of channel `", channel->name, "`");
}

void Async::check() const {
  check_index(item, "the item of channel `", channel->name, "`");
  if (bytes) check_index(bytes, "the bytes of `async`");
  if (rank) check_index(rank, "the rank of channel `", channel->name, "`");
}

void Barrier::check() const {
  check_that((reach == BarrierReach::Named) == (participants > 0),
             "a named barrier states its participants, another one does not");
}

void Atomic::check() const {
  check_that(check_access(buffer, indices, nullptr, nullptr) == 1, "an atomic is not a vector");
  const Type t{buffer->elem, 1};
  check_that(value.type() == t, "atomic on `", buffer->name, "` takes ", t, ", not ", value.type());
  check_that((op == AtomicOp::CompareExchange) == static_cast<bool>(expected),
             "compare_exchange alone states an expected value");
  check_that(!expected || expected.type() == t, "the expected value has another type");
  if (old)
    check_that(
        old->rank() == 0 && old->elem == buffer->elem && old->scope.kind == ScopeKind::Register,
        "`", old->name, "` cannot take the old value: it must be a ", t, " scalar in `register`");
}

void Prefetch::check() const {
  check_that(check_access(buffer, indices, nullptr, nullptr) == 1, "a prefetch is not a vector");
  check_that(level >= 1 && level <= 3, "a prefetch names cache level 1, 2 or 3");
}

Stmt seq(std::vector<Stmt> stmts, const Span& span) {
  std::vector<Stmt> flat;
  for (Stmt& s : stmts) {
    if (const Seq* inner = s.as<Seq>())
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    else
      flat.push_back(std::move(s));
  }
  if (flat.size() == 1) return flat[0];
  return make_stmt<Seq>(span, std::move(flat));
}

Stmt nothing() {
  static const Stmt empty = make_stmt<Seq>(Span{});
  return empty;
}

bool is_nothing(const Stmt& s) {
  const Seq* all = s.as<Seq>();
  return all && all->stmts.empty();
}

}  // namespace tilewright::ir
