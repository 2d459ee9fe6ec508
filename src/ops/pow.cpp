// SPDX-License-Identifier: Apache-2.0
// Powers, whose exponent may have another type than the base and the result.
#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/kind.h"
#include "ops/old_broadcast.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

std::vector<Type> infer(const Call& call) {
  need(call, 0, Kind::Number, "ops.pow.type");
  need(call, 1, Kind::Number, "ops.pow.type");
  return {TensorType{.elem = call.elem(0),
                     .shape = broadcast_at_run(call, call.shape(0), call.shape(1))}};
}

/// The exponent when it is one constant for all elements.
std::optional<double> uniform_exponent(const Call& call) {
  const ConstantNode* c = call.constant(1);
  return c && c->count() == 1 ? std::optional(number_at(*c, 0)) : std::nullopt;
}

bool is_small_whole(const Call& call) {
  const std::optional<double> e = uniform_exponent(call);
  return e && (*e == 1 || *e == 2 || *e == 3);
}

std::vector<te::Tensor> multiplied(const Call& call) {
  const int exponent = static_cast<int>(*uniform_exponent(call));
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& at) {
    return in_wide(broadcast_read(call, 0, indices_of(at)), [&](const Expr& x) {
      Expr out = x;
      for (int i = 1; i < exponent; ++i) out = out * x;
      return out;
    });
  })};
}

/// The float type that both numbers fit.
ir::Elem common(ir::Elem base, ir::Elem exponent) {
  const auto narrow = [](ir::Elem e) {
    return ir::is_float(e) ? ir::bits(e) <= 32 : ir::bits(e) <= 16;
  };
  return narrow(base) && narrow(exponent) ? ir::Elem::F32 : ir::Elem::F64;
}

std::vector<te::Tensor> by_function(const Call& call) {
  const ir::Elem wider = common(call.elem(0), call.elem(1));
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& at) {
    const Expr power = te::pow(te::cast(wider, broadcast_read(call, 0, indices_of(at))),
                               te::cast(wider, broadcast_read(call, 1, indices_of(at))));
    return te::cast(call.elem(0), power);
  })};
}

bool is_integral(const Call& call) { return ir::is_int(call.elem(0)) && ir::is_int(call.elem(1)); }

/// Exact for every result that fits the type: no other base than -1, 0 and 1 has a power beyond 63
/// that does. A negative exponent gives what is left of 1/x as an integer.
std::vector<te::Tensor> exact(const Call& call) {
  const ir::Elem elem = call.elem(0);
  const te::Axis k = te::reduce_axis(63);
  const auto exponent = [&](const std::vector<te::Var>& at) {
    return te::cast(ir::Elem::I64, broadcast_read(call, 1, indices_of(at)));
  };
  const te::Tensor product =
      te::compute("power", call.out_shape(), [&](const std::vector<te::Var>& at) {
        return te::prod(te::select(k < exponent(at), broadcast_read(call, 0, indices_of(at)),
                                   te::cast(elem, 1)),
                        k);
      });
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& at) {
    const Expr x = broadcast_read(call, 0, indices_of(at)), e = exponent(at);
    const Expr one = te::cast(elem, 1), zero = te::cast(elem, 0);
    const Expr odd = (e & 1) == 1;
    const Expr minus_one = te::cast(ir::Elem::I64, x) == -1;
    const Expr unit = te::select(odd, x, one);  // of -1 and 1
    return te::select(x == 1 || minus_one, unit,
                      te::select(e < 0, zero, product.at({at.begin(), at.end()})));
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(pow_op(), NoAttrs{}, {n.need(0), second_input(n, g)}));
}

}  // namespace

const OpDef& pow_op() {
  static const OpDef def = define_op(
      {.name = "pow",
       .fusion = FusionKind::Injective,
       .infer = infer,
       .algorithms = {{.name = "multiplied", .define = multiplied, .applies = is_small_whole},
                      {.name = "exact", .define = exact, .applies = is_integral},
                      {.name = "function", .define = by_function}},
       .onnx = {{.op = "Pow", .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
