// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/literal.h"
#include "ir/printer.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

constexpr int kUnaryPrecedence = 10;

std::string parenthesized(bool yes, std::string text) { return yes ? str("(", text, ")") : text; }

std::string suffix(Type type, Type plain) { return type == plain ? "" : str(":", print(type)); }

bool is_constant(const Expr& e) { return e.as<IntImm>() || e.as<FloatImm>(); }

std::string_view lane_op(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "add";
    case BinaryOp::Mul: return "mul";
    case BinaryOp::And: return "and";
    case BinaryOp::Or: return "or";
    default: return info(op).text;  // min, max
  }
}

}  // namespace

/// `precedence` is that of the operator around: what binds less tightly gets parentheses.
std::string Printer::text(const Expr& e, int precedence) {
  if (!e) return "null";
  return visit(e, [&](const auto& n) { return node(n, precedence); });
}

std::string Printer::list(const std::vector<Expr>& items) {
  std::string out;
  for (const Expr& item : items) {
    if (!out.empty()) out += ", ";
    out += text(item);
  }
  return out;
}

std::string Printer::node(const IntImm& imm, int) {
  if (imm.of.is_bool()) return imm.value ? "true" : "false";
  return imm.of == Type{Elem::U64, 1} ? str(static_cast<uint64_t>(imm.value), ":u64")
                                      : str(imm.value, suffix(imm.of, kIndex));
}

std::string Printer::node(const FloatImm& imm, int) {
  return print_float(imm.of.elem, imm.value) + suffix(imm.of, kF32);
}

std::string Printer::node(const VarNode& v, int) { return names_.name(&v, v.name); }

std::string Printer::node(const Unary& u, int) {
  if (u.op == UnaryOp::Abs) return str("abs(", text(u.a), ")");
  const ExprKind inner = u.a->kind;  // -(1) is no constant, and --x no pretty sight
  const bool apart =
      inner == ExprKind::Unary || inner == ExprKind::IntImm || inner == ExprKind::FloatImm;
  return str(info(u.op).text, apart ? str("(", text(u.a), ")") : text(u.a, kUnaryPrecedence));
}

std::string Printer::node(const Binary& b, int precedence) {
  const BinaryInfo& op = info(b.op);
  if (op.precedence == 0) return str(op.text, "(", text(b.a), ", ", text(b.b), ")");
  const int left = is_compare(b.op) ? op.precedence + 1 : op.precedence;
  const int right = op.precedence + 1;
  const bool turned = (b.op == BinaryOp::Lt || b.op == BinaryOp::Le) && is_constant(b.a) &&
                      !is_constant(b.b);  // `i >= 3` reads better than `3 <= i`
  const std::string out =
      turned ? str(text(b.b, right), b.op == BinaryOp::Lt ? " > " : " >= ", text(b.a, left))
             : str(text(b.a, left), " ", op.text, " ", text(b.b, right));
  return parenthesized(op.precedence < precedence, out);
}

std::string Printer::node(const Call& c, int) {
  return str(info(c.fn).name, "(", list(c.args), ")");
}

std::string Printer::node(const Cast& c, int) {
  return str(ir::name(c.to), "(", text(c.value), ")");
}

std::string Printer::node(const Reinterpret& r, int) {
  return str("bits:", ir::name(r.to), "(", text(r.value), ")");
}

std::string Printer::node(const Select& s, int) {
  return str("select(", text(s.cond), ", ", text(s.yes), ", ", text(s.no), ")");
}

std::string Printer::node(const Guard& g, int) {
  return str("guard(", text(g.cond), ", ", text(g.yes), ", ", text(g.no), ")");
}

std::string Printer::node(const Load& l, int) {
  return access(l.buffer, l.indices, l.mask, l.rank);
}

std::string Printer::node(const Ramp& r, int) {
  return str("ramp(", text(r.base), ", ", text(r.stride), ", ", r.lanes, ")");
}

std::string Printer::node(const Broadcast& b, int) {
  return str("broadcast(", text(b.value), ", ", b.lanes, ")");
}

std::string Printer::node(const VectorReduce& r, int) {
  return str("reduce_", lane_op(r.op), "(", text(r.value), ")");
}

std::string Printer::access(const Buffer& buffer, const std::vector<Expr>& indices,
                            const Expr& mask, const Expr& rank) {
  std::string out = str(name(buffer), rank_text(rank), "[", list(indices), "]");
  if (mask) out += str(" mask (", text(mask), ")");
  return out;
}

std::string Printer::rank_text(const Expr& rank) {
  if (!rank) return "";
  const bool simple = rank.as<VarNode>() || (rank.as<IntImm>() && rank.as<IntImm>()->value >= 0);
  return str("@", parenthesized(!simple, text(rank)));
}

std::string Printer::range(const Expr& min, const Expr& extent) {
  const std::optional<int64_t> first = const_int(min), count = const_int(extent);
  if (first == 0) return str("0..", text(extent));
  int64_t end;
  if (first && count && !__builtin_add_overflow(*first, *count, &end))
    return str(*first, "..", end);
  const Binary* difference = extent.as<Binary>();
  if (!first && difference && difference->op == BinaryOp::Sub && equal(difference->b, min))
    return str(text(min), "..", text(difference->a));
  return str(text(min), " +: ", text(extent));
}

std::string Printer::text(const Region& region) {
  std::string ranges;
  for (const Range& r : region.ranges) {
    if (!ranges.empty()) ranges += ", ";
    ranges += is_const(r.extent, 1) ? text(r.min) : range(r.min, r.extent);
  }
  return str(name(region.buffer), rank_text(region.rank), "[", ranges, "]");
}

std::string Printer::name(const Var& v) { return v ? names_.name(v.get(), v.name()) : "null"; }
std::string Printer::name(const Buffer& b) { return b ? names_.name(b.get(), b->name) : "null"; }
std::string Printer::name(const Channel& c) { return c ? names_.name(c.get(), c->name) : "null"; }
std::string Printer::name(const Reducer& r) {
  if (is_builtin(r)) return r->name;
  return reducers_.name(r.get(), builtin_reducer_op(r->name) ? r->name + "_1" : r->name);
}

}  // namespace tilewright::ir
