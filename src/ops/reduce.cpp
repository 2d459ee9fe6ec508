// SPDX-License-Identifier: Apache-2.0
// The Reduce* operators: one row each. Axes are attributes, or an input that may be known only when
// the program runs.
#include <algorithm>
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

/// Which dimensions are reduced, and where the others stand in the result. Axes that are read at
/// run time make the same formulas with symbols in place of constants.
///   X[k_d + i_d…]: a reduced dimension has k_d in its extent and no i_d, another one k_d = 0
struct Plan {
  std::vector<ir::Expr> reduced;  // bool for each dimension
  std::vector<Dim> position;      // in the result without kept dimensions
  Shape out;
};

std::vector<ir::Expr> reduced_dims(const Call& call) {
  const ReduceAttrs& attrs = call.attrs<ReduceAttrs>();
  const int rank = call.rank(0);
  std::vector<Dim> axes;
  if (call.has(1))
    axes = axes_of(call, 1, rank);
  else
    for (const int64_t axis : attrs.axes)
      if (rank > 0) axes.push_back(Dim(normal_axis(call, axis, rank)));
  const bool all = axes.empty() && !attrs.noop;
  std::vector<ir::Expr> out;
  for (int d = 0; d < rank; ++d) {
    ir::Expr flag = ir::bool_imm(all);
    for (const Dim& axis : axes) {
      const ir::Expr here = ir::eq(axis, Dim(d));
      if (ir::is_true(here) || ir::is_false(flag))
        flag = here;
      else if (!ir::is_true(flag) && !ir::is_false(here))
        flag = ir::logical_or(flag, here);
    }
    out.push_back(flag);
  }
  return out;
}

Plan plan(const Call& call) {
  Plan out{.reduced = reduced_dims(call), .position = {}, .out = {}};
  const Shape& shape = call.shape(0);
  if (call.attrs<ReduceAttrs>().keepdims) {
    for (size_t d = 0; d < shape.size(); ++d)
      out.out.push_back(call.extent(choose(out.reduced[d], Dim(1), shape[d])));
    return out;
  }
  Dim kept = Dim(0);
  for (const ir::Expr& flag : out.reduced) {
    out.position.push_back(simplified(kept));
    kept = kept + choose(flag, Dim(0), Dim(1));
  }
  int64_t axes = std::count_if(out.reduced.begin(), out.reduced.end(), ir::is_true);
  const bool known = std::all_of(out.reduced.begin(), out.reduced.end(),
                                 [](const ir::Expr& e) { return ir::const_int(e).has_value(); });
  if (!known) axes = static_cast<int64_t>(call.elements(1).size());
  for (int64_t q = 0; q + axes < static_cast<int64_t>(shape.size()); ++q) {
    Dim extent = Dim(0);
    for (size_t d = 0; d < shape.size(); ++d) {
      const ir::Expr here = ir::eq(out.position[d], Dim(q));
      extent = extent + choose(out.reduced[d], Dim(0), choose(here, shape[d], Dim(0)));
    }
    out.out.push_back(call.extent(extent));
  }
  return out;
}

/// A point of a result with kept dimensions: 0 in those that are reduced.
At kept_at(const Plan& p, const std::vector<te::Var>& point) {
  At at = indices_of(point);
  for (size_t d = 0; d < at.size(); ++d)
    if (ir::is_true(p.reduced[d])) at[d] = 0;
  return at;
}

/// Where a point of the result lies when the reduced dimensions are kept with extent 1.
At kept_at(const Call& call, const Plan& p, const std::vector<te::Var>& point) {
  if (call.attrs<ReduceAttrs>().keepdims) return kept_at(p, point);
  At at;
  for (size_t d = 0; d < p.reduced.size(); ++d) {
    Expr i = 0;
    if (const std::optional<int64_t> q = ir::const_int(p.position[d])) {
      if (*q < static_cast<int64_t>(point.size())) i = point[static_cast<size_t>(*q)];
    } else {
      for (size_t q = 0; q < point.size(); ++q)
        i = i + te::select(ir::eq(p.position[d], Dim(static_cast<int64_t>(q))), point[q], 0);
    }
    at.push_back(ir::is_true(p.reduced[d])    ? Expr(0)
                 : ir::is_false(p.reduced[d]) ? i
                                              : te::select(p.reduced[d], Expr(0), i));
  }
  return at;
}

/// The axes to reduce over: of extent 1 for a dimension that turns out not to be reduced.
struct Axes {
  explicit Axes(const Call& call, const std::vector<ir::Expr>& reduced) {
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (ir::is_false(reduced[d])) continue;
      axes.push_back(te::reduce_axis(choose(reduced[d], call.shape(0)[d], Dim(1)), str("k", d)));
      dims.push_back(d);
    }
  }
  At add_to(At kept) const {
    for (size_t k = 0; k < dims.size(); ++k) kept[dims[k]] = kept[dims[k]] + axes[k];
    return kept;
  }
  Expr reduce(ReduceFn reduction, const Expr& value) const {
    return axes.empty() ? value : reduction(value, te::Axes(axes));
  }
  std::vector<te::Axis> axes;
  std::vector<size_t> dims;
};

