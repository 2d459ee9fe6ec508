// SPDX-License-Identifier: Apache-2.0
#include "arith/simplify.h"

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/scalar.h"

namespace tilewright::arith {
namespace {

using ir::Binary;
using ir::BinaryOp;
using ir::Expr;
using ir::ExprKind;
using ir::UnaryOp;

constexpr int kMaxSteps = 20000;  // rules applied in one call, so that it ends whatever they do
constexpr int kEffort = 32;       // of the proofs that a rule's condition needs

/// Counts one level while it lives.
struct Deeper {
  explicit Deeper(int& depth) : depth(depth) { ++depth; }
  ~Deeper() { --depth; }
  int& depth;
};

bool is_ring(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul;
}

/// Does the solver have a normal form for this operator on indices?
bool has_index_form(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
    case BinaryOp::Div:
    case BinaryOp::Mod:
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
    case BinaryOp::BitAnd: return true;
    default: return false;
  }
}

}  // namespace

Expr Simplifier::simplify(const Expr& e) {
  if (!e || e->kind == ExprKind::IntImm || e->kind == ExprKind::FloatImm) return e;
  if (memo_version_ != solver_.version()) {
    memo_.clear();
    memo_version_ = solver_.version();
  }
  if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
  if (depth_ == 0) steps_ = kMaxSteps;
  Expr out;
  {
    const Deeper deeper(depth_);
    out = e.type().is_vector() ? vector(e) : scalar(e);
  }
  if (out != e && ir::equal(out, e)) out = e;
  memo_.emplace(e, out);
  if (out != e) memo_.emplace(out, out);
  return out;
}

Expr Simplifier::scalar(const Expr& e) {
  switch (e->kind) {
    case ExprKind::VarNode: {
      if (e.type().is_bool()) {
        const std::optional<bool> truth = solver_.known(e);
        return truth ? ir::bool_imm(*truth) : e;
      }
      if (!Solver::is_linear(e.type())) return e;
      const WideInterval r = solver_.range(solver_.value(e));
      if (r.lo != r.hi || solver_.mentions_kept(solver_.form(e))) return e;
      return ir::int_imm(e.type().elem, static_cast<int64_t>(r.lo));
    }
    case ExprKind::Unary: {
      const ir::Unary& u = *e.as<ir::Unary>();
      if (e.type() == ir::kIndex && u.op == UnaryOp::Neg)
        return index_node(sum_with_simple_leaves(e));
      return unary(u.op, simplify(u.a));
    }
    case ExprKind::Binary: {
      const Binary& b = *e.as<Binary>();
      if (b.op == BinaryOp::And || b.op == BinaryOp::Or) return logical(b);
      if (e.type() == ir::kIndex && is_ring(b.op)) {
        const Expr sum = sum_with_simple_leaves(e);
        const Binary* still = sum.as<Binary>();
        return still && is_ring(still->op) ? index_node(sum) : simplify(sum);
      }
      return binary(b.op, simplify(b.a), simplify(b.b));
    }
    case ExprKind::Call: {
      const ir::Call& c = *e.as<ir::Call>();
      std::vector<Expr> args;
      for (const Expr& a : c.args) args.push_back(simplify(a));
      if (const auto v = ir::const_int(args[0]); v && !ir::info(c.fn).on_floats)
        return ir::int_imm(e.type().elem, ir::int_call(c.fn, e.type().elem, *v));
      return args == c.args ? e : ir::make<ir::Call>(e->span, c.fn, std::move(args));
    }
    case ExprKind::Cast: {
      const ir::Cast& c = *e.as<ir::Cast>();
      return fold_cast(c.to, simplify(c.value));
    }
    case ExprKind::Reinterpret: {
      const ir::Reinterpret& r = *e.as<ir::Reinterpret>();
      Expr value = simplify(r.value);
      if (const ir::Reinterpret* inner = value.as<ir::Reinterpret>()) value = inner->value;
      if (value.type().elem == r.to) return value;
      return value == r.value ? e : ir::make<ir::Reinterpret>(e->span, r.to, value);
    }
    case ExprKind::Select:
    case ExprKind::Guard: return choice(e);
    case ExprKind::Load: return load(*e.as<ir::Load>());
    case ExprKind::VectorReduce: {
      const ir::VectorReduce& r = *e.as<ir::VectorReduce>();
      const Expr value = simplify(r.value);
      if (const ir::Broadcast* same = value.as<ir::Broadcast>();
          same && r.op != BinaryOp::Add && r.op != BinaryOp::Mul)
        return same->value;  // min, max, && and || of equal lanes
      return value == r.value ? e : ir::make<ir::VectorReduce>(e->span, r.op, value);
    }
    default: return e;
  }
}

