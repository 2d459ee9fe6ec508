// SPDX-License-Identifier: Apache-2.0
// Functions of pairs of elements, broadcast as in NumPy, one row each.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/old_broadcast.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

template <Kind K, bool GivesBool>
std::vector<Type> infer(const Call& call) {
  need(call, 0, K, "ops.binary.type");
  need_same_elem(call, 0, 1);
  return {TensorType{.elem = GivesBool ? ir::Elem::Bool : call.elem(0),
                     .shape = broadcast_at_run(call, call.shape(0), call.shape(1))}};
}

template <Expr (*F)(const Expr&, const Expr&)>
std::vector<te::Tensor> define(const Call& call) {
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& at) {
    return F(broadcast_read(call, 0, indices_of(at)), broadcast_read(call, 1, indices_of(at)));
  })};
}

/// Rounds towards zero, as ONNX and C do; `/` on integers is floor division.
Expr div(const Expr& a, const Expr& b) {
  const Expr q = a / b;
  if (!ir::is_signed(a.elem())) return q;
  return te::select(q * b != a && (a < 0) != (b < 0) && b != 0, q + 1, q);
}
Dim div_dims(const Dim& a, const Dim& b) {
  const Dim q = a / b;
  const ir::Expr inexact =
      ir::logical_and(ir::ne(q * b, a), ir::ne(as_int(a < Dim(0)), as_int(b < Dim(0))));
  return choose(ir::logical_and(inexact, ir::ne(b, Dim(0))), q + Dim(1), q);
}

using DimFunction = Dim(const Dim&, const Dim&);

template <DimFunction* F, bool GivesBool>
std::vector<Elements> elements(const Call& call) {
  // Of floats that are whole numbers the quotient may not be one, and whether they compare as those
  // do is known only where they are small enough to be exact.
  if (ir::is_float(call.elem(0)) && (GivesBool || F == div_dims)) return {std::nullopt};
  return {map_elements(call, GivesBool ? ir::Elem::Bool : call.elem(0),
                       [](const std::vector<Dim>& x) { return F(x[0], x[1]); })};
}

/// The sign of the divisor.
Expr mod(const Expr& a, const Expr& b) {
  if (!ir::is_float(a.elem())) return a % b;
  return in_wide(a, [&](const Expr& x) {
    const Expr y = te::cast(x.elem(), b);
    const Expr r = te::fmod(x, y);
    return te::select(r == 0, te::copysign(r, y), te::select((r < 0) != (y < 0), r + y, r));
  });
}

/// The sign of the dividend.
Expr fmod(const Expr& a, const Expr& b) {
  if (ir::is_float(a.elem()))
    return in_wide(a, [&](const Expr& x) { return te::fmod(x, te::cast(x.elem(), b)); });
  return te::select(b == 0, te::cast(a.elem(), 0), a - div(a, b) * b);
}

template <ir::BinaryOp Op>
Expr apply(const Expr& a, const Expr& b) {
  return te::binary(Op, a, b);
}
template <ir::BinaryOp Op>
Dim apply_dims(const Dim& a, const Dim& b) {
  return ir::is_compare(Op) ? as_int(ir::binary(Op, a, b)) : ir::binary(Op, a, b);
}
Expr greater(const Expr& a, const Expr& b) { return a > b; }
Expr greater_equal(const Expr& a, const Expr& b) { return a >= b; }
Dim greater_dims(const Dim& a, const Dim& b) { return as_int(a > b); }
Dim greater_equal_dims(const Dim& a, const Dim& b) { return as_int(a >= b); }

template <Expr (*F)(const Expr&, const Expr&), Kind K, bool GivesBool = false>
OpDef row(std::string_view name, std::vector<OnnxRule> onnx) {
  return define_op({.name = name,
                    .fusion = FusionKind::Injective,
                    .infer = infer<K, GivesBool>,
                    .algorithms = {{.name = "direct", .define = define<F>}},
                    .onnx = std::move(onnx)});
}

template <Expr (*F)(const Expr&, const Expr&), DimFunction* E, Kind K, bool GivesBool = false>
OpDef with_elements(std::string_view name, std::vector<OnnxRule> onnx) {
  OpDef def = row<F, K, GivesBool>(name, std::move(onnx));
  def.elements = elements<E, GivesBool>;
  return def;
}

