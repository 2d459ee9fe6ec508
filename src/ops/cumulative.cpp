// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd along an axis, which may be known only when the program runs.
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

struct CumulativeAttrs {
  bool exclusive = false, reverse = false;
  static constexpr auto fields = std::tuple{field("exclusive", &CumulativeAttrs::exclusive),
                                            field("reverse", &CumulativeAttrs::reverse)};
};

std::vector<Type> infer(const Call& call) {
  need_number(call, 0);
  need_min_rank(call, 0, 1);
  need_int(call, 1);
  const int rank = call.rank(0);
  const Dim axis = call.element(1, 0);
  call.check(in_range(axis, Dim(-rank), Dim(rank)),
             str("the axis is between ", -rank, " and ", rank - 1));
  return {tensor_of(call.elem(0), call.shape(0))};
}

using Combine = Expr (*)(const Expr&, const Expr&);

/// Along one axis: a scan whose time is that axis, walked backwards when reversed.
te::Tensor along(const Call& call, size_t axis, Combine combine, int64_t identity) {
  const CumulativeAttrs& attrs = call.attrs<CumulativeAttrs>();
  const te::Tensor& x = call.in(0);
  const ir::Elem acc = wide(x.elem());
  const Dim extent = call.shape(0)[axis];
  te::Shape rest = shape_of(x);
  rest.erase(rest.begin() + static_cast<long>(axis));
  const auto with = [&](At at, const Expr& i) {
    at.insert(at.begin() + static_cast<long>(axis), i);
    return at;
  };
  const te::Tensor start = te::compute(
      "start", rest, [&](const std::vector<te::Var>&) { return te::cast(acc, identity); });
  const te::Tensor sums =
      te::scan("sums", extent, start, [&](const te::Var& t, const te::Tensor& before) {
        return te::compute("next", rest, [&](const std::vector<te::Var>& point) {
          const At at = indices_of(point);
          const Expr i = attrs.reverse ? extent - 1 - t : Expr(t);
          return combine(before.at(at), as(acc, x.at(with(at, i))));
        });
      });
  return te::compute("cumulative", shape_of(x), [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    const Expr i = at[axis];
    at.erase(at.begin() + static_cast<long>(axis));
    Expr t = attrs.reverse ? extent - 1 - i : i;
    if (attrs.exclusive) t = t - 1;
    at.insert(at.begin(), t);
    const Expr sum = as(x.elem(), sums.at(at));
    return attrs.exclusive ? te::guard(t >= 0, sum, te::cast(x.elem(), identity)) : sum;
  });
}

template <Combine C, int64_t Identity>
std::vector<te::Tensor> define(const Call& call) {
  const int rank = call.rank(0);
  const Dim axis = simplified(wrapped(call.element(1, 0), Dim(rank)));
  if (const std::optional<int64_t> known = ir::const_int(axis))
    return {along(call, static_cast<size_t>(*known), C, Identity)};
  std::vector<te::Tensor> each;
  for (int d = 0; d < rank; ++d) each.push_back(along(call, static_cast<size_t>(d), C, Identity));
  return {te::compute("chosen", call.out_shape(), [&](const std::vector<te::Var>& point) {
    const At at = indices_of(point);
    Expr out = each.back().at(at);
    for (size_t d = each.size() - 1; d-- > 0;)
      out = te::select(Expr(axis) == static_cast<int64_t>(d), each[d].at(at), out);
    return out;
  })};
}

Expr add(const Expr& a, const Expr& b) { return a + b; }
Expr multiply(const Expr& a, const Expr& b) { return a * b; }

struct Row {
  std::string_view name, onnx;
  std::vector<te::Tensor> (*define)(const Call&);
};
constexpr std::array<Row, 2> kRows = {{
    {"cum_prod", "CumProd", define<multiply, 1>},
    {"cum_sum", "CumSum", define<add, 0>},
}};

void from_onnx(const OnnxNode& n, Builder& g) {
  const CumulativeAttrs attrs{.exclusive = n.attr_int("exclusive", 0) != 0,
                              .reverse = n.attr_int("reverse", 0) != 0};
  g.output(n, g.call(op(n.op == "CumSum" ? "cum_sum" : "cum_prod"), attrs, {n.need(0), n.need(1)}));
}

std::vector<OpDef> make_ops() {
  std::vector<OpDef> out;
  for (const Row& row : kRows)
    out.push_back(
        define_op<CumulativeAttrs>({.name = row.name,
                                    .fusion = FusionKind::Opaque,
                                    .infer = infer,
                                    .algorithms = {{.name = "scan", .define = row.define}},
                                    .onnx = {{.op = row.onnx, .from = 11, .rule = from_onnx}}}));
  return out;
}

}  // namespace

std::span<const OpDef> cumulative_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
