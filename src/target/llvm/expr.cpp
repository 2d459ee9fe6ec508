// SPDX-License-Identifier: Apache-2.0
// Expressions: one LLVM value each, for all lanes.
#include <cmath>
#include <optional>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "support/str.h"
#include "target/llvm/convert.h"
#include "target/llvm/emitter.h"
#include "target/llvm/float_ops.h"
#include "target/llvm/int_ops.h"
#include "target/llvm/math/math.h"
#include "target/llvm/reduce.h"

namespace tilewright::target::llvm {

using ir::BinaryOp;
using ir::Elem;
using ir::Expr;

static bool is_positive_zero(const Expr& e) {
  if (const auto* lanes = e.as<ir::Broadcast>()) return is_positive_zero(lanes->value);
  if (const auto* real = e.as<ir::FloatImm>())
    return real->value == 0 && !std::signbit(real->value);
  return ir::is_const(e, 0);
}

ll::Value* Emitter::expr(const Expr& e) {
  const auto found = memo_.find(e);
  if (found != memo_.end()) return found->second;
  ll::Value* value = ir::visit(e, [&](const auto& node) { return emit(node); });
  memo_.emplace(e, value);
  return value;
}

ll::Value* Emitter::emit(const ir::IntImm& e) {
  return b_.integer(b_.type(e.of), static_cast<uint64_t>(e.value));
}

ll::Value* Emitter::emit(const ir::FloatImm& e) {
  if (is_small_float(e.of.elem))
    return b_.integer(b_.type(e.of), ir::float_to_bits(e.of.elem, e.value));
  return b_.real(b_.type(e.of), e.value);
}

ll::Value* Emitter::emit(const ir::VarNode& e) {
  const auto found = frame_.vars.find(ir::Var::of(e));
  require(found != frame_.vars.end(), "a variable is used outside of its scope");
  return found->second;
}

ll::Value* Emitter::emit(const ir::Unary& e) {
  ll::Value* x = expr(e.a);
  const Elem elem = e.a.type().elem;
  return ir::is_float(elem) ? float_unary(b_, e.op, elem, x) : int_unary(b_, e.op, elem, x);
}

namespace {

/// What can be said of a float without knowing any value.
Known known(const Expr& e) {
  if (const auto* all = e.as<ir::Broadcast>()) return known(all->value);
  if (const auto* c = e.as<ir::FloatImm>()) return {c->value == c->value, c->value != 0};
  if (const auto* c = e.as<ir::Cast>()) return {!c->value.type().is_float(), false};
  return {};
}

/// base + 0, 1, 2, … < limit, where every lane has the same limit.
struct PrefixMask {
  Expr base, limit;
};
std::optional<PrefixMask> prefix_mask(const ir::Binary& e) {
  if (e.op != BinaryOp::Lt || e.a.type().elem != Elem::I64 || !e.a.type().is_vector())
    return std::nullopt;
  const std::optional<LaneIndex> left = lane_index(e.a), right = lane_index(e.b);
  if (!left || !right || left->stride != 1 || right->stride != 0) return std::nullopt;
  if (ir::has_load(left->base)) return std::nullopt;  // no index: its lanes might wrap
  return PrefixMask{left->base, right->base};
}

}  // namespace

/// The first `limit - base` lanes. Counted in one scalar: 64-bit compares would need eight lanes'
/// worth of registers.
ll::Value* Emitter::prefix(const Expr& base, const Expr& limit, int lanes) {
  ll::Value* left = b_.CreateSub(expr(limit), expr(base));
  ll::Value* none = b_.CreateICmpSLE(expr(limit), expr(base));
  ll::Value* most = b_.getInt64(static_cast<uint64_t>(lanes));
  ll::Value* count = b_.CreateSelect(none, b_.getInt64(0),
                                     b_.CreateBinaryIntrinsic(ll::Intrinsic::umin, left, most));
  std::vector<ll::Constant*> iota;
  for (int i = 0; i < lanes; ++i) iota.push_back(b_.getInt32(static_cast<uint32_t>(i)));
  ll::Value* splat = b_.splat(b_.CreateTrunc(count, b_.getInt32Ty()), lanes);
  return b_.CreateICmpULT(ll::ConstantVector::get(iota), splat);
}

ll::Value* Emitter::emit(const ir::Binary& e) {
  if (const std::optional<PrefixMask> mask = prefix_mask(e))
    return prefix(mask->base, mask->limit, e.type.lanes);
  ll::Value* x = expr(e.a);
  ll::Value* y = expr(e.b);
  const Elem elem = e.a.type().elem;
  return ir::is_float(elem) ? float_binary(b_, e.op, elem, x, y, known(e.a), known(e.b))
                            : int_binary(b_, e.op, elem, x, y);
}

ll::Value* Emitter::emit(const ir::Call& e) {
  std::vector<ll::Value*> args;
  for (const Expr& arg : e.args) args.push_back(expr(arg));
  const Elem elem = e.args[0].type().elem;
  return ir::is_float(elem) ? float_call(b_, e.fn, elem, args) : int_call(b_, e.fn, elem, args[0]);
}

ll::Value* Emitter::emit(const ir::Cast& e) {
  return convert(b_, e.value.type().elem, e.to, expr(e.value));
}

ll::Value* Emitter::emit(const ir::Reinterpret& e) {
  return b_.CreateBitCast(expr(e.value), b_.type(e.type));
}

ll::Value* Emitter::emit(const ir::Select& e) {
  const auto* load = e.yes.as<ir::Load>();
  if (load && load->mask == e.cond && is_positive_zero(e.no)) return expr(e.yes);  // 0 where off
  ll::Value* cond = expr(e.cond);
  return b_.CreateSelect(cond, expr(e.yes), expr(e.no));
}

ll::Value* Emitter::emit(const ir::Guard& e) {
  if (ll::Value* element = guarded_element(e)) return element;
  ll::Value* cond = expr(e.cond);
  ll::LLVMContext& context = module_.getContext();
  const auto block = [&](const char* name) {
    return ll::BasicBlock::Create(context, name, frame_.function);
  };
  ll::BasicBlock *yes = block("guard"), *no = block("guard.else"), *end = block("guard.end");
  b_.CreateCondBr(cond, yes, no);
  // What is computed on one side is not known on the other, nor afterwards.
  const auto before = memo_;
  const auto side = [&](ll::BasicBlock*& start, const Expr& value) {
    b_.SetInsertPoint(start);
    memo_ = before;
    ll::Value* v = expr(value);
    b_.CreateBr(end);
    start = b_.GetInsertBlock();
    return v;
  };
  ll::Value* a = side(yes, e.yes);
  ll::Value* c = side(no, e.no);
  memo_ = before;
  b_.SetInsertPoint(end);
  ll::PHINode* phi = b_.CreatePHI(a->getType(), 2);
  phi->addIncoming(a, yes);
  phi->addIncoming(c, no);
  return phi;
}

ll::Value* Emitter::emit(const ir::Load& e) {
  if (e.rank)
    throw Error({.code = "target.llvm.unsupported",
                 .at = e.span,
                 .message = str("a CPU kernel cannot read `", e.buffer->name, "` of another block"),
                 .notes = {"there are no clusters of blocks on a CPU"},
                 .help = "remove the rank"});
  return load({e.buffer, e.indices, e.mask, e.type.lanes});
}

ll::Value* Emitter::emit(const ir::Ramp& e) {
  ll::Value* base = expr(e.base);
  ll::Value* stride = expr(e.stride);
  std::vector<ll::Constant*> iota;
  for (int i = 0; i < e.lanes; ++i)
    iota.push_back(b_.integer(base->getType(), static_cast<uint64_t>(i)));
  return b_.CreateAdd(b_.splat(base, e.lanes),
                      b_.CreateMul(b_.splat(stride, e.lanes), ll::ConstantVector::get(iota)));
}

ll::Value* Emitter::emit(const ir::Broadcast& e) { return b_.splat(expr(e.value), e.lanes); }

ll::Value* Emitter::emit(const ir::VectorReduce& e) {
  const bool reassociate = options_.numerics != Numerics::Ieee;
  return reduce_lanes(b_, e.op, e.value.type().elem, expr(e.value), reassociate);
}

}  // namespace tilewright::target::llvm
