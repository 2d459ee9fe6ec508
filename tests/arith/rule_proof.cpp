// SPDX-License-Identifier: Apache-2.0
#include "arith/rule_proof.h"

#include <cmath>
#include <optional>
#include <random>
#include <z3++.h>

#include "ir/scalar.h"
#include "ir/type.h"
#include "support/str.h"

namespace tilewright::arith {
namespace {

using ir::BinaryOp;
using ir::Elem;
using ir::UnaryOp;
using Kind = PatternNode::Kind;

constexpr const char* kNames[] = {"x", "y", "z", "w", "p", "q", "r"};

/// Which names a rule uses.
struct Uses {
  bool operand[kOperandSlots] = {};
  bool constant[kConstantSlots] = {};

  explicit Uses(const Rule& rule) {
    for (const Pattern* p : {&rule.pattern, &rule.replacement, &rule.condition})
      for (const PatternNode& n : p->nodes) {
        if (n.kind == Kind::Operand) operand[n.slot] = true;
        if (n.kind == Kind::Constant) constant[n.slot] = true;
      }
  }
};

// Mathematical integers, by Z3. Its own division is Euclidean, so floor division is defined here.

class IntegerProof {
 public:
  explicit IntegerProof(const Rule& rule) : rule_(rule), uses_(rule) {
    for (int i = 0; i < kOperandSlots; ++i)
      operands_.push_back(i < 4 ? ctx_.int_const(kNames[i]) : ctx_.bool_const(kNames[i]));
    for (int i = 0; i < kConstantSlots; ++i)
      constants_.push_back(ctx_.int_const(str("c", i + 1).c_str()));
  }

  Proof run() {
    // With symbolic constants first; products of unknowns may be too much, then with small ones.
    z3::solver symbolic(ctx_);
    z3::params limits(ctx_);
    limits.set("timeout", 300u);
    symbolic.set(limits);
    symbolic.add(statement());
    const z3::check_result answer = symbolic.check();
    if (answer == z3::unsat) return {true, "Z3", {}};
    if (answer == z3::sat) return {false, "Z3", str(symbolic.get_model())};
    return with_small_constants();
  }

 private:
  Proof with_small_constants() {
    std::vector<int> slots;
    for (int i = 0; i < kConstantSlots; ++i)
      if (uses_.constant[i]) slots.push_back(i);
    const int64_t lo = slots.size() > 2 ? -2 : -4, hi = slots.size() > 2 ? 4 : 6;
    std::vector<int64_t> values(slots.size(), lo);
    int cases = 0;
    while (true) {
      z3::expr_vector from(ctx_), to(ctx_);
      for (size_t i = 0; i < slots.size(); ++i) {
        from.push_back(constants_[static_cast<size_t>(slots[i])]);
        to.push_back(ctx_.int_val(values[i]));
      }
      z3::expr claim = statement().substitute(from, to).simplify();
      if (!claim.is_false()) {  // else the condition excludes these constants
        z3::solver s(ctx_);
        s.add(claim);
        const z3::check_result answer = s.check();
        if (answer == z3::sat) return {false, "Z3", str(claim, " by ", s.get_model())};
        if (answer == z3::unknown) return {false, "Z3", "no answer: " + s.reason_unknown()};
        ++cases;
      }
      size_t i = 0;
      while (i < values.size() && ++values[i] > hi) values[i++] = lo;
      if (i == values.size()) break;
    }
    return {true, str("Z3 for ", cases, " choices of constants"), {}};
  }

  /// condition && pattern != replacement
  z3::expr statement() {
    const z3::expr differ = translate(rule_.pattern, rule_.pattern.root) !=
                            translate(rule_.replacement, rule_.replacement.root);
    if (rule_.condition.root < 0) return differ;
    return translate(rule_.condition, rule_.condition.root) && differ;
  }

  z3::expr floor_div(const z3::expr& a, const z3::expr& b) {
    return z3::ite(b == 0, ctx_.int_val(0), z3::ite(b > 0, a / b, (-a) / (-b)));
  }

