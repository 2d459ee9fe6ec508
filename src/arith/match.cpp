// SPDX-License-Identifier: Apache-2.0
#include "arith/match.h"

#include <cmath>

#include "arith/interval.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/scalar.h"

namespace tilewright::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;
using Kind = PatternNode::Kind;

bool is_ring(const PatternNode& n) {
  return n.kind == Kind::Unary
             ? n.unary == ir::UnaryOp::Neg
             : n.kind == Kind::Binary && (n.binary == BinaryOp::Add || n.binary == BinaryOp::Sub ||
                                          n.binary == BinaryOp::Mul);
}

class Matcher {
 public:
  Matcher(const Rule& rule, FunctionRef<bool(const Expr&)> is_exact)
      : pattern_(rule.pattern), domain_(rule.text->domain), is_exact_(is_exact) {}

  /// What is left to match, as a list.
  struct Goal {
    int node;
    const Expr* expr;
    const Goal* next;
  };

  bool match(const Goal* goal, Match& m) {
    if (goal == nullptr) return true;
    const PatternNode& n = pattern_.at(goal->node);
    const Expr& e = *goal->expr;
    switch (n.kind) {
      case Kind::Operand: return operand(n, e, m) && match(goal->next, m);
      case Kind::Constant: return constant(n, e, m) && match(goal->next, m);
      case Kind::Literal: return literal(n, e) && match(goal->next, m);
      case Kind::Unary: {
        const ir::Unary* u = e.as<ir::Unary>();
        if (u == nullptr || u->op != n.unary || !exact(n, e)) return false;
        const Goal inner{n.child[0], &u->a, goal->next};
        return match(&inner, m);
      }
      case Kind::Binary: {
        const ir::Binary* b = e.as<ir::Binary>();
        if (b == nullptr || b->op != n.binary || !exact(n, e)) return false;
        const Match before = m;
        const auto in_order = [&](const Expr& first, const Expr& second) {
          const Goal right{n.child[1], &second, goal->next};
          const Goal left{n.child[0], &first, &right};
          return match(&left, m);
        };
        if (in_order(b->a, b->b)) return true;
        m = before;
        // Of two zeros, a minimum of floats takes the first.
        const bool swaps =
            ir::info(n.binary).commutative &&
            !(b->a.type().is_float() && (n.binary == BinaryOp::Min || n.binary == BinaryOp::Max));
        return swaps && in_order(b->b, b->a);
      }
      case Kind::Select: {
        const ir::Select* s = e.as<ir::Select>();
        return s != nullptr && choice(n, s->cond, s->yes, s->no, goal->next, m);
      }
      case Kind::Guard: {
        const ir::Guard* g = e.as<ir::Guard>();
        return g != nullptr && choice(n, g->cond, g->yes, g->no, goal->next, m);
      }
    }
    return false;
  }

 private:
  bool choice(const PatternNode& n, const Expr& cond, const Expr& yes, const Expr& no,
              const Goal* next, Match& m) {
    const Goal third{n.child[2], &no, next};
    const Goal second{n.child[1], &yes, &third};
    const Goal first{n.child[0], &cond, &second};
    return match(&first, m);
  }

  bool exact(const PatternNode& n, const Expr& e) {
    return domain_ != RuleDomain::Index || !is_ring(n) || is_exact_(e);
  }

  bool operand(const PatternNode& n, const Expr& e, Match& m) {
    const Expr*& slot = m.operands[n.slot];
    if (slot != nullptr) return *slot == e || ir::equal(*slot, e);
    if (n.is_bool ? !e.type().is_bool() : !admits(e.type())) return false;
    slot = &e;
    if (!n.is_bool) m.type = e.type();
    return true;
  }

  bool constant(const PatternNode& n, const Expr& e, Match& m) {
    if (e.as<ir::IntImm>() == nullptr || !admits(e.type())) return false;
    const Expr*& slot = m.constants[n.slot];
    if (slot != nullptr) return ir::const_int(*slot) == ir::const_int(e);
    slot = &e;
    m.type = e.type();
    return true;
  }

  bool literal(const PatternNode& n, const Expr& e) const {
    if (const ir::FloatImm* f = e.as<ir::FloatImm>())
      return !n.is_bool && f->value == n.literal &&
             std::signbit(f->value) == std::signbit(n.literal);
    const auto value = ir::const_int(e);
    if (!value || n.is_bool != e.type().is_bool()) return false;
    return *value == ir::wrap_int(e.type().elem, static_cast<int64_t>(n.literal));
  }

  bool admits(ir::Type type) const {
    switch (domain_) {
      case RuleDomain::Index: return type == ir::kIndex;
      case RuleDomain::Int: return type.is_int();
      case RuleDomain::Bool: return type.is_bool();
      case RuleDomain::Float: return type.is_float();
      case RuleDomain::Any: return true;
    }
    return false;
  }

  const Pattern& pattern_;
  const RuleDomain domain_;
  FunctionRef<bool(const Expr&)> is_exact_;
};

/// On mathematical integers; nothing when the result does not fit.
std::optional<int64_t> exact_binary(BinaryOp op, int64_t a, int64_t b) {
  switch (op) {
    case BinaryOp::Add: return narrow(Wide{a} + b);
    case BinaryOp::Sub: return narrow(Wide{a} - b);
    case BinaryOp::Mul: return narrow(Wide{a} * b);
    case BinaryOp::Div: return narrow(floor_div_wide(a, b));
    default: return ir::int_binary(op, ir::Elem::I64, a, b);
  }
}

}  // namespace

bool match(const Rule& rule, const Expr& e, FunctionRef<bool(const Expr&)> is_exact, Match* out) {
  const Matcher::Goal goal{rule.pattern.root, &e, nullptr};
  return Matcher(rule, is_exact).match(&goal, *out);
}

bool is_constant(const Pattern& pattern, int node) {
  const PatternNode& n = pattern.at(node);
  if (n.kind == Kind::Operand) return false;
  for (const int child : n.child)
    if (child >= 0 && !is_constant(pattern, child)) return false;
  return true;
}

std::optional<int64_t> constant_value(RuleDomain domain, const Pattern& pattern, int node,
                                      const Match& match) {
  const PatternNode& n = pattern.at(node);
  const ir::Elem elem = match.type.elem;
  if (n.kind == Kind::Constant) return ir::const_int(*match.constants[n.slot]);
  if (n.kind == Kind::Literal) return static_cast<int64_t>(n.literal);
  const auto a = constant_value(domain, pattern, n.child[0], match);
  if (!a) return std::nullopt;
  const bool is_exact = domain == RuleDomain::Index;
  if (n.kind == Kind::Unary)
    return is_exact && n.unary == ir::UnaryOp::Neg ? narrow(-Wide{*a})
                                                   : ir::int_unary(n.unary, elem, *a);
  const auto b = constant_value(domain, pattern, n.child[1], match);
  if (!b) return std::nullopt;
  return is_exact ? exact_binary(n.binary, *a, *b) : ir::int_binary(n.binary, elem, *a, *b);
}

}  // namespace tilewright::arith