/// The same sums and products over simplified operands.
Expr Simplifier::sum_with_simple_leaves(const Expr& e) {
  if (const ir::Unary* u = e.as<ir::Unary>(); u && u->op == UnaryOp::Neg) {
    const Expr a = sum_with_simple_leaves(u->a);
    return a == u->a ? e : -a;
  }
  const Binary* b = e.as<Binary>();
  if (b == nullptr || !is_ring(b->op)) return simplify(e);
  const Expr x = sum_with_simple_leaves(b->a), y = sum_with_simple_leaves(b->b);
  return x == b->a && y == b->b ? e : ir::binary(b->op, x, y);
}

Expr Simplifier::unary(UnaryOp op, const Expr& a) {
  if (const Expr folded = fold(op, a)) return folded;
  const Expr e = ir::unary(op, a);
  if (op == UnaryOp::Not) {
    if (const std::optional<bool> truth = solver_.known(a)) return ir::bool_imm(!*truth);
  }
  if (e.type() == ir::kIndex && (op == UnaryOp::Neg || op == UnaryOp::Abs)) return index_node(e);
  const Expr better = apply_rules(rules_for(op), e);
  return better ? better : e;
}

Expr Simplifier::binary(BinaryOp op, const Expr& a, const Expr& b) {
  if (const Expr folded = fold(op, a, b)) return folded;
  const ir::Type type = a.type();
  // Constants to the right.
  if (ir::info(op).commutative && !type.is_float() && ir::const_int(a) && !ir::const_int(b))
    return binary(op, b, a);
  if (type == ir::kIndex && has_index_form(op)) return index_node(ir::binary(op, a, b));
  if (ir::is_compare(op) && Solver::is_linear(type)) return compare(op, a, b);
  if ((op == BinaryOp::Min || op == BinaryOp::Max) && Solver::is_linear(type))
    return extreme(op, a, b);
  const Expr e = ir::binary(op, a, b);
  if (e.type().is_bool()) {
    if (const std::optional<bool> truth = solver_.known(e)) return ir::bool_imm(*truth);
  }
  const Expr better = apply_rules(rules_for(op), e);
  return better ? better : e;
}

/// An index expression over simple operands, as the solver's normal form, then by the rules.
Expr Simplifier::index_node(const Expr& e) {
  const Poly form = solver_.written_form(e);
  if (!solver_.mentions_kept(form)) {
    // Known through definitions or facts: a constant or another variable.
    const Poly value = solver_.value(e);
    const WideInterval r = solver_.range(value);
    if (r.lo == r.hi) return static_cast<int64_t>(r.lo);
    if (const Expr known = solver_.to_expr(value); known.as<ir::VarNode>()) return known;
  }
  const Expr normal = form.ok ? solver_.to_expr(form) : e;
  Expr better;
  if (const Binary* b = normal.as<Binary>())
    better = apply_rules(rules_for(b->op), normal);
  else if (const ir::Unary* u = normal.as<ir::Unary>())
    better = apply_rules(rules_for(u->op), normal);
  return better ? better : normal;
}

Expr Simplifier::extreme(BinaryOp op, const Expr& a, const Expr& b) {
  const Poly x = solver_.value(a), y = solver_.value(b);
  const bool is_min = op == BinaryOp::Min;
  if (solver_.prove_nonneg(y - x, kEffort)) return is_min ? a : b;
  if (solver_.prove_nonneg(x - y, kEffort)) return is_min ? b : a;
  const Expr e = ir::binary(op, a, b);
  const Expr better = apply_rules(rules_for(op), e);
  return better ? better : e;
}

