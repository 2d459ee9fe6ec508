// SPDX-License-Identifier: Apache-2.0
// Random tensors. Number i of a seed is a hash of both, so that every element is computed on its
// own, the same on every machine. A model that gives no seed gets another one in each run.
#include <array>
#include <bit>
#include <numbers>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;
using te::Expr;

struct RandomAttrs {
  std::vector<int64_t> shape = {};  // without an input to be like
  Elem elem = Elem::F32;
  bool normal = false;
  double a = 0, b = 1;  // mean and deviation, or low and high
  static constexpr auto fields =
      std::tuple{field("shape", &RandomAttrs::shape), field("elem", &RandomAttrs::elem),
                 field("normal", &RandomAttrs::normal), field("a", &RandomAttrs::a),
                 field("b", &RandomAttrs::b)};
};

/// 64 well mixed bits of a number, as in splitmix64.
Expr mixed(Expr z) {
  const auto u64 = [](uint64_t v) {
    return Expr(ir::int_imm(Elem::U64, std::bit_cast<int64_t>(v)));
  };
  z = (z ^ (z >> u64(30))) * u64(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> u64(27))) * u64(0x94D049BB133111EB);
  return z ^ (z >> u64(31));
}

/// Uniform in [0, 1), of 24 bits as f32. Streams of one seed are independent.
Expr uniform(const te::Tensor& seed, const Expr& index, int64_t stream) {
  const auto u64 = [](uint64_t v) {
    return Expr(ir::int_imm(Elem::U64, std::bit_cast<int64_t>(v)));
  };
  const Expr start = mixed(te::cast(Elem::U64, seed()) + u64(static_cast<uint64_t>(stream) + 1));
  const Expr bits = mixed(start + te::cast(Elem::U64, index) * u64(0x9E3779B97F4A7C15));
  return te::cast(Elem::F32, bits >> u64(40)) * 0x1p-24;
}

Expr number_of(const Shape& shape, const std::vector<te::Var>& at) {
  Expr number = te::cast(Elem::I64, 0);
  for (size_t d = 0; d < at.size(); ++d) number = number * Expr(shape[d]) + at[d];
  return number;
}

// (seed: i64[][, a tensor whose shape it has])
std::vector<Type> infer(const Call& call) {
  const RandomAttrs& attrs = call.attrs<RandomAttrs>();
  if (!ir::is_float(attrs.elem))
    call.refuse("ops.random.type", str("random numbers of type ", ir::name(attrs.elem)),
                "use a float type");
  for (const int64_t d : attrs.shape)
    if (d < 0)
      call.refuse("ops.random.shape", str("a dimension of ", d), "use dimensions from 0 on");
  return {tensor_of(attrs.elem, call.has(1) ? call.shape(1) : dims(attrs.shape))};
}

std::vector<te::Tensor> define(const Call& call) {
  const RandomAttrs& attrs = call.attrs<RandomAttrs>();
  const te::Tensor& seed = call.in(0);
  return {te::compute("random", call.out_shape(), [&](const std::vector<te::Var>& at) {
    const Expr i = number_of(call.out(0).shape, at);
    const Expr u = uniform(seed, i, 0);
    if (!attrs.normal) return as(attrs.elem, attrs.a + u * (attrs.b - attrs.a));
    // Box and Muller; 1 - u is not 0.
    const Expr radius = te::sqrt(-2.0 * te::log(1.0 - u));
    const Expr angle = uniform(seed, i, 1) * (2 * std::numbers::pi);
    return as(attrs.elem, attrs.a + radius * te::cos(angle) * attrs.b);
  })};
}

// (seed, probabilities): 1 with each of them, else 0, in the attribute's type.
std::vector<Type> infer_bernoulli(const Call& call) {
  need_float(call, 1);
  return {tensor_of(call.attrs<CastAttrs>().to, call.shape(1))};
}

std::vector<te::Tensor> bernoulli(const Call& call) {
  return {te::compute("drawn", call.out_shape(), [&](const std::vector<te::Var>& at) {
    const Expr u = uniform(call.in(0), number_of(call.out(0).shape, at), 0);
    return te::cast(call.attrs<CastAttrs>().to, u < as(Elem::F32, call.in(1).at(indices_of(at))));
  })};
}

struct MultinomialAttrs {
  int64_t samples = 1;
  Elem elem = Elem::I32;
  static constexpr auto fields = std::tuple{field("samples", &MultinomialAttrs::samples),
                                            field("elem", &MultinomialAttrs::elem)};
};