void pair(const OnnxNode& n, Builder& g, std::string_view name) {
  g.output(n, g.call(op(name), NoAttrs{}, {n.need(0), second_input(n, g)}));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  for (const OpDef& op : binary_ops())
    for (const OnnxRule& rule : op.onnx)
      if (rule.op == n.op) return pair(n, g, op.name);
}

void mod_from_onnx(const OnnxNode& n, Builder& g) {
  pair(n, g, n.attr_int("fmod", 0) ? "fmod" : "mod");
}

void shift_from_onnx(const OnnxNode& n, Builder& g) {
  const std::string direction = n.attr_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    n.refuse("ops.bitshift.direction", "the attribute `direction` is neither `LEFT` nor `RIGHT`",
             "use one of them");
  pair(n, g, direction == "LEFT" ? "shift_left" : "shift_right");
}

/// Any number of inputs, from left to right.
ValueId fold(const OnnxNode& n, Builder& g, std::string_view name) {
  ValueId out = n.need(0);
  if (n.inputs.size() == 1) return g.call(op("identity"), NoAttrs{}, {out});
  for (size_t i = 1; i < n.inputs.size(); ++i) out = g.call(op(name), NoAttrs{}, {out, n.need(i)});
  return out;
}
void min_from_onnx(const OnnxNode& n, Builder& g) { g.output(n, fold(n, g, "min")); }
void max_from_onnx(const OnnxNode& n, Builder& g) { g.output(n, fold(n, g, "max")); }
void sum_from_onnx(const OnnxNode& n, Builder& g) { g.output(n, fold(n, g, "add")); }
void mean_from_onnx(const OnnxNode& n, Builder& g) {
  const ValueId sum = fold(n, g, "add");
  const ValueId count = g.scalar(g.tensor(sum).elem, static_cast<double>(n.inputs.size()));
  g.output(n, g.call(op("div"), NoAttrs{}, {sum, count}));
}

OnnxRule plain(std::string_view onnx) { return {.op = onnx, .rule = from_onnx}; }

}  // namespace

std::span<const OpDef> binary_ops() {
  using enum ir::BinaryOp;
  using enum Kind;
  static const std::vector<OpDef> rows = {
      with_elements<apply<Add>, apply_dims<Add>, Number>(
          "add", {plain("Add"), {.op = "Sum", .rule = sum_from_onnx}}),
      with_elements<apply<Sub>, apply_dims<Sub>, Number>("sub", {plain("Sub")}),
      with_elements<apply<Mul>, apply_dims<Mul>, Number>("mul", {plain("Mul")}),
      with_elements<div, div_dims, Number>("div",
                                           {plain("Div"), {.op = "Mean", .rule = mean_from_onnx}}),
      with_elements<mod, apply_dims<Mod>, Number>("mod", {{.op = "Mod", .rule = mod_from_onnx}}),
      row<fmod, Number>("fmod", {}),
      with_elements<apply<Min>, apply_dims<Min>, Number>("min",
                                                         {{.op = "Min", .rule = min_from_onnx}}),
      with_elements<apply<Max>, apply_dims<Max>, Number>("max",
                                                         {{.op = "Max", .rule = max_from_onnx}}),
      row<apply<And>, Bool>("and", {plain("And")}),
      row<apply<Or>, Bool>("or", {plain("Or")}),
      row<apply<Ne>, Bool>("xor", {plain("Xor")}),
      with_elements<apply<Eq>, apply_dims<Eq>, Any, true>("equal", {plain("Equal")}),
      with_elements<apply<Lt>, apply_dims<Lt>, Number, true>("less", {plain("Less")}),
      with_elements<apply<Le>, apply_dims<Le>, Number, true>("less_equal", {plain("LessOrEqual")}),
      with_elements<greater, greater_dims, Number, true>("greater", {plain("Greater")}),
      with_elements<greater_equal, greater_equal_dims, Number, true>("greater_equal",
                                                                     {plain("GreaterOrEqual")}),
      row<apply<BitAnd>, Int>("bitwise_and", {plain("BitwiseAnd")}),
      row<apply<BitOr>, Int>("bitwise_or", {plain("BitwiseOr")}),
      row<apply<BitXor>, Int>("bitwise_xor", {plain("BitwiseXor")}),
      row<apply<Shl>, Int>("shift_left", {{.op = "BitShift", .rule = shift_from_onnx}}),
      row<apply<Shr>, Int>("shift_right", {}),
  };
  return rows;
}

}  // namespace tilewright::ops