/// Reduces f of the elements.
te::Tensor over(const Call& call, ReduceFn reduction, FunctionRef<Expr(const Expr&)> f) {
  const Plan p = plan(call);
  const Axes axes(call, p.reduced);
  return te::compute("reduce", te_shape(p.out), [&](const std::vector<te::Var>& point) {
    return axes.reduce(reduction, f(call.in(0).at(axes.add_to(kept_at(call, p, point)))));
  });
}

Expr same_value(const Expr& x) { return x; }

/// Integers whose result is not an integer are computed in f64.
ir::Elem real(ir::Elem elem) { return ir::is_float(elem) ? wide(elem) : ir::Elem::F64; }

/// f of the sum of g of the elements, in the type `acc`.
std::vector<te::Tensor> sum_of(const Call& call, ir::Elem acc, Expr (*g)(const Expr&),
                               FunctionRef<Expr(const Expr&)> f) {
  const ir::Elem elem = call.elem(0);
  const te::Tensor sum = over(call, te::sum, [&](const Expr& x) { return g(as(acc, x)); });
  return {te::map(sum, [&](const Expr& s) { return as(elem, f(s)); })};
}

std::vector<te::Tensor> define_sum(const Call& call) {
  const ir::Elem acc = wide(call.elem(0));
  return {as(call.elem(0), over(call, te::sum, [&](const Expr& x) { return as(acc, x); }))};
}

std::vector<te::Tensor> define_mean(const Call& call) {
  const std::vector<ir::Expr> reduced = reduced_dims(call);
  Dim count = Dim(1);
  for (size_t d = 0; d < reduced.size(); ++d)
    count = count * choose(reduced[d], call.shape(0)[d], Dim(1));
  // Pictures have thousands of places, and what follows their mean scales every place by it.
  const ir::Elem acc = ir::is_float(call.elem(0)) ? ir::Elem::F64 : wide(call.elem(0));
  return sum_of(call, acc, same_value, [&](const Expr& s) {
    if (ir::is_float(acc)) return s / te::cast(acc, Expr(count));
    // Integers towards zero.
    const Expr n = te::cast(acc, Expr(count));
    const Expr magnitude = te::abs(s) / n;
    return ir::is_unsigned(acc) ? s / n : te::select(s < 0, -magnitude, magnitude);
  });
}

std::vector<te::Tensor> define_l1(const Call& call) {
  return sum_of(
      call, wide(call.elem(0)),
      [](const Expr& x) { return ir::is_unsigned(x.elem()) ? x : te::abs(x); }, same_value);
}
std::vector<te::Tensor> define_l2(const Call& call) {
  return sum_of(
      call, real(call.elem(0)), [](const Expr& x) { return x * x; },
      [](const Expr& s) { return te::sqrt(s); });
}
std::vector<te::Tensor> define_sum_square(const Call& call) {
  return sum_of(call, wide(call.elem(0)), [](const Expr& x) { return x * x; }, same_value);
}
std::vector<te::Tensor> define_log_sum(const Call& call) {
  return sum_of(call, real(call.elem(0)), same_value, [](const Expr& s) { return te::log(s); });
}

std::vector<te::Tensor> define_prod(const Call& call) {
  const ir::Elem acc = wide(call.elem(0));
  return {as(call.elem(0), over(call, te::prod, [&](const Expr& x) { return as(acc, x); }))};
}

std::vector<te::Tensor> define_max(const Call& call) {
  const ReduceFn numbers = te::max_over;
  return {over(call, call.elem(0) == ir::Elem::Bool ? te::any : numbers, same_value)};
}
std::vector<te::Tensor> define_min(const Call& call) {
  const ReduceFn numbers = te::min_over;
  return {over(call, call.elem(0) == ir::Elem::Bool ? te::all : numbers, same_value)};
}

