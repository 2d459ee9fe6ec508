// SPDX-License-Identifier: Apache-2.0
// Declarations of hardware instructions, and what a call may hand to them.
#include <algorithm>

#include "ir/build.h"
#include "ir/operand.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ir/verify_rules.h"
#include "support/str.h"

namespace tilewright::ir {
namespace detail {
namespace {

/// What the meaning of an instruction may be written with.
constexpr Parts kMeaning = {{StmtKind::Store, StmtKind::Update, StmtKind::Seq, StmtKind::Let,
                             StmtKind::Alloc, StmtKind::While, StmtKind::If, StmtKind::Block},
                            {ForKind::Serial, ForKind::Vectorized, ForKind::Unrolled}};

void check_form(const InstructionNode& instr, InstrForm form) {
  const Stmt& body = instr.form(form);
  if (!body) return;
  const std::string where = str("the `", name(form), "` of instruction ", quoted(instr.name));
  walk_paths(body, [&](const Stmt& s, const Path&) {
    if (!kMeaning.contains(s))
      fail("ir.verify.instr", place(s->span, instr.span), str(describe(s), " stands in ", where),
           {"the meaning of an instruction is what it computes, as one step"},
           "declare the computation only; synchronise around the call");
    for_each_use(s, [&](const Use& use) {
      const auto operand =
          std::find_if(instr.operands.begin(), instr.operands.end(),
                       [&](const Param& p) { return p.buffer.get() == use.buffer; });
      if (operand == instr.operands.end()) return;
      if (form == InstrForm::Reset && use.reads && operand->access != Access::In)
        fail("ir.verify.instr", place(use.at, instr.span),
             str(where, " reads its result ", quoted(use.buffer->name)), {},
             "write the identity there; read the result in `update`");
    });
  });
  LoopFunc func;
  func.name = instr.name;
  func.params = instr.operands;
  func.body = body;
  func.stage = Stage::Scheduled;
  func.span = instr.span;
  verify_function(func, true);
}

/// Do the threads hold the region's elements as the operand's layout says? Lanes must be the same,
/// registers may begin elsewhere. True where the region does not stand at a constant place, or is
/// too large to look at every element.
bool same_fragment(const Region& region, const BufferNode& operand,
                   const std::vector<size_t>& dims) {
  const LayoutNode &mine = *operand.layout, &theirs = *region.buffer->layout;
  if (mine.dims.size() != theirs.dims.size() || mine.replicas != theirs.replicas) return false;
  Values values;
  for (size_t d = 0; d < region.ranges.size(); ++d) {
    const auto min = const_int(region.ranges[d].min);
    if (!min) return true;
    values[theirs.indices[d].as<VarNode>()] = *min;
  }
  std::vector<std::optional<int64_t>> offsets(mine.dims.size());
  std::vector<int64_t> point(dims.size(), 0), base, extents;
  __int128 points = mine.replicas;
  for (size_t i = 0; i < dims.size(); ++i) {
    base.push_back(values[theirs.indices[dims[i]].as<VarNode>()]);
    extents.push_back(*const_int(operand.shape[i]));
    points = std::min<__int128>(points * extents.back(), kMaxPoints + 1);
  }
  if (points == 0 || points > kMaxPoints) return true;
  for (int64_t r = 0; r < mine.replicas; ++r) {
    if (mine.replica) values[mine.replica.as<VarNode>()] = r;
    if (theirs.replica) values[theirs.replica.as<VarNode>()] = r;
    do {
      for (size_t i = 0; i < dims.size(); ++i) {
        values[mine.indices[i].as<VarNode>()] = point[i];
        values[theirs.indices[dims[i]].as<VarNode>()] = base[i] + point[i];
      }
      for (size_t d = 0; d < mine.dims.size(); ++d) {
        if (mine.dims[d].kind != theirs.dims[d].kind) return false;
        const auto a = evaluate(mine.dims[d].index, values);
        const auto b = evaluate(theirs.dims[d].index, values);
        if (!a || !b) return true;
        if (!offsets[d]) offsets[d] = mine.dims[d].kind == PhysKind::Lane ? 0 : *b - *a;
        if (*b - *a != *offsets[d]) return false;
      }
    } while (next_point(point, extents));
  }
  return true;
}

void check_call(const InstrCall& call, Stage stage) {
  if (call.strides.empty() == (stage == Stage::Final) && !call.operands.empty())
    fail("ir.verify.instr_strides", call.span,
         str("the call of instruction ", quoted(call.instr->name),
             call.strides.empty() ? " has no strides" : " has strides", " at stage `", name(stage),
             "`"),
         {"only buffers that are flat, at stage `final`, have strides"},
         call.strides.empty() ? "write `strides ([…], …)` after the operands, or lower with flatten"
                              : "leave the strides out, or call it in a function of stage `final`");
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Region& region = call.operands[i];
    const BufferNode& operand = *call.instr->operands[i].buffer;
    const std::string which =
        str("operand ", quoted(operand.name), " of instruction ", quoted(call.instr->name));
    if (!(region.buffer->scope == operand.scope))
      fail("ir.verify.instr_operand", call.span,
           str(which, " lives in `", print(operand.scope), "`, ", quoted(region.buffer->name),
               " in `", print(region.buffer->scope), "`"),
           {}, str("copy into a buffer in `", print(operand.scope), "` first"));
    // The strides say where the elements are.
    if (stage == Stage::Final) continue;
    const auto dims = operand_dims(region, operand);
    if (!dims) {
      std::string shape;
      for (const Expr& e : operand.shape)
        shape += str(shape.empty() ? "" : ", ", const_int(e).value_or(0));
      fail("ir.verify.instr_operand", call.span,
           str(which, " has the shape [", shape, "], the region of ", quoted(region.buffer->name),
               " another one"),
           {"dimensions of extent 1 may be left out, all others must agree"},
           "hand over a region of exactly that shape");
    }
    if (has_lanes(operand) != has_lanes(*region.buffer))
      fail("ir.verify.instr_operand", call.span,
           str(which, has_lanes(operand) ? " is" : " is not", " spread over the lanes, ",
               quoted(region.buffer->name), has_lanes(*region.buffer) ? " is" : " is not"),
           {}, "give both the same layout");
    if (has_lanes(operand) && !same_fragment(region, operand, *dims))
      fail("ir.verify.instr_operand", call.span,
           str(which, " is held by other threads or registers than ", quoted(region.buffer->name)),
           {"the layout of the buffer must agree with that of the operand, element by element"},
           str("give ", quoted(region.buffer->name), " the layout of the operand"));
  }
}

}  // namespace

void verify_calls(const LoopFunc& func) {
  walk(func.body, [&](const InstrCall& call) { check_call(call, func.stage); });
}

}  // namespace detail

void verify(const InstructionNode& instr) {
  using detail::fail;
  using detail::quoted;
  bool writes = false;
  for (const Param& p : instr.operands) {
    writes = writes || p.access != Access::In;
    for (const Expr& e : p.buffer->shape)
      if (!const_int(e))
        fail("ir.verify.instr", detail::place(p.buffer->span, instr.span),
             str("operand ", quoted(p.buffer->name), " of instruction ", quoted(instr.name),
                 " has an extent that is not a constant"),
             {}, "declare one instruction for each shape the hardware has");
  }
  if (!writes)
    fail("ir.verify.instr", instr.span,
         str("instruction ", quoted(instr.name), " has no operand that it writes"), {},
         "declare its result `out` or `inout`");
  for (const InstrForm form : {InstrForm::Compute, InstrForm::Reset, InstrForm::Update})
    detail::check_form(instr, form);
}

}  // namespace tilewright::ir