/// A comparison of integers: decided by proof, or with the terms that make both sides positive.
///   io*16 + ii - n < 0   →   io*16 + ii < n          x*4 + 1 < y*4   →   x < y
Expr Simplifier::compare(BinaryOp op, const Expr& a, const Expr& b) {
  const Poly up = solver_.value(b) - solver_.value(a);
  switch (op) {
    case BinaryOp::Lt:
      if (solver_.prove_positive(up, kEffort)) return ir::bool_imm(true);
      if (solver_.prove_nonneg(up * -1, kEffort)) return ir::bool_imm(false);
      break;
    case BinaryOp::Le:
      if (solver_.prove_nonneg(up, kEffort)) return ir::bool_imm(true);
      if (solver_.prove_positive(up * -1, kEffort)) return ir::bool_imm(false);
      break;
    default:
      if (solver_.prove_zero(up, kEffort)) return ir::bool_imm(op == BinaryOp::Eq);
      if (solver_.prove_nonzero(up, kEffort)) return ir::bool_imm(op == BinaryOp::Ne);
  }
  Expr e = ir::binary(op, a, b);
  if (const std::optional<bool> truth = solver_.known(e)) return ir::bool_imm(*truth);
  if (a.type() == ir::kIndex) {
    if (const Expr canonical = canonical_compare(op, a, b)) e = canonical;
    if (const std::optional<bool> truth = solver_.known(e)) return ir::bool_imm(*truth);
  }
  const Binary* root = e.as<Binary>();
  const Expr better = root ? apply_rules(rules_for(root->op), e) : Expr();
  return better ? better : e;
}

Expr Simplifier::canonical_compare(BinaryOp op, const Expr& a, const Expr& b) {
  Poly d = solver_.form(b) - solver_.form(a);
  if (!d.ok || d.terms.empty()) return {};
  const bool ordered = op == BinaryOp::Lt || op == BinaryOp::Le;
  if (op == BinaryOp::Lt) d = d - Poly::of(1);  // a < b is b - a - 1 >= 0
  const int64_t g = content(d);
  if (!ordered && floor_mod(d.constant, g) != 0) return ir::bool_imm(op == BinaryOp::Ne);
  d = divide_down(d, g);
  // left <= right + k, or left == right + k
  Poly left, right;
  for (const Poly::Term& t : d.terms) {
    Poly term;
    term.terms = {t};
    (t.coefficient < 0 ? left : right) = t.coefficient < 0 ? left - term : right + term;
  }
  int64_t k = d.constant;
  if (!ordered) {
    if (left.terms.empty()) {
      std::swap(left, right);
      k = -k;
    }
    (k < 0 && !right.terms.empty() ? left.constant : right.constant) =
        k < 0 && !right.terms.empty() ? -k : k;
  } else if (right.terms.empty()) {
    op = BinaryOp::Lt;
    right.constant = k + 1;
  } else if (left.terms.empty() || k == 0) {
    op = BinaryOp::Le;
    left.constant = -k;
  } else {
    op = BinaryOp::Lt;
    (k < 0 ? left.constant : right.constant) = k < 0 ? -k - 1 : k + 1;
  }
  if (k == Interval::kMin || k == Interval::kMax || !solver_.fits(left, ir::Elem::I64) ||
      !solver_.fits(right, ir::Elem::I64))
    return {};
  return ir::binary(op, solver_.to_expr(left), solver_.to_expr(right));
}

