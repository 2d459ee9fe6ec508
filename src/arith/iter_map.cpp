// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arith/affine.h"
#include "arith/region.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::arith {
namespace {

using ir::Binary;
using ir::BinaryOp;
using ir::Expr;

/// (loop / lower) % modulus; modulus is null where nothing is cut off at the top.
struct Digit {
  ir::Var loop;
  Expr lower = 1;
  Expr modulus;
};

struct Term {
  Digit digit;
  Expr expr;    // the digit as it is written
  Expr stride;  // positive
};

class Analysis {
 public:
  Analysis(const std::vector<ir::Var>& loops, const Context& context)
      : loops_(loops), context_(context) {}

  /// Takes a binding apart and gives the reason when its digits overlap.
  std::string add(const Expr& given) {
    const Expr binding = context_.simplify(given);
    const std::optional<Affine> form = affine_of(binding);
    if (!form) return str("`", ir::print(given), "` has coefficients that do not fit 64 bits");
    std::vector<Term> terms;
    for (const Affine::Term& t : form->terms) {
      if (!mentions_loop(t.expr)) continue;  // the same in every iteration
      std::optional<Term> term = digit_term(t);
      if (!term)
        return str("`", ir::print(t.expr), "` in the binding `", ir::print(given),
                   "` is not a loop, nor a quotient or remainder of one");
      terms.push_back(std::move(*term));
    }
    sort_by_stride(terms);
    Expr reach = 0;  // how far two values of the smaller digits are apart at most
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i > 0 && !context_.can_prove(reach < terms[i].stride))
        return str("in the binding `", ir::print(given), "` the stride ",
                   ir::print(terms[i].stride), " of loop `", terms[i].digit.loop.name(),
                   "` does not exceed what `", terms[i - 1].digit.loop.name(), "` reaches");
      const Context::Bounds b = context_.eliminate(terms[i].expr, loops_);
      if (!b.lo || !b.hi)
        return str("in the binding `", ir::print(given), "` the values of `",
                   ir::print(terms[i].expr), "` have no bounds");
      reach = context_.simplify(reach + (b.hi - b.lo) * terms[i].stride);
      digits_.push_back(terms[i].digit);
    }
    return {};
  }

  /// Do the digits tell the loop's value?
  bool determines(const ir::Var& loop) const {
    Expr known = 1;  // the value modulo this
    for (size_t round = 0; round <= digits_.size(); ++round) {
      if (context_.can_prove(ir::logical_and(0 <= Expr(loop), Expr(loop) < known))) return true;
      bool grown = false;
      for (const Digit& d : digits_) {
        if (d.loop != loop || !context_.can_prove_equal(d.lower, known)) continue;
        if (!d.modulus) return true;
        known = context_.simplify(known * d.modulus);
        grown = true;
        break;
      }
      if (!grown) return one_value(loop);
    }
    return one_value(loop);
  }

 private:
  bool mentions_loop(const Expr& e) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const ir::Var& v) { return ir::uses(e, v); });
  }

  bool one_value(const ir::Var& loop) const {
    const Context::Bounds b = context_.eliminate(loop, {loop});
    return b.lo && b.hi && context_.can_prove_equal(b.lo, b.hi);
  }

  std::optional<Digit> digit_of(const Expr& e) const {
    if (const ir::VarNode* v = e.as<ir::VarNode>()) return Digit{ir::Var::of(*v), 1, {}};
    const Binary* b = e.as<Binary>();
    if (b == nullptr || mentions_loop(b->b) || !context_.can_prove(1 <= b->b)) return std::nullopt;
    std::optional<Digit> inner = digit_of(b->a);
    if (!inner || inner->modulus) return std::nullopt;
    if (b->op == BinaryOp::Div)
      inner->lower = context_.simplify(inner->lower * b->b);
    else if (b->op == BinaryOp::Mod)
      inner->modulus = b->b;
    else
      return std::nullopt;
    return inner;
  }

  std::optional<Term> digit_term(const Affine::Term& t) const {
    std::vector<Expr> scale;
    Expr digit;
    for (const Expr& f : factors_of(t.expr)) {
      if (!mentions_loop(f)) {
        scale.push_back(f);
      } else if (digit) {
        return std::nullopt;
      } else {
        digit = f;
      }
    }
    std::optional<Digit> parts = digit_of(digit);
    if (!parts) return std::nullopt;
    Expr stride = context_.simplify(product_of(scale) * t.coefficient);
    if (context_.can_prove(stride < 0)) stride = context_.simplify(-stride);  // runs backwards
    if (!context_.can_prove(1 <= stride)) return std::nullopt;
    return Term{*parts, digit, stride};
  }

  /// Ascending, as far as the strides can be compared.
  void sort_by_stride(std::vector<Term>& terms) const {
    for (size_t i = 1; i < terms.size(); ++i)
      for (size_t k = i; k > 0 && context_.can_prove(terms[k].stride <= terms[k - 1].stride); --k)
        std::swap(terms[k], terms[k - 1]);
  }

  const std::vector<ir::Var>& loops_;
  const Context& context_;
  std::vector<Digit> digits_;
};

}  // namespace

IterMap iter_map(const std::vector<Expr>& bindings, const std::vector<ir::Var>& loops,
                 const Context& context) {
  Analysis analysis(loops, context);
  for (const Expr& b : bindings) {
    std::string reason = analysis.add(b);
    if (!reason.empty()) return {false, std::move(reason)};
  }
  for (const ir::Var& loop : loops)
    if (!analysis.determines(loop))
      return {false,
              str("the bindings do not tell the iterations of loop `", loop.name(), "` apart")};
  return {true, {}};
}

}  // namespace tilewright::arith
