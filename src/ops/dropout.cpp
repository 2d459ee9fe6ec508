// SPDX-License-Identifier: Apache-2.0
// Dropout: nothing but a copy unless the model asks for training, (x, ratio, training).
#include <cmath>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_float(call, 1);
  return {call.type(0), tensor_of(ir::Elem::Bool, call.shape(0))};
}

/// 0 … 1, from the number of the element and the seed: the same in every run and on every machine.
Expr random(const Expr& number, int64_t seed) {
  constexpr int64_t kGolden = -7046029254386353131;  // 2^64 over the golden ratio
  Expr x = te::reinterpret(ir::Elem::U64, (number + seed) * kGolden);
  const auto mix = [&](int shift, int64_t factor) {
    x = (x ^ (x >> shift)) * te::reinterpret(ir::Elem::U64, te::cast(ir::Elem::I64, factor));
  };
  mix(30, -4658895280553007687);
  mix(27, -7723592293110705685);
  return te::cast(ir::Elem::F32, (x ^ (x >> 31)) >> 40) * std::ldexp(1.0, -24);
}

std::vector<te::Tensor> define(const Call& call) {
  const auto only = [&](size_t i) { return call.in(i).at(At(call.shape(i).size(), 0)); };
  const Expr ratio = as(ir::Elem::F32, only(1)), training = only(2);
  const te::Tensor mask =
      te::compute("mask", call.out_shape(), [&](const std::vector<te::Var>& at) {
        Expr number = 0;
        for (size_t d = 0; d < at.size(); ++d) number = number * Expr(call.shape(0)[d]) + at[d];
        return !training || random(number, call.attrs<DropoutAttrs>().seed) >= ratio;
      });
  const te::Tensor out = te::compute(call.out_shape(), [&](const std::vector<te::Var>& at) {
    return in_wide(call.in(0).at(indices_of(at)), [&](const Expr& x) {
      const Expr scaled = te::select(training, x / as(x.elem(), 1 - ratio), x);
      return te::select(mask.at(indices_of(at)), scaled, te::cast(x.elem(), 0));
    });
  });
  return {out, mask};
}

bool is_zero(const ConstantNode* c) { return c && c->count() == 1 && number_at(*c, 0) == 0; }

/// The input, and a mask of ones of this type.
void copy(const OnnxNode& n, Builder& g, ir::Elem mask) {
  std::vector<ValueId> out = {g.call(op("identity"), NoAttrs{}, {n.need(0)})};
  if (n.wants(1))
    out.push_back(g.call(op("full"), NoAttrs{},
                         {g.call(op("shape"), ShapeAttrs{}, {n.need(0)}), g.scalar(mask, 1)}));
  g.outputs(n, out);
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const bool off = !n.has(2) || is_zero(g.constant_of(n.in(2)));
  if (off || (n.has(1) && is_zero(g.constant_of(n.in(1))))) return copy(n, g, ir::Elem::Bool);
  const ValueId ratio = n.has(1) ? n.in(1) : g.scalar(ir::Elem::F32, 0.5);
  g.outputs(n, g.calls(dropout_op(), DropoutAttrs{n.attr_int("seed", 0)},
                       {n.need(0), ratio, n.in(2)}, n.wants(1) ? 2 : 1));
}
void with_bool_mask(const OnnxNode& n, Builder& g) { copy(n, g, ir::Elem::Bool); }
void with_float_mask(const OnnxNode& n, Builder& g) { copy(n, g, g.tensor(n.need(0)).elem); }

}  // namespace

const OpDef& dropout_op() {
  static const OpDef def = define_op<DropoutAttrs>(
      {.name = "dropout",
       .fusion = FusionKind::Injective,
       .infer = infer,
       .algorithms = {{.name = "direct", .define = define}},
       .onnx = {{.op = "Dropout", .from = 12, .rule = from_onnx},
                {.op = "Dropout", .from = 10, .rule = with_bool_mask, .to = 11},
                {.op = "Dropout", .from = 7, .rule = with_float_mask, .to = 9}}});
  return def;
}

}  // namespace tilewright::ops
