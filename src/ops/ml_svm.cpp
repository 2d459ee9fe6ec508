// SPDX-License-Identifier: Apache-2.0
// SVMRegressor and SVMClassifier: kernels of every row with every support vector, then products
// with matrices that are made of the coefficients.
#include <algorithm>
#include <numeric>

#include "ops/as_onnx.h"
#include "ops/define.h"
#include "ops/ml.h"
#include "ops/ml_scores.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;
using te::Expr;

enum class Kernel : uint8_t { Linear, Poly, Rbf, Sigmoid };

struct KernelAttrs {
  Kernel kernel = Kernel::Linear;
  double gamma = 0, offset = 0, degree = 0;
  static constexpr auto fields =
      std::tuple{field("kernel", &KernelAttrs::kernel), field("gamma", &KernelAttrs::gamma),
                 field("offset", &KernelAttrs::offset), field("degree", &KernelAttrs::degree)};
};

// (x [n, features], vectors [v, features]): [n, v]
std::vector<Type> infer(const Call& call) {
  call.equal(call.shape(0)[1], call.shape(1)[1], "the features of x and of the support vectors");
  return {tensor_of(call.elem(0), {call.shape(0)[0], call.shape(1)[0]})};
}

std::vector<te::Tensor> define(const Call& call) {
  const KernelAttrs& attrs = call.attrs<KernelAttrs>();
  const te::Axis k = te::reduce_axis(Expr(call.shape(0)[1]), "k");
  return {te::compute("kernel", call.out_shape(), [&](const te::Var& n, const te::Var& v) {
    const Expr x = call.in(0)(n, k), s = call.in(1)(v, k);
    if (attrs.kernel == Kernel::Rbf) return te::exp(-attrs.gamma * te::sum((x - s) * (x - s), k));
    const Expr dot = te::sum(x * s, k);
    if (attrs.kernel == Kernel::Linear) return dot;
    const Expr scaled = dot * attrs.gamma + attrs.offset;
    return attrs.kernel == Kernel::Sigmoid ? te::tanh(scaled)
                                           : te::pow(scaled, te::cast(Elem::F32, attrs.degree));
  })};
}

KernelAttrs kernel_of(const OnnxNode& n) {
  const std::string name = n.attr_string("kernel_type", "LINEAR");
  std::vector<float> params = n.attr_floats("kernel_params");
  params.resize(3, 0);
  KernelAttrs attrs{.gamma = params[0], .offset = params[1], .degree = params[2]};
  if (name == "LINEAR")
    attrs.kernel = Kernel::Linear;
  else if (name == "POLY")
    attrs.kernel = Kernel::Poly;
  else if (name == "RBF")
    attrs.kernel = Kernel::Rbf;
  else if (name == "SIGMOID")
    attrs.kernel = Kernel::Sigmoid;
  else
    n.refuse("ops.svm.kernel", str("kernel_type is `", name, "`"),
             "use LINEAR, POLY, RBF or SIGMOID");
  return attrs;
}

ValueId matrix(const OnnxNode& n, Builder& g, const std::vector<float>& values, int64_t rows) {
  if (rows <= 0 || values.size() % static_cast<size_t>(rows) != 0)
    n.refuse("ops.svm.lists", str(values.size(), " numbers in ", rows, " rows"),
             "give lists whose lengths fit together");
  return g.constant(float_constant(Elem::F32, {rows, static_cast<int64_t>(values.size()) / rows},
                                   std::vector<double>(values.begin(), values.end())));
}

/// x times the rows of a matrix.
ValueId times_rows(Builder& g, ValueId x, ValueId rows) {
  return g.call(matmul_op(), MatMulAttrs{.trans_b = true}, {x, rows});
}

void regressor(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  ValueId x = m.cast(ml_input(g, n.need(0)), Elem::F32);
  const int64_t supports = n.attr_int("n_supports", 0);
  if (supports > 0)
    x = g.call(svm_kernel_op(), kernel_of(n),
               {x, matrix(n, g, n.attr_floats("support_vectors"), supports)});
  const std::vector<float> rho = n.attr_floats("rho", {0});
  ValueId y = m.add(times_rows(g, x, matrix(n, g, n.attr_floats("coefficients"), 1)),
                    g.scalar(Elem::F32, rho.empty() ? 0 : rho[0]));
  if (n.attr_int("one_class", 0) != 0) {
    const ValueId inside = m.call("greater", {y, g.scalar(Elem::F32, 0)});
    y = m.call("where", {inside, g.scalar(Elem::F32, 1), g.scalar(Elem::F32, -1)});
  }
  g.output(n, post_transformed(n, g, y, n.attr_string("post_transform", "NONE")));
}

