// SPDX-License-Identifier: Apache-2.0
#include "ops/ml_scores.h"

#include <numbers>

#include "ops/as_onnx.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;
using te::Expr;

struct TransformAttrs {
  bool probit = false;  // else a softmax in which zeros keep a share of exp(-max) times themselves
  static constexpr auto fields = std::tuple{field("probit", &TransformAttrs::probit)};
};

std::vector<Type> infer(const Call& call) { return {call.type(0)}; }

/// sqrt(2) times the inverse of erf at 2 x - 1, by the approximation that ONNX prescribes.
Expr probit(const Expr& x) {
  constexpr double kA = 0.147;
  const Expr y = 2.0 * x - 1.0;
  const Expr product = (1.0 - y) * (1.0 + y);
  const Expr log = te::log(product);
  const Expr v = 2.0 / (std::numbers::pi * kA) + 0.5 * log;
  const Expr root = te::sqrt(te::sqrt(v * v - log / kA) - v);
  const Expr zero = te::cast(x.elem(), 0.0);
  return te::select(product == 0.0, zero,
                    te::select(y < 0.0, -1.41421356 * root, 1.41421356 * root));
}

std::vector<te::Tensor> define(const Call& call) {
  const te::Tensor& x = call.in(0);
  if (call.attrs<TransformAttrs>().probit) return {te::map(x, probit)};
  const te::Tensor most = te::max_over(x, -1);
  const te::Tensor shares = te::map(x, most, [](const Expr& v, const Expr& m) {
    return te::select(te::abs(v) > 0.0000001, te::exp(v - m), v * te::exp(-m));
  });
  const te::Tensor sum = te::sum_over(shares, -1);
  return {te::map(shares, sum, [](const Expr& v, const Expr& s) {
    return te::select(s == 0.0, te::cast(v.elem(), 0.5), v / s);
  })};
}

}  // namespace

ValueId ml_input(Builder& g, ValueId x) {
  if (g.tensor(x).elem != Elem::F32 && g.tensor(x).elem != Elem::F64)
    x = g.call(op("cast"), CastAttrs{.to = Elem::F32}, {x});
  if (g.tensor(x).rank() == 1) x = g.call(op("unsqueeze"), {}, {x, g.ints({0})});
  return x;
}

ValueId post_transformed(const OnnxNode& n, Builder& g, ValueId scores,
                         std::string_view transform) {
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return g.call(op("sigmoid"), {}, {scores});
  if (transform == "SOFTMAX") return g.call(softmax_op(), SoftmaxAttrs{.axis = -1}, {scores});
  if (transform != "SOFTMAX_ZERO" && transform != "PROBIT")
    n.refuse("ops.ml.post_transform", str("post_transform is `", transform, "`"),
             "use NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT");
  return g.call(ml_transform_op(), TransformAttrs{.probit = transform == "PROBIT"}, {scores});
}

ValueId labels_of(const OnnxNode& n, Builder& g, ValueId indices, std::string_view ints,
                  std::string_view strings) {
  const std::vector<std::string> texts = n.attr_strings(strings);
  const std::vector<int64_t> numbers = n.attr_ints(ints);
  if (!texts.empty()) {
    const ValueId table = g.constant(string_constant({static_cast<int64_t>(texts.size())}, texts));
    return as_onnx(n, g, "Gather", {table, indices}, {{"axis", int64_t{0}}});
  }
  if (numbers.empty()) return indices;
  return as_onnx(n, g, "Gather", {g.ints(numbers), indices}, {{"axis", int64_t{0}}});
}

const OpDef& ml_transform_op() {
  static const OpDef def =
      define_op<TransformAttrs>({.name = "ml_transform",
                                 .fusion = FusionKind::Reduction,
                                 .infer = infer,
                                 .algorithms = {{.name = "direct", .define = define}}});
  return def;
}

}  // namespace tilewright::ops