  z3::expr translate(const Pattern& p, int at) {
    const PatternNode& n = p.at(at);
    const auto child = [&](int i) { return translate(p, n.child[i]); };
    switch (n.kind) {
      case Kind::Operand: return operands_[n.slot];
      case Kind::Constant: return constants_[n.slot];
      case Kind::Literal:
        return n.is_bool ? ctx_.bool_val(n.literal != 0)
                         : ctx_.int_val(static_cast<int64_t>(n.literal));
      case Kind::Unary: {
        const z3::expr a = child(0);
        if (n.unary == UnaryOp::Neg) return -a;
        if (n.unary == UnaryOp::Not) return !a;
        if (n.unary == UnaryOp::Abs) return z3::ite(a < 0, -a, a);
        throw std::runtime_error("no such operator on mathematical integers");
      }
      case Kind::Binary: {
        const z3::expr a = child(0), b = child(1);
        switch (n.binary) {
          case BinaryOp::Add: return a + b;
          case BinaryOp::Sub: return a - b;
          case BinaryOp::Mul: return a * b;
          case BinaryOp::Div: return floor_div(a, b);
          case BinaryOp::Mod: return z3::ite(b == 0, ctx_.int_val(0), a - b * floor_div(a, b));
          case BinaryOp::Min: return z3::ite(b < a, b, a);
          case BinaryOp::Max: return z3::ite(a < b, b, a);
          case BinaryOp::And: return a && b;
          case BinaryOp::Or: return a || b;
          case BinaryOp::Eq: return a == b;
          case BinaryOp::Ne: return a != b;
          case BinaryOp::Lt: return a < b;
          case BinaryOp::Le: return a <= b;
          default: throw std::runtime_error("no such operator on mathematical integers");
        }
      }
      default: return z3::ite(child(0), child(1), child(2));
    }
  }

  const Rule& rule_;
  const Uses uses_;
  z3::context ctx_;
  std::vector<z3::expr> operands_, constants_;
};

// Everything else, by all values of small types.

/// One element: integers and bools as they are, floats beside them.
struct Scalar {
  int64_t i = 0;
  double f = 0;
};

class Enumeration {
 public:
  Enumeration(const Rule& rule, Elem elem) : rule_(rule), uses_(rule), elem_(elem) {}

  /// All values of every name; nothing when the rule holds.
  std::optional<std::string> over_all() {
    std::vector<Scalar*> free;
    std::vector<int64_t> counts;
    for (int i = 0; i < kOperandSlots; ++i)
      if (uses_.operand[i]) {
        free.push_back(&operands_[i]);
        counts.push_back(i >= 4 ? 2 : values());
      }
    for (int i = 0; i < kConstantSlots; ++i)
      if (uses_.constant[i]) {
        free.push_back(&constants_[i]);
        counts.push_back(values());
      }
    std::vector<int64_t> at(free.size(), 0);
    for (size_t i = 0; i < free.size(); ++i) set(free[i], 0, counts[i] == 2);
    while (true) {
      if (auto wrong = check()) return wrong;
      size_t i = 0;
      while (i < at.size() && ++at[i] == counts[i]) set(free[i], at[i] = 0, counts[i] == 2), ++i;
      if (i == at.size()) return std::nullopt;
      set(free[i], at[i], counts[i] == 2);
    }
  }

  /// Random bits, for the types that are too large.
  std::optional<std::string> over_random(int count) {
    std::mt19937_64 engine(7);
    const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0.5};
    for (int n = 0; n < count; ++n) {
      for (int i = 0; i < kOperandSlots; ++i) {
        const uint64_t bits = engine();
        operands_[i].i = i >= 4 ? static_cast<int64_t>(bits & 1)
                                : ir::wrap_int(elem_, static_cast<int64_t>(bits));
        operands_[i].f =
            bits % 4 == 0 ? special[bits / 4 % 8] : ir::float_from_bits(elem_, bits >> 8);
      }
      if (auto wrong = check()) return wrong;
    }
    return std::nullopt;
  }

 private:
  int64_t values() const { return elem_ == Elem::Bool ? 2 : int64_t{1} << ir::bits(elem_); }
  void set(Scalar* s, int64_t bits, bool is_bool) const {
    s->i = is_bool ? bits : ir::wrap_int(elem_, bits);
    if (ir::is_float(elem_) && !is_bool)
      s->f = ir::float_from_bits(elem_, static_cast<uint64_t>(bits));
  }

  std::optional<std::string> check() {
    if (rule_.condition.root >= 0 && !eval(rule_.condition, rule_.condition.root).i)
      return std::nullopt;
    const Scalar a = eval(rule_.pattern, rule_.pattern.root);
    const Scalar b = eval(rule_.replacement, rule_.replacement.root);
    const bool floats = ir::is_float(elem_) && !gives_bool(rule_.pattern, rule_.pattern.root);
    const bool equal = floats ? same_float(a.f, b.f) : a.i == b.i;
    if (equal) return std::nullopt;
    std::string text = str(ir::name(elem_), ":");
    for (int i = 0; i < kOperandSlots; ++i)
      if (uses_.operand[i]) {
        if (floats && i < 4)
          text += str(" ", kNames[i], " = ", operands_[i].f);
        else
          text += str(" ", kNames[i], " = ", operands_[i].i);
      }
    for (int i = 0; i < kConstantSlots; ++i)
      if (uses_.constant[i]) text += str(" c", i + 1, " = ", constants_[i].i);
    return text + (floats ? str(" gives ", a.f, " and ", b.f) : str(" gives ", a.i, " and ", b.i));
  }

