// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"

#include "ir/buffer.h"
#include "ir/check_that.h"
#include "ir/scalar.h"

namespace tilewright::ir {
namespace {

void check_lanes(int64_t lanes) {
  check_that(lanes >= 2 && lanes <= 4096, "a vector has 2 to 4096 lanes, not ", lanes);
}

Type check_choice(const Expr& cond, const Expr& yes, const Expr& no, const char* what) {
  check_that(cond.type().is_bool(), "the condition of `", what, "` is ", cond.type(), ", not bool");
  check_that(yes.type() == no.type(), "`", what, "` chooses between ", yes.type(), " and ",
             no.type());
  check_that(cond.type().lanes == 1 || cond.type().lanes == yes.type().lanes, "the condition of `",
             what, "` has ", cond.type().lanes, " lanes, its values ", yes.type().lanes);
  return yes.type();
}

}  // namespace

Expr::Expr(int64_t index) : Expr(make<IntImm>({}, kIndex, index)) {}

Var::Var(std::string name, Type type, Span span)
    : Expr(make<VarNode>(span, type, std::move(name))) {}

Var Var::of(const VarNode& node) { return Var(node.shared_from_this()); }

const std::string& Var::name() const { return as<VarNode>()->name; }

Type IntImm::check() const {
  check_that(of.lanes == 1 && !of.is_float(), "an integer constant has an integer or bool type");
  check_that(value == wrap_int(of.elem, value), "the constant ", value, " does not fit ", of);
  return of;
}

Type FloatImm::check() const {
  check_that(of.lanes == 1 && of.is_float(), "a float constant has a float type");
  const double rounded = round_to(of.elem, value);
  check_that(rounded == value || (rounded != rounded && value != value), "the constant ", value,
             " is not exact in ", of);
  return of;
}

Type VarNode::check() const {
  check_that(of.lanes >= 1 && of.lanes <= 4096, "a variable has 1 to 4096 lanes");
  return of;
}

Type Unary::check() const {
  const Type t = a.type();
  switch (op) {
    case UnaryOp::Not: check_that(t.is_bool(), "`!` needs bool, not ", t); break;
    case UnaryOp::BitNot: check_that(t.is_int(), "`~` needs integers, not ", t); break;
    case UnaryOp::Neg:
    case UnaryOp::Abs: check_that(!t.is_bool(), "`", info(op).text, "` needs numbers, not bool");
  }
  return t;
}

Type Binary::check() const {
  const Type t = a.type();
  const std::string_view sign = info(op).text;
  check_that(t == b.type(), "`", sign, "` has operands of types ", t, " and ", b.type());
  switch (op) {
    case BinaryOp::And:
    case BinaryOp::Or: check_that(t.is_bool(), "`", sign, "` needs bool operands, not ", t); break;
    case BinaryOp::Mod:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      check_that(t.is_int(), "`", sign, "` needs integer operands, not ", t);
      break;
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
      check_that(!t.is_float(), "`", sign, "` needs integer operands, not ", t);
      break;
    case BinaryOp::Eq:
    case BinaryOp::Ne: break;
    default: check_that(!t.is_bool(), "`", sign, "` needs numbers, not bool");
  }
  return is_compare(op) ? t.with_elem(Elem::Bool) : t;
}

Type Call::check() const {
  const MathInfo& f = info(fn);
  check_that(static_cast<int>(args.size()) == f.args, "`", f.name, "` takes ", f.args,
             " arguments, not ", args.size());
  const Type t = args[0].type();
  check_that(f.on_floats ? t.is_float() : t.is_int(), "`", f.name, "` works on ",
             f.on_floats ? "floats" : "integers", ", not ", t);
  for (const Expr& arg : args)
    check_that(arg.type() == t, "the arguments of `", f.name, "` have types ", t, " and ",
               arg.type());
  return fn == MathFn::IsNan || fn == MathFn::IsInf ? t.with_elem(Elem::Bool) : t;
}

Type Cast::check() const { return value.type().with_elem(to); }

Type Reinterpret::check() const {
  check_that(bits(to) == bits(value.type().elem), "cannot see ", value.type(), " as ", name(to),
             ": another width");
  check_that(to != Elem::Bool && !value.type().is_bool(), "bool has no bits to reinterpret");
  return value.type().with_elem(to);
}

Type Select::check() const { return check_choice(cond, yes, no, "select"); }

Type Guard::check() const {
  check_that(cond.type().lanes == 1, "`guard` needs one condition for all lanes");
  return check_choice(cond, yes, no, "guard");
}

Type Load::check() const { return {buffer->elem, check_access(buffer, indices, mask, rank)}; }

Type Ramp::check() const {
  check_lanes(lanes);
  check_that(base.type().is_int() && !base.type().is_vector(), "a ramp starts at a scalar integer");
  check_that(stride.type() == base.type(), "a ramp's stride has another type than its base");
  return base.type().with_lanes(lanes);
}

Type Broadcast::check() const {
  check_lanes(lanes);
  check_that(!value.type().is_vector(), "broadcast takes a scalar");
  return value.type().with_lanes(lanes);
}

Type VectorReduce::check() const {
  check_that(value.type().is_vector(), "only a vector can be reduced over its lanes");
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Mul:
    case BinaryOp::Min:
    case BinaryOp::Max: check_that(!value.type().is_bool(), "bool lanes reduce by && or ||"); break;
    case BinaryOp::And:
    case BinaryOp::Or: check_that(value.type().is_bool(), "&& and || reduce bool lanes"); break;
    default: check_that(false, "lanes cannot be reduced by `", info(op).text, "`");
  }
  return value.type().scalar();
}

}  // namespace tilewright::ir
