// SPDX-License-Identifier: Apache-2.0
#include "te/bounds.h"

#include <unordered_map>
#include <unordered_set>

#include "arith/affine.h"
#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::te {
namespace {

using ir::Expr;

/// The least and the greatest value of an index, both of which occur.
struct Ends {
  Expr least, greatest;
};

class StageReads {
 public:
  StageReads(const Stage& stage, const Compute& c, const std::vector<ir::Symbol>& symbols)
      : stage_(stage), symbols_(symbols) {
    for (const auto* axes : {&c.axes, &c.reduce_axes})
      for (const Iter& axis : *axes) {
        if (ir::is_const(axis.extent, 0)) return;  // nothing is computed
        extents_.emplace(axis.var, axis.extent);
      }
    for (const Expr& value : c.values) visit(value);
  }

 private:
  void visit(const Expr& e) {
    if (const ir::Guard* guard = e.as<ir::Guard>()) return visit(guard->cond);
    if (const ir::Load* load = e.as<ir::Load>())
      for (size_t d = 0; d < load->indices.size(); ++d) check(*load, d);
    ir::for_each_child(e, [&](const Expr& child) { visit(child); });
  }

  void check(const ir::Load& load, size_t d) const {
    const Expr &index = load.indices[d], &size = load.buffer->shape[d];
    if (const ir::VarNode* v = index.as<ir::VarNode>())
      if (const auto found = extents_.find(ir::Var::of(*v));
          found != extents_.end() && ir::equal(found->second, size))
        return;
    const std::optional<Ends> ends = ends_of(index);
    if (!ends) return check_corners(load, d);
    if (holds(ends->greatest >= size)) refuse(load, d, ends->greatest);
    if (holds(ends->least < Expr(0))) refuse(load, d, ends->least);
  }

  /// An index that is no such sum, at the ends of its axes: those places are read.
  void check_corners(const ir::Load& load, size_t d) const {
    constexpr size_t kMostAxes = 4;
    const Expr& index = load.indices[d];
    const std::unordered_set<ir::Var> used = ir::vars_of(index);
    const std::vector<ir::Var> axes(used.begin(), used.end());
    const std::optional<int64_t> size = ir::const_int(load.buffer->shape[d]);
    if (!size || axes.size() > kMostAxes || has_load(index)) return;
    for (unsigned corner = 0; corner < 1U << axes.size(); ++corner) {
      ir::VarMap at;
      for (size_t i = 0; i < axes.size(); ++i) {
        const auto axis = extents_.find(axes[i]);
        const auto extent = axis == extents_.end() ? std::nullopt : ir::const_int(axis->second);
        if (!extent) return;
        at[axes[i]] = Expr(corner >> i & 1 ? *extent - 1 : 0);
      }
      const Expr place = arith::Context().simplify(ir::substitute(index, at));
      if (const auto known = ir::const_int(place); known && (*known < 0 || *known >= *size))
        refuse(load, d, place);
    }
  }

  std::optional<Ends> ends_of(const Expr& index) const {
    const std::optional<arith::Affine> form = arith::affine_of(index);
    if (!form) return std::nullopt;
    Ends out{Expr(form->constant), Expr(form->constant)};
    for (const arith::Affine::Term& term : form->terms) {
      const ir::VarNode* v = term.expr.as<ir::VarNode>();
      const auto axis = v ? extents_.find(ir::Var::of(*v)) : extents_.end();
      if (axis != extents_.end()) {
        const Expr far = (axis->second - 1) * Expr(term.coefficient);
        Expr& end = term.coefficient > 0 ? out.greatest : out.least;
        end = end + far;
        continue;
      }
      for (const ir::Var& used : ir::vars_of(term.expr))
        if (extents_.contains(used) || !is_symbol(used)) return std::nullopt;
      if (has_load(term.expr)) return std::nullopt;
      for (Expr* end : {&out.least, &out.greatest})
        *end = *end + term.expr * Expr(term.coefficient);
    }
    return out;
  }

  bool is_symbol(const ir::Var& v) const {
    for (const ir::Symbol& s : symbols_)
      if (s.var == v) return true;
    return false;
  }

  static bool has_load(const Expr& e) {
    bool found = false;
    ir::walk(e, [&](const ir::Load&) { found = true; });
    return found;
  }

  /// Is it true for all sizes? A stage that may be empty may read nothing.
  bool holds(const Expr& condition) const {
    const std::optional<int64_t> known = ir::const_int(condition);
    if (known) return *known != 0;
    arith::Context context;
    for (const ir::Symbol& s : symbols_)
      context.bind(s.var, arith::Interval{s.min, s.max}, s.divisor);
    return context.can_prove(condition);
  }

  [[noreturn]] void refuse(const ir::Load& load, size_t d, const Expr& place) const {
    throw Error(
        {.code = "te.read.outside",
         .at = stage_->span,
         .message = str("`", stage_->name(), "` reads `", load.buffer->name,
                        "` out of bounds along dimension ", d),
         .notes = {str("the index ", ir::print(load.indices[d]), " reaches ",
                       ir::print(arith::Context().simplify(place)), ", and the dimension has ",
                       ir::print(load.buffer->shape[d]), " elements")},
         .help = "make the stage smaller, or read under a guard that says where"});
  }

  const Stage& stage_;
  const std::vector<ir::Symbol>& symbols_;
  std::unordered_map<ir::Var, Expr> extents_;
};

void check(const std::vector<Stage>& stages, const std::vector<ir::Symbol>& symbols) {
  for (const Stage& stage : stages) {
    if (const Compute* c = stage->as<Compute>()) StageReads(stage, *c, symbols);
    if (const Scan* s = stage->as<Scan>()) check(s->body, symbols);
  }
}

}  // namespace

void require_reads_inside(const Program& program) { check(program.stages, program.symbols); }

}  // namespace tilewright::te