/// max + log(sum of exp(x - max)), which stays finite; an infinite maximum is left at its place.
std::vector<te::Tensor> define_log_sum_exp(const Call& call) {
  const ir::Elem elem = call.elem(0), acc = real(elem);
  const te::Tensor& x = call.in(0);
  const Plan p = plan(call);
  const Axes axes(call, p.reduced);
  te::Shape kept;
  for (size_t d = 0; d < p.reduced.size(); ++d)
    kept.push_back(choose(p.reduced[d], Dim(1), call.shape(0)[d]));
  const te::Tensor most = te::compute("most", kept, [&](const std::vector<te::Var>& point) {
    return axes.reduce(te::max_over, as(acc, x.at(axes.add_to(kept_at(p, point)))));
  });
  const te::Tensor shift = te::map(
      most, [](const Expr& m) { return te::select(te::isinf(m), te::cast(m.elem(), 0), m); });
  const te::Tensor sum = te::compute("sum", kept, [&](const std::vector<te::Var>& point) {
    const At at = kept_at(p, point);
    return axes.reduce(te::sum, te::exp(as(acc, x.at(axes.add_to(at))) - shift.at(at)));
  });
  return {te::compute("reduce", te_shape(p.out), [&](const std::vector<te::Var>& point) {
    const At at = kept_at(call, p, point);
    return as(elem, te::log(sum.at(at)) + shift.at(at));
  })};
}

std::vector<te::Tensor> define_lp(const Call& call) {
  const double p = call.attrs<ReduceAttrs>().p;
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const te::Tensor sum = over(call, te::sum, [&](const Expr& x) { return power(as(acc, x), p); });
  return {te::map(sum, [&](const Expr& s) { return as(elem, root(s, p)); })};
}

std::vector<Type> infer(const Call& call) {
  need_number(call, 0);
  return {tensor_of(call.elem(0), plan(call).out)};
}

std::vector<Type> infer_ordered(const Call& call) {
  if (call.elem(0) != ir::Elem::Bool) need_number(call, 0);
  return {tensor_of(call.elem(0), plan(call).out)};
}

/// Of a list, such as a shape, whose elements are known as formulas.
template <Dim (*Combine)(const Dim&, const Dim&), int64_t Identity>
std::vector<Elements> elements(const Call& call) {
  if (call.elem(0) != ir::Elem::I64) return {};  // others may wrap
  const Elements list = list_of(call, 0);
  const std::vector<ir::Expr> reduced = reduced_dims(call);
  if (!list || (!reduced.empty() && !ir::const_int(reduced[0]))) return {};
  if (reduced.empty() || ir::is_false(reduced[0])) return {list};
  if (list->empty()) return {std::vector{Dim(Identity)}};
  Dim out = list->front();
  for (size_t i = 1; i < list->size(); ++i) out = Combine(out, (*list)[i]);
  return {std::vector{out}};
}
Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim multiply(const Dim& a, const Dim& b) { return a * b; }
Dim greater(const Dim& a, const Dim& b) { return ir::max(a, b); }
Dim lesser(const Dim& a, const Dim& b) { return ir::min(a, b); }

using ElementsRule = std::vector<Elements> (*)(const Call&);

struct Row {
  std::string_view name, onnx;
  std::vector<Type> (*infer)(const Call&);
  std::vector<te::Tensor> (*define)(const Call&);
  ElementsRule elements = nullptr;
};
constexpr std::array<Row, 11> kRows = {{
    {"reduce_l1", "ReduceL1", infer, define_l1},
    {"reduce_l2", "ReduceL2", infer, define_l2},
    {"reduce_log_sum", "ReduceLogSum", infer, define_log_sum},
    {"reduce_log_sum_exp", "ReduceLogSumExp", infer, define_log_sum_exp},
    {"reduce_lp", "", infer, define_lp},
    {"reduce_max", "ReduceMax", infer_ordered, define_max, elements<greater, INT64_MIN>},
    {"reduce_mean", "ReduceMean", infer, define_mean},
    {"reduce_min", "ReduceMin", infer_ordered, define_min, elements<lesser, INT64_MAX>},
    {"reduce_prod", "ReduceProd", infer, define_prod, elements<multiply, 1>},
    {"reduce_sum", "ReduceSum", infer, define_sum, elements<add, 0>},
    {"reduce_sum_square", "ReduceSumSquare", infer, define_sum_square},
}};

ReduceAttrs attrs_of(const OnnxNode& n) {
  return {.axes = n.attr_ints("axes"),
          .keepdims = n.attr_int("keepdims", 1) != 0,
          .noop = n.attr_int("noop_with_empty_axes", 0) != 0};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  for (const Row& row : kRows)
    if (row.onnx == n.op) {
      g.output(n, g.call(op(row.name), attrs_of(n), {n.need(0), n.in(1)}));
      return;
    }
}

std::vector<OpDef> make_ops() {
  std::vector<OpDef> out;
  for (const Row& row : kRows) {
    OpDef def{.name = row.name,
              .fusion = FusionKind::Reduction,
              .infer = row.infer,
              .elements = row.elements,
              .algorithms = {{.name = "direct", .define = row.define}}};
    if (!row.onnx.empty()) def.onnx = {{.op = row.onnx, .rule = from_onnx}};
    out.push_back(define_op<ReduceAttrs>(std::move(def)));
  }
  return out;
}

}  // namespace

std::span<const OpDef> reduce_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