/// Every pair of classes has a score, and gives one of them a vote.
void classifier(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId x = m.cast(ml_input(g, n.need(0)), Elem::F32);
  const std::vector<int64_t> per_class = n.attr_ints("vectors_per_class");
  const std::vector<float> coefficients = n.attr_floats("coefficients"), rho = n.attr_floats("rho");
  const size_t classes = std::max(n.attr_ints("classlabels_ints").size(),
                                  n.attr_strings("classlabels_strings").size());
  const int64_t vectors = std::accumulate(per_class.begin(), per_class.end(), int64_t{0});
  if (!n.attr_floats("prob_a").empty())
    n.refuse("ops.svm.probabilities", "prob_a is given",
             "export the classifier without probabilities, and take its scores");
  const auto finish = [&](ValueId index, ValueId scores) {
    g.outputs(n, {labels_of(n, g, index, "classlabels_ints", "classlabels_strings"),
                  post_transformed(n, g, scores, n.attr_string("post_transform", "NONE"))});
  };
  const auto arg_max = [&](ValueId of) {
    return as_onnx(n, g, "ArgMax", {of}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  };
  if (vectors == 0) {
    const ValueId scores =
        m.add(times_rows(g, x, matrix(n, g, coefficients, static_cast<int64_t>(classes))),
              g.scalar(Elem::F32, rho.empty() ? 0 : rho[0]));
    return finish(arg_max(scores), scores);
  }
  const size_t pairs = classes * (classes - 1) / 2, count = static_cast<size_t>(vectors);
  if (per_class.size() != classes || classes < 2 || rho.size() < pairs ||
      coefficients.size() != count * (classes - 1))
    n.refuse("ops.svm.lists", "the lists of coefficients, classes and rho do not fit together",
             "give (classes - 1) coefficients for each vector, and a rho for each pair of classes");
  std::vector<size_t> first{0};
  for (const int64_t c : per_class) first.push_back(first.back() + static_cast<size_t>(c));
  std::vector<float> weights(pairs * count, 0), wins(classes * pairs, 0),
      losses(classes * pairs, 0);
  size_t pair = 0;
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = i + 1; j < classes; ++j, ++pair) {
      for (size_t v = first[i]; v < first[i + 1]; ++v)
        weights[pair * count + v] = coefficients[(j - 1) * count + v];
      for (size_t v = first[j]; v < first[j + 1]; ++v)
        weights[pair * count + v] = coefficients[i * count + v];
      wins[i * pairs + pair] = 1;
      losses[j * pairs + pair] = 1;
    }
  const ValueId kernels = g.call(svm_kernel_op(), kernel_of(n),
                                 {x, matrix(n, g, n.attr_floats("support_vectors"), vectors)});
  const auto rows = [&](const std::vector<float>& v, size_t r) {
    return matrix(n, g, v, static_cast<int64_t>(r));
  };
  const ValueId scores =
      m.add(times_rows(g, kernels, rows(weights, pairs)),
            matrix(n, g, {rho.begin(), rho.begin() + static_cast<ptrdiff_t>(pairs)}, 1));
  const ValueId won = m.cast(m.call("greater", {scores, g.scalar(Elem::F32, 0)}), Elem::F32);
  const ValueId lost = m.call("sub", {g.scalar(Elem::F32, 1), won});
  const ValueId votes =
      m.add(times_rows(g, won, rows(wins, classes)), times_rows(g, lost, rows(losses, classes)));
  // Two classes have one score: that of the first, and its opposite.
  if (classes == 2) return finish(arg_max(votes), m.concat({m.call("neg", {scores}), scores}, 1));
  finish(arg_max(votes), scores);
}

}  // namespace

const OpDef& svm_kernel_op() {
  static const OpDef def = define_op<KernelAttrs>(
      {.name = "svm_kernel",
       .fusion = FusionKind::Reduction,
       .infer = infer,
       .algorithms = {{.name = "direct", .define = define}},
       .onnx = {{.op = "SVMRegressor", .rule = regressor, .domain = "ai.onnx.ml"},
                {.op = "SVMClassifier", .rule = classifier, .domain = "ai.onnx.ml"}}});
  return def;
}

}  // namespace tilewright::ops
