// SPDX-License-Identifier: Apache-2.0
#include "lower/last_iteration.h"

#include <algorithm>

#include "arith/affine.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "lower/facts.h"

namespace tilewright::lower {

using namespace ir;

namespace {

class Finder {
 public:
  Finder(const For& loop, int64_t extent, const arith::Context& outside)
      : loop_(loop), extent_(extent), facts_(outside) {
    facts_.inside(loop, [&] { stmt(loop.body, extent); });
  }

  int64_t needed() const { return needed_; }

 private:
  /// `s` does nothing in iterations from `until` on.
  void stmt(const Stmt& s, int64_t until) {
    if (needed_ == extent_) return;
    if (const For* f = s.as<For>()) {
      inner_.push_back(f->var);
      facts_.inside(*f, [&] { stmt(f->body, until); });
      inner_.pop_back();
    } else if (const Let* let = s.as<Let>()) {
      inner_.push_back(let->var);
      facts_.inside(*let, [&] { stmt(let->body, until); });
      inner_.pop_back();
    } else if (const If* branch = s.as<If>()) {
      stmt(branch->yes, std::min(until, end_of(branch->cond)));
      if (branch->no) stmt(branch->no, until);
    } else if (s.as<Seq>() || s.as<Alloc>()) {
      for_each_child(s, [](const Expr&) {}, [&](const Stmt& c) { stmt(c, until); });
    } else {
      needed_ = std::max(needed_, until);
    }
  }

  /// From which iteration on the condition is false, whatever is bound inside.
  int64_t end_of(const Expr& condition) const {
    const Binary* b = condition.as<Binary>();
    if (b && b->op == BinaryOp::And) return std::min(end_of(b->a), end_of(b->b));
    if (!b || b->a.type() != kIndex) return extent_;
    if (b->op == BinaryOp::Lt) return end_of_nonnegative(b->b - b->a - 1);
    if (b->op == BinaryOp::Le) return end_of_nonnegative(b->b - b->a);
    return extent_;
  }

  int64_t end_of_nonnegative(const Expr& e) const {
    const arith::Context& here = facts_.here();
    const Expr most = has_load(e) ? Expr() : here.eliminate(e, inner_).hi;
    const auto form = most ? arith::affine_of(here.simplify(most)) : std::nullopt;
    const auto first = const_int(loop_.min);
    if (!form || !first || form->terms.size() != 1 || form->terms[0].expr != loop_.var)
      return extent_;
    const int64_t slope = form->terms[0].coefficient;
    if (slope >= 0 || slope == INT64_MIN) return extent_;
    if (form->constant < 0) return *first >= 0 ? 0 : extent_;
    return std::clamp<int64_t>(form->constant / -slope + 1 - *first, 0, extent_);
  }

  const For& loop_;
  const int64_t extent_;
  Facts facts_;
  std::vector<Var> inner_;  // bound between the loop and here
  int64_t needed_ = 0;
};

}  // namespace

int64_t needed_iterations(const For& loop, int64_t extent, const arith::Context& outside) {
  return Finder(loop, extent, outside).needed();
}

}  // namespace tilewright::lower
