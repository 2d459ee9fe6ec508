// SPDX-License-Identifier: Apache-2.0
#include "lower/carried.h"

#include <algorithm>

#include "arith/affine.h"
#include "ir/build.h"
#include "ir/equal.h"

namespace tilewright::lower {

using namespace ir;

namespace {

bool same_scope(const Around& a, const Around& b) {
  if (a.var || b.var) return a.var == b.var;
  return equal(a.value, b.value);
}

bool is_loop(const Around& a) { return a.var && !a.value; }
bool is_condition(const Around& a) { return !a.var; }

void conjuncts(const Expr& e, std::vector<Expr>& out) {
  if (const Binary* b = e.as<Binary>(); b && b->op == BinaryOp::And) {
    conjuncts(b->a, out);
    conjuncts(b->b, out);
  } else {
    out.push_back(e);
  }
}

/// One write and one later read of a loop's body.
class Pair {
 public:
  Pair(const For& loop, const Access& write, const Access& read, const arith::Context& outside)
      : loop_(loop), write_(write), read_(read), here_(outside) {
    here_.bind(loop.var, loop.min, loop.extent);
    const auto split = std::ranges::mismatch(write.around, read.around, same_scope);
    common_.assign(write.around.begin(), split.in1);
    write_own_.assign(split.in1, write.around.end());
    read_own_.assign(split.in2, read.around.end());
    enter(common_, here_);
  }

  /// Is every element that is read written before, in the same iteration?
  bool covered() const { return initialised_first() || covered_by_box(); }

 private:
  /// `if k == 0 { t[i] = … }` just before a use of t[i] inside `for k`: the first of the iterations
  /// that reach t[i] writes it.
  bool initialised_first() const {
    if (!read_own_.empty() || !std::ranges::all_of(write_own_, is_condition)) return false;
    VarMap first;
    for (const Around& a : common_)
      if (is_loop(a) && !in_box(write_, a.var)) first[a.var] = substitute(a.min, first);
    for (const Around& a : common_)
      if (is_condition(a) && !here_.can_prove_equal(a.value, substitute(a.value, first)) &&
          !here_.can_prove(substitute(a.value, first)))
        return false;  // the first iteration might not get here
    for (const Around& a : write_own_)
      if (has_load(a.value) || !here_.can_prove(substitute(a.value, first))) return false;
    for (size_t d = 0; d < write_.box.size(); ++d)
      if (!equal(write_.box[d].min, read_.box[d].min) || !is_const(read_.box[d].extent, 1))
        return false;
    return true;
  }

  static bool in_box(const Access& a, const Var& v) {
    return std::ranges::any_of(a.box, [&](const Range& r) { return uses(r.min, v); });
  }

  bool covered_by_box() const {
    arith::Context at_write(here_), at_read(here_);
    std::vector<Var> write_vars, read_vars;
    for (const Around& a : write_own_) {
      if (a.var) write_vars.push_back(a.var);
      if (is_loop(a))
        at_write.bind(a.var, a.min, a.extent);
      else if (a.var || !only_excludes_outside(a.value, at_write))
        return false;
    }
    for (const Around& a : read_own_)
      if (a.var) read_vars.push_back(a.var);
    enter(read_own_, at_read);
    if (!runs_when_needed()) return false;

    std::vector<Var> used;  // one loop spans one dimension
    for (size_t d = 0; d < write_.box.size(); ++d) {
      const Range written = exact_range(write_.box[d], write_vars, used);
      if (!written.min) return false;
      const Expr first = at_read.eliminate(read_.box[d].min, read_vars).lo;
      const Expr last = at_read.eliminate(read_.box[d].min + read_.box[d].extent - 1, read_vars).hi;
      if (!first || !last) return false;
      if (!here_.can_prove(written.min <= first) ||
          !here_.can_prove(last < written.min + written.extent))
        return false;
    }
    return true;
  }

  /// `if i < n` around a write of t[i], t having n elements, leaves out nothing that can be read.
  bool only_excludes_outside(const Expr& condition, const arith::Context& at_write) const {
    std::vector<Expr> parts;
    conjuncts(condition, parts);
    return std::ranges::all_of(parts, [&](const Expr& part) {
      arith::Context excluded(at_write);
      excluded.assume(logical_not(part));
      for (size_t d = 0; d < write_.box.size(); ++d) {
        const Expr& index = write_.box[d].min;
        if (excluded.can_prove(index >= write_.buffer->shape[d]) || excluded.can_prove(index < 0))
          return true;
      }
      return false;
    });
  }

  /// A loop around the write that does not move its place must run whenever the read happens.
  bool runs_when_needed() const {
    for (const Around& a : write_own_) {
      if (!is_loop(a) || in_box(write_, a.var) || here_.can_prove(a.extent >= 1)) continue;
      // An extent of 0 in every iteration would leave nothing to read at all.
      const auto vars = vars_of(a.extent);
      if (has_load(a.extent) || vars.contains(loop_.var)) return false;
      for (const Around& c : common_)
        if (c.var && vars.contains(c.var)) return false;
      for (const Around& c : write_own_)
        if (c.var && vars.contains(c.var)) return false;
    }
    return true;
  }

  /// The places written when the loops of the write run in full, if they leave no gap: their
  /// strides are like the digits of a number.  t[io*4 + ii], io in 0..n, ii in 0..4  ->  0 +: 4*n
  Range exact_range(const Range& at, const std::vector<Var>& vars, std::vector<Var>& used) const {
    if (!at.min || !is_const(at.extent, 1)) return {};
    const auto form = arith::affine_of(at.min);
    if (!form) return {};
    arith::Affine base = *form;
    std::vector<std::pair<int64_t, const Around*>> digits;
    for (const Around& a : write_own_) {
      if (!is_loop(a)) continue;
      const int64_t stride = base.coefficient(a.var);
      if (stride == 0) continue;
      if (stride < 0 || std::ranges::find(used, a.var) != used.end()) return {};
      used.push_back(a.var);
      digits.emplace_back(stride, &a);
      std::erase_if(base.terms, [&](const auto& t) { return t.expr == a.var; });
    }
    std::ranges::sort(digits, {}, [](const auto& d) { return d.first; });
    Expr min = to_expr(base), extent = 1;
    for (const auto& [stride, loop] : digits) {
      if (!here_.can_prove_equal(extent, stride)) return {};
      min = min + loop->min * stride;
      extent = extent * loop->extent;
    }
    for (const Var& v : vars)
      if (uses(min, v) || uses(extent, v)) return {};
    return {min, extent};
  }

  const For& loop_;
  const Access& write_;
  const Access& read_;
  arith::Context here_;  // inside the loop and the scopes around both
  std::vector<Around> common_, write_own_, read_own_;
};

}  // namespace

bool carries_nothing(const For& loop, const Buffer& buffer, const arith::Context& outside) {
  std::vector<Access> all = accesses_of(loop.body);
  const AcrossIterations across(loop, all, outside);
  std::erase_if(all, [&](const Access& a) { return a.buffer != buffer; });
  for (size_t r = 0; r < all.size(); ++r) {
    if (!all[r].reads) continue;
    // Either no earlier iteration writes what is read here …
    const bool untouched = std::ranges::all_of(
        all, [&](const Access& w) { return !w.writes || across.disjoint_later(w, all[r]); });
    if (untouched) continue;
    // … or this one writes it first.
    const bool covered = std::any_of(all.begin(), all.begin() + r, [&](const Access& w) {
      return w.writes && Pair(loop, w, all[r], outside).covered();
    });
    if (!covered) return false;
  }
  return true;
}

}  // namespace tilewright::lower