Expr Simplifier::fold_cast(ir::Elem to, const Expr& value) {
  const ir::Elem from = value.type().elem;
  if (from == to) return value;
  if (const auto v = ir::const_int(value)) {
    if (!ir::is_float(to)) return ir::int_imm(to, ir::wrap_int(to, *v));
    // Exactly: there and back.
    const double d = ir::int_to_float(from, to, *v);
    constexpr Interval kExact{-(int64_t{1} << 53), int64_t{1} << 53};
    if (kExact.contains(*v) && d == static_cast<double>(*v)) return ir::float_imm(to, d);
  }
  if (const ir::FloatImm* f = value.as<ir::FloatImm>();
      f && ir::is_float(to) && ir::round_to(to, f->value) == f->value)
    return ir::float_imm(to, f->value);
  // A value that went through a wider integer type and comes back.
  if (const ir::Cast* inner = value.as<ir::Cast>()) {
    const ir::Elem source = inner->value.type().elem;
    const bool ints = ir::is_int(source) && ir::is_int(from) && ir::is_int(to);
    if (ints && ir::bits(from) >= ir::bits(to))
      return fold_cast(to, inner->value);  // both take the low bits
    if (ints && range_of(from).contains(range_of(source)) && source != ir::Elem::U64 &&
        from != ir::Elem::U64)
      return fold_cast(to, inner->value);  // the inner cast keeps the value
  }
  return ir::cast(to, value);
}

Expr Simplifier::load(const ir::Load& node) {
  const Expr mask = simplify(node.mask);
  if (mask && ir::is_false(mask)) return ir::imm(node.type.elem, 0);
  const Expr kept = mask && ir::is_true(mask) ? Expr() : mask;
  std::vector<Expr> indices;
  for (const Expr& i : node.indices) indices.push_back(kept ? under(kept, i) : simplify(i));
  const Expr rank = simplify(node.rank);
  if (indices == node.indices && kept == node.mask && rank == node.rank) return Expr::of(node);
  return ir::make<ir::Load>(node.span, node.buffer, std::move(indices), kept, rank);
}

bool Simplifier::condition_holds(const Rule& rule, const Match& match) {
  if (rule.condition.root < 0) return true;
  const RuleDomain domain = rule.text->domain;
  if (rule.condition_on_constants) {
    const auto value = constant_value(domain, rule.condition, rule.condition.root, match);
    return value && *value != 0;
  }
  const Expr condition = instantiate(rule, rule.condition, rule.condition.root, match);
  return condition && solver_.prove(condition, kEffort);
}

Expr Simplifier::apply_rules(std::span<const Rule> rules, const Expr& e) {
  const auto is_exact = [&](const Expr& part) { return solver_.is_exact(part); };
  for (const Rule& rule : rules) {
    Match found;
    if (!match(rule, e, is_exact, &found) || !condition_holds(rule, found)) continue;
    if (steps_-- <= 0) return {};
    if (const Expr out = instantiate(rule, rule.replacement, rule.replacement.root, found))
      return out;
  }
  return {};
}

Expr Simplifier::instantiate(const Rule& rule, const Pattern& pattern, int at, const Match& match) {
  using Kind = PatternNode::Kind;
  const PatternNode& n = pattern.at(at);
  if (n.kind == Kind::Operand) return *match.operands[n.slot];
  const RuleDomain domain = rule.text->domain;
  if (n.kind == Kind::Literal)
    return n.is_bool ? ir::bool_imm(n.literal != 0)
                     : ir::imm(match.type.elem, static_cast<int64_t>(n.literal));
  if (is_constant(pattern, at)) {
    const auto value = constant_value(domain, pattern, at, match);
    if (!value) return {};
    const bool is_bool = n.kind == Kind::Binary && ir::info(n.binary).gives_bool;
    return ir::int_imm(is_bool ? ir::Elem::Bool : match.type.elem, *value);
  }
  Expr part[3];
  for (int i = 0; i < 3; ++i) {
    if (n.child[i] < 0) continue;
    part[i] = instantiate(rule, pattern, n.child[i], match);
    if (!part[i]) return {};
  }
  const auto wraps = [&](const Expr& raw) {
    return domain == RuleDomain::Index && !solver_.is_exact(raw);
  };
  switch (n.kind) {
    case Kind::Unary:
      if (n.unary == UnaryOp::Neg && wraps(ir::unary(n.unary, part[0]))) return {};
      return unary(n.unary, part[0]);
    case Kind::Binary:
      if (is_ring(n.binary) && wraps(ir::binary(n.binary, part[0], part[1]))) return {};
      return binary(n.binary, part[0], part[1]);
    case Kind::Select: return select(part[0], part[1], part[2]);
    default: return guard(part[0], part[1], part[2]);
  }
}

}  // namespace tilewright::arith