  bool same_float(double a, double b) const {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return ir::float_to_bits(elem_, a) == ir::float_to_bits(elem_, b);
  }

  static bool gives_bool(const Pattern& p, int at) {
    const PatternNode& n = p.at(at);
    if (n.kind == Kind::Binary) return ir::info(n.binary).gives_bool;
    if (n.kind == Kind::Unary) return n.unary == UnaryOp::Not;
    if (n.kind == Kind::Select || n.kind == Kind::Guard) return gives_bool(p, n.child[1]);
    return n.is_bool;
  }

  Scalar eval(const Pattern& p, int at) const {
    const PatternNode& n = p.at(at);
    const auto child = [&](int i) { return eval(p, n.child[i]); };
    switch (n.kind) {
      case Kind::Operand: return operands_[n.slot];
      case Kind::Constant: return constants_[n.slot];
      case Kind::Literal:
        return {n.is_bool ? n.literal != 0 : ir::wrap_int(elem_, static_cast<int64_t>(n.literal)),
                n.literal};
      case Kind::Unary: {
        const Scalar a = child(0);
        if (n.unary == UnaryOp::Not) return {a.i == 0, 0};
        if (ir::is_float(elem_)) return {0, ir::float_unary(n.unary, elem_, a.f)};
        return {ir::int_unary(n.unary, elem_, a.i), 0};
      }
      case Kind::Binary: {
        const Scalar a = child(0), b = child(1);
        const bool on_bools =
            n.binary == BinaryOp::And || n.binary == BinaryOp::Or || gives_bool(p, n.child[0]);
        const Elem elem = on_bools ? Elem::Bool : elem_;
        if (!ir::is_float(elem)) return {ir::int_binary(n.binary, elem, a.i, b.i), 0};
        if (ir::is_compare(n.binary)) return {ir::float_compare(n.binary, a.f, b.f), 0};
        return {0, ir::float_binary(n.binary, elem, a.f, b.f)};
      }
      default: return child(0).i ? child(1) : child(2);
    }
  }

  const Rule& rule_;
  const Uses uses_;
  const Elem elem_;
  Scalar operands_[kOperandSlots], constants_[kConstantSlots];
};

Proof over_types(const Rule& rule, const std::vector<Elem>& all, const std::vector<Elem>& sampled) {
  std::string how = "all values of";
  for (const Elem elem : all) {
    if (auto wrong = Enumeration(rule, elem).over_all()) return {false, how, *wrong};
    how += str(" ", ir::name(elem));
  }
  for (const Elem elem : sampled)
    if (auto wrong = Enumeration(rule, elem).over_random(20000)) return {false, how, *wrong};
  return {true, how, {}};
}

}  // namespace

Proof prove_rule(const RuleText& text) {
  const Rule rule = parse_rule(text);
  const Uses uses(rule);
  int names = 0;
  for (const bool u : uses.operand) names += u;
  for (const bool u : uses.constant) names += u;
  const std::vector<Elem> tiny = {Elem::I2, Elem::U2};
  const std::vector<Elem> ints = {Elem::I2, Elem::U2, Elem::I4, Elem::U4};
  const std::vector<Elem> floats = {Elem::F8E4M3, Elem::F8E5M2, Elem::F8E4M3FNUZ, Elem::F8E5M2FNUZ};
  const std::vector<Elem> large = {Elem::F16, Elem::BF16, Elem::F32, Elem::F64};
  switch (text.domain) {
    case RuleDomain::Index: return IntegerProof(rule).run();
    case RuleDomain::Int: return over_types(rule, names <= 4 ? ints : tiny, {});
    case RuleDomain::Bool: return over_types(rule, {Elem::Bool}, {});
    case RuleDomain::Float: return over_types(rule, floats, large);
    case RuleDomain::Any: {
      const Proof small = over_types(rule, {Elem::Bool, Elem::I2, Elem::U2}, large);
      // Equality of floats is not identity: NaN differs from itself.
      return small.holds && names <= 2 ? over_types(rule, floats, {}) : small;
    }
  }
  return {};
}

}  // namespace tilewright::arith
