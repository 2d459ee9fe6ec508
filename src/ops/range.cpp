// SPDX-License-Identifier: Apache-2.0
// start, start + delta, …: an operator that counts the elements, and one that makes them. Their
// number may follow from values that only a run tells.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

Expr only(const Call& call, size_t i) {
  return call.in(i).at(std::vector<Expr>(call.shape(i).size(), 0));
}

void need_scalars(const Call& call, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    need(call, i, Kind::Number, "ops.range.type");
    need_same_elem(call, 0, i);
    call.check(ir::eq(graph::elements(call.shape(i)), Dim(1)), "the inputs of Range are scalars");
  }
}

// range_count: (start, limit, delta) -> max(ceil((limit - start) / delta), 0)

std::vector<Type> infer_count(const Call& call) {
  need_scalars(call, 3);
  return {tensor_of(ir::Elem::I64, {})};
}

std::vector<Elements> elements_count(const Call& call) {
  const Elements start = list_of(call, 0), limit = list_of(call, 1), delta = list_of(call, 2);
  if (!start || !limit || !delta) return {std::nullopt};
  if (ir::is_float(call.elem(0)))
    check_exact(call, call.elem(0), {(*start)[0], (*limit)[0], (*delta)[0]});
  const Dim span = (*limit)[0] - (*start)[0], step = (*delta)[0];
  return {std::vector<Dim>{ir::max(-(-span / step), Dim(0))}};
}

std::vector<te::Tensor> define_count(const Call& call) {
  return {te::compute(te::Shape{}, [&] {
    Expr start = only(call, 0), limit = only(call, 1), delta = only(call, 2);
    if (!ir::is_float(start.elem())) {
      const auto exact = [](const Expr& e) { return te::cast(ir::Elem::I64, e); };
      return te::max(-(-(exact(limit) - exact(start)) / exact(delta)), 0);
    }
    const ir::Elem elem = wide(start.elem());
    const Expr steps = te::ceil((as(elem, limit) - as(elem, start)) / as(elem, delta));
    return te::max(te::cast(ir::Elem::I64, steps), 0);
  })};
}

// range: (start, delta, count)

std::vector<Type> infer_range(const Call& call) {
  need_scalars(call, 2);
  return {tensor_of(call.elem(0), {call.extent(call.element(2, 0))})};
}

std::vector<Elements> elements_range(const Call& call) {
  const Elements start = list_of(call, 0), delta = list_of(call, 1), count = list_of(call, 2);
  if (!start || !delta || !count) return {std::nullopt};
  const std::optional<int64_t> n = ir::const_int((*count)[0]);
  if (!n || *n > kMaxElements) return {std::nullopt};
  std::vector<Dim> out;
  for (int64_t i = 0; i < *n; ++i) out.push_back((*start)[0] + Dim(i) * (*delta)[0]);
  return {out};
}

std::vector<te::Tensor> define_range(const Call& call) {
  return {te::compute(call.out_shape(), [&](const te::Var& i) {
    return in_wide(only(call, 0), [&](const Expr& start) {
      return start + te::cast(start.elem(), i) * as(start.elem(), only(call, 1));
    });
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const ValueId start = n.need(0), limit = n.need(1), delta = n.need(2);
  const ValueId count = g.call(op("range_count"), NoAttrs{}, {start, limit, delta});
  g.output(n, g.call(op("range"), NoAttrs{}, {start, delta, count}));
}

}  // namespace

std::span<const OpDef> range_ops() {
  static const OpDef defs[] = {
      define_op({.name = "range",
                 .fusion = FusionKind::Injective,
                 .infer = infer_range,
                 .elements = elements_range,
                 .algorithms = {{.name = "direct", .define = define_range}},
                 .onnx = {{.op = "Range", .rule = from_onnx}}}),
      define_op({.name = "range_count",
                 .fusion = FusionKind::Injective,
                 .infer = infer_count,
                 .elements = elements_count,
                 .algorithms = {{.name = "direct", .define = define_count}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
