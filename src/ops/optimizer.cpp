// SPDX-License-Identifier: Apache-2.0
// Adagrad, Adam and Momentum of ai.onnx.preview.training: one step for each tensor that is trained.
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct OptimizerAttrs {
  double alpha = 0, beta = 0, epsilon = 0, decay = 0, norm = 0, norm_post = 0;
  bool nesterov = false;
  static constexpr auto fields = std::tuple{
      field("alpha", &OptimizerAttrs::alpha),      field("beta", &OptimizerAttrs::beta),
      field("epsilon", &OptimizerAttrs::epsilon),  field("decay", &OptimizerAttrs::decay),
      field("norm", &OptimizerAttrs::norm),        field("norm_post", &OptimizerAttrs::norm_post),
      field("nesterov", &OptimizerAttrs::nesterov)};
};

/// Rate, count of steps so far, tensor, gradient, states.
std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_int(call, 1);
  for (const size_t i : {0, 1})
    if (!ir::is_const(elements(call.shape(i)), 1))
      call.refuse("ops.optimizer.scalar", str("input ", i, " is ", print(call.type(i))),
                  "give a single value");
  std::vector<Type> out;
  for (size_t i = 2; i < call.inputs(); ++i) {
    need_float(call, i);
    need_same_elem(call, 2, i);
    need_rank(call, i, call.rank(2));
    for (size_t d = 0; d < call.shape(2).size(); ++d)
      call.equal(call.shape(i)[d], call.shape(2)[d], "a tensor and its gradient and states");
    if (i != 3) out.push_back(tensor_of(call.elem(2), call.shape(2)));
  }
  return out;
}

struct Step {
  Expr rate, count;  // of the tensor's type
  Expr x, gradient;  // the gradient with its regularisation
  std::vector<Expr> states;
};
using Rule = te::Tuple (*)(const OptimizerAttrs& attrs, const Step& s);

/// The new tensor and its states.
template <Rule R>
std::vector<te::Tensor> define(const Call& call) {
  const OptimizerAttrs& attrs = call.attrs<OptimizerAttrs>();
  const ir::Elem elem = call.elem(2), acc = wide(elem);
  const auto scalar = [&](size_t i) {
    return as(acc, call.in(i).at(At(call.shape(i).size(), Expr(0))));
  };
  return te::compute(
      te::Names("step"), te_shape(call.shape(2)), [&](const std::vector<te::Var>& point) {
        const auto read = [&](size_t i) { return as(acc, call.in(i).at(indices_of(point))); };
        Step s{
            .rate = scalar(0), .count = scalar(1), .x = read(2), .gradient = read(3), .states = {}};
        s.gradient = attrs.norm * s.x + s.gradient;
        for (size_t i = 4; i < call.inputs(); ++i) s.states.push_back(read(i));
        te::Tuple out = R(attrs, s);
        for (Expr& e : out) e = as(elem, e);
        return out;
      });
}

te::Tuple adagrad(const OptimizerAttrs& attrs, const Step& s) {
  const Expr rate = s.rate / (1 + s.count * attrs.decay);
  const Expr squares = s.states[0] + s.gradient * s.gradient;
  return {s.x - rate * s.gradient / (te::sqrt(squares) + attrs.epsilon), squares};
}

te::Tuple adam(const OptimizerAttrs& attrs, const Step& s) {
  const Expr one = te::cast(s.x.elem(), 1);
  const Expr mean = attrs.alpha * s.states[0] + (1 - attrs.alpha) * s.gradient;
  const Expr squares = attrs.beta * s.states[1] + (1 - attrs.beta) * (s.gradient * s.gradient);
  const auto power = [&](double base) { return te::pow(one * base, s.count); };
  const Expr unbiased = s.rate * te::sqrt(1 - power(attrs.beta)) / (1 - power(attrs.alpha));
  const Expr rate = te::select(s.count > 0, unbiased, s.rate);
  const Expr x = s.x - rate * (mean / (te::sqrt(squares) + attrs.epsilon));
  return {(1 - attrs.norm_post) * x, mean, squares};
}

te::Tuple momentum(const OptimizerAttrs& attrs, const Step& s) {
  const Expr beta =
      te::select(s.count > 0, te::cast(s.x.elem(), attrs.beta), te::cast(s.x.elem(), 1));
  const Expr v = attrs.alpha * s.states[0] + beta * s.gradient;
  return {s.x - s.rate * (attrs.nesterov ? s.gradient + attrs.alpha * v : v), v};
}

struct Row {
  std::string_view name, onnx;
  size_t states;
  std::vector<te::Tensor> (*define)(const Call&);
};
constexpr std::array<Row, 3> kRows = {{
    {"adagrad_step", "Adagrad", 1, define<adagrad>},
    {"adam_step", "Adam", 2, define<adam>},
    {"momentum_step", "Momentum", 1, define<momentum>},
}};

/// Inputs: rate, count, all tensors, all gradients, then all of each state.
void from_onnx(const OnnxNode& n, Builder& g) {
  const Row* row = &kRows[0];
  while (row->onnx != n.op) ++row;
  const bool is_adam = n.op == "Adam";
  OptimizerAttrs attrs{.alpha = n.attr_float("alpha", is_adam ? 0.9F : 0),
                       .beta = n.attr_float("beta", is_adam ? 0.999F : 0),
                       .epsilon = n.attr_float("epsilon", 1e-6F),
                       .decay = n.attr_float("decay_factor", 0),
                       .norm = n.attr_float("norm_coefficient", 0),
                       .norm_post = n.attr_float("norm_coefficient_post", 0),
                       .nesterov = n.attr_string("mode", "standard") == "nesterov"};
  const size_t groups = 2 + row->states;
  if (n.inputs.size() < 2 || (n.inputs.size() - 2) % groups != 0)
    n.refuse("ops.optimizer.inputs", str("there are ", n.inputs.size(), " inputs"),
             str("give the rate, the count, and ", groups, " tensors for each that is trained"));
  const size_t count = (n.inputs.size() - 2) / groups;
  std::vector<ValueId> results(count * (groups - 1), kNoValue);
  for (size_t i = 0; i < count; ++i) {
    std::vector<ValueId> inputs = {n.need(0), n.need(1)};
    for (size_t k = 0; k < groups; ++k) inputs.push_back(n.need(2 + k * count + i));
    const std::vector<ValueId> made = g.calls(op(row->name), attrs, inputs, groups - 1);
    for (size_t k = 0; k < made.size(); ++k) results[k * count + i] = made[k];
  }
  g.outputs(n, results);
}

std::vector<OpDef> make_ops() {
  std::vector<OpDef> out;
  for (const Row& row : kRows)
    out.push_back(define_op<OptimizerAttrs>(
        {.name = row.name,
         .fusion = FusionKind::Injective,
         .infer = infer,
         .algorithms = {{.name = "direct", .define = row.define}},
         .onnx = {{.op = row.onnx, .rule = from_onnx, .domain = "ai.onnx.preview.training"}}}));
  return out;
}

}  // namespace

std::span<const OpDef> optimizer_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