// (seed, logarithms of weights [b, classes]): classes [b, samples].
std::vector<Type> infer_multinomial(const Call& call) {
  need_float(call, 1);
  need_rank(call, 1, 2);
  const MultinomialAttrs& attrs = call.attrs<MultinomialAttrs>();
  return {tensor_of(attrs.elem, {call.shape(1)[0], attrs.samples})};
}

/// The class with the greatest logarithm plus Gumbel noise is drawn with its probability.
std::vector<te::Tensor> multinomial(const Call& call) {
  const MultinomialAttrs& attrs = call.attrs<MultinomialAttrs>();
  const Expr classes(call.shape(1)[1]);
  const te::Axis c = te::reduce_axis(classes, "c");
  const te::Tensor best =
      te::compute({"place", "value"}, {Expr(call.shape(1)[0]), Expr(attrs.samples)},
                  [&](const te::Var& b, const te::Var& s) {
                    const Expr i = (b * attrs.samples + s) * classes + c;
                    const Expr u = 1.0 - uniform(call.in(0), i, 0);  // in (0, 1]
                    const Expr noise = -te::log(0x1p-26 - te::log(u));
                    return te::argmax(as(Elem::F32, call.in(1)(b, c)) + noise, c);
                  })[0];
  return {as(attrs.elem, best)};
}

std::vector<Type> infer_seed(const Call&) { return {tensor_of(Elem::I64, {})}; }

ValueId seed_of(const OnnxNode& n, Builder& g) {
  if (!n.has_attr("seed")) return g.call(op("random_seed"), {}, {});
  const auto bits = std::bit_cast<int32_t>(n.attr_float("seed", 0));
  return g.constant(int_constant(Elem::I64, {}, {bits}));
}

/// RandomNormal, RandomUniform, and those …Like another tensor.
void random(const OnnxNode& n, Builder& g) {
  const bool like = n.op.ends_with("Like"), normal = n.op.starts_with("RandomNormal");
  const RandomAttrs attrs{
      .shape = n.attr_ints("shape"),
      .elem = n.attr_elem("dtype").value_or(like ? g.tensor(n.need(0)).elem : Elem::F32),
      .normal = normal,
      .a = normal ? n.attr_float("mean", 0) : n.attr_float("low", 0),
      .b = normal ? n.attr_float("scale", 1) : n.attr_float("high", 1)};
  g.output(n, g.call(op("random"), attrs, {seed_of(n, g), like ? n.need(0) : kNoValue}));
}

void bernoulli_from_onnx(const OnnxNode& n, Builder& g) {
  const Elem to = n.attr_elem("dtype").value_or(g.tensor(n.need(0)).elem);
  g.output(n, g.call(op("bernoulli"), CastAttrs{.to = to}, {seed_of(n, g), n.in(0)}));
}

void multinomial_from_onnx(const OnnxNode& n, Builder& g) {
  const MultinomialAttrs attrs{.samples = n.attr_int("sample_size", 1),
                               .elem = n.attr_elem("dtype").value_or(Elem::I32)};
  g.output(n, g.call(op("multinomial"), attrs, {seed_of(n, g), n.need(0)}));
}

}  // namespace

std::span<const OpDef> random_ops() {
  static const std::array<OpDef, 4> defs = {
      define_op<RandomAttrs>({.name = "random",
                              .fusion = FusionKind::Injective,
                              .infer = infer,
                              .algorithms = {{.name = "direct", .define = define}},
                              .onnx = {{.op = "RandomNormal", .rule = random},
                                       {.op = "RandomNormalLike", .rule = random},
                                       {.op = "RandomUniform", .rule = random},
                                       {.op = "RandomUniformLike", .rule = random}}}),
      define_op<CastAttrs>(
          {.name = "bernoulli",
           .fusion = FusionKind::Injective,
           .infer = infer_bernoulli,
           .algorithms = {{.name = "direct", .define = bernoulli}},
           .onnx = {{.op = "Bernoulli", .from = 15, .rule = bernoulli_from_onnx}}}),
      define_op<MultinomialAttrs>(
          {.name = "multinomial",
           .fusion = FusionKind::Reduction,
           .infer = infer_multinomial,
           .algorithms = {{.name = "direct", .define = multinomial}},
           .onnx = {{.op = "Multinomial", .from = 7, .rule = multinomial_from_onnx}}}),
      define_op({.name = "random_seed", .infer = infer_seed, .host = "random_seed"})};
  return defs;
}

}  // namespace tilewright::ops
