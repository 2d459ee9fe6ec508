// SPDX-License-Identifier: Apache-2.0
// The plainer operators of ai.onnx.ml.
#include "ops/ml.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/as_onnx.h"
#include "ops/define.h"
#include "ops/ml_maps.h"
#include "ops/ml_scores.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;
using te::Expr;

ValueId row(Builder& g, Elem elem, const std::vector<double>& values) {
  return g.constant(float_constant(elem, {static_cast<int64_t>(values.size())}, values));
}
std::vector<double> wide(const std::vector<float>& values) {
  return std::vector<double>(values.begin(), values.end());
}

// (x, keys [k]): the number of the first key that is equal, or -1. NaN is equal to NaN.
std::vector<Type> infer_find(const Call& call) { return {tensor_of(Elem::I64, call.shape(0))}; }

std::vector<te::Tensor> find_key(const Call& call) {
  const te::Axis k = te::reduce_axis(Expr(call.shape(1)[0]), "k");
  return {te::compute("found", call.out_shape(), [&](const std::vector<te::Var>& v) {
    const Expr x = call.in(0).at(indices_of(v)), key = call.in(1)(k);
    const Expr equal =
        ir::is_float(x.elem()) ? (x == key || (te::isnan(x) && te::isnan(key))) : (x == key);
    const Expr none = te::cast(Elem::I64, INT64_MAX);
    const Expr first = te::min_over(te::select(equal, k, none), k);
    return te::select(first == none, te::cast(Elem::I64, -1), first);
  })};
}

// (numbers of values, or -1, values [k], the value for -1 [1])
std::vector<Type> infer_choose(const Call& call) {
  return {tensor_of(call.elem(1), call.shape(0))};
}

std::vector<te::Tensor> choose_value(const Call& call) {
  return {te::compute("chosen", call.out_shape(), [&](const std::vector<te::Var>& v) {
    const Expr i = call.in(0).at(indices_of(v));
    return te::guard(0 <= i && i < Expr(call.shape(1)[0]), call.in(1)(i), call.in(2)(0));
  })};
}

void scaler(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId x = ml_input(g, n.need(0));
  const Elem elem = g.tensor(x).elem;
  const ValueId offset = row(g, elem, wide(n.attr_floats("offset", {0}))),
                scale = row(g, elem, wide(n.attr_floats("scale", {1})));
  g.output(n, m.cast(m.mul(m.call("sub", {x, offset}), scale), Elem::F32));
}

void binarizer(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const Elem elem = g.tensor(n.need(0)).elem;
  const ValueId above = m.call("greater", {n.in(0), g.scalar(elem, n.attr_float("threshold", 0))});
  g.output(n, m.cast(above, elem));
}

void normalizer(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId x = m.cast(ml_input(g, n.need(0)), Elem::F32);
  const std::string norm = n.attr_string("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    n.refuse("ops.normalizer.norm", str("norm is `", norm, "`"), "use MAX, L1 or L2");
  const std::string_view name = norm == "MAX"  ? "reduce_max"
                                : norm == "L1" ? "reduce_l1"
                                               : "reduce_l2";
  const ValueId of = norm == "MAX" ? m.call("abs", {x}) : x;
  const ValueId size = g.call(op(name), ReduceAttrs{.axes = {1}}, {of});
  g.output(n, m.call("div", {x, m.call("max", {size, g.scalar(Elem::F32, 1e-30)})}));
}

void imputer(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId x = n.need(0);
  const bool is_float = ir::is_float(g.tensor(x).elem);
  const std::vector<int64_t> ints = n.attr_ints("imputed_value_int64s");
  const double replaced = is_float ? n.attr_float("replaced_value_float", 0) : 0;
  const ValueId missing =
      is_float && std::isnan(replaced)
          ? m.call("isnan", {x})
          : m.call("equal", {x, is_float ? g.scalar(g.tensor(x).elem, replaced)
                                         : m.cast(g.ints({n.attr_int("replaced_value_int64", 0)}),
                                                  g.tensor(x).elem)});
  const ValueId value = is_float
                            ? row(g, g.tensor(x).elem, wide(n.attr_floats("imputed_value_floats")))
                            : m.cast(g.ints(ints), g.tensor(x).elem);
  g.output(n, m.call("where", {missing, value, x}));
}

void array_feature_extractor(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  ValueId x = n.need(0);
  if (g.tensor(x).rank() == 1) x = m.reshape(x, {1, -1});
  g.output(n, m.gather(x, m.reshape(n.need(1), {-1}), -1));
}

void feature_vectorizer(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  std::vector<ValueId> parts;
  for (size_t i = 0; i < n.inputs.size(); ++i)
    parts.push_back(m.cast(ml_input(g, n.need(i)), Elem::F32));
  g.output(n, m.concat(parts, 1));
}

void one_hot(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const ValueId x = n.need(0);
  const std::vector<std::string> texts = n.attr_strings("cats_strings");
  const ValueId categories =
      texts.empty() ? g.ints(n.attr_ints("cats_int64s"))
                    : g.constant(string_constant({static_cast<int64_t>(texts.size())}, texts));
  const ValueId values = texts.empty() ? m.cast(x, Elem::I64) : x;
  const ValueId column = g.call(op("unsqueeze"), {}, {values, g.ints({-1})});
  g.output(n, m.cast(as_onnx(n, g, "Equal", {column, categories}, AttrPairs{}), Elem::F32));
}

/// Keys and values of a LabelEncoder, whichever attributes hold them; null: none of that name.
Constant list_of(const OnnxNode& n, const std::string& prefix) {
  if (const Constant c = n.attr_tensor(prefix + "_tensor")) return c;
  if (const auto v = n.attr_strings(prefix + "_strings"); !v.empty())
    return string_constant({static_cast<int64_t>(v.size())}, v);
  if (const auto v = n.attr_ints(prefix + "_int64s"); !v.empty())
    return int_constant(Elem::I64, {static_cast<int64_t>(v.size())}, v);
  const auto v = n.attr_floats(prefix + "_floats");
  return v.empty() ? Constant()
                   : float_constant(Elem::F32, {static_cast<int64_t>(v.size())}, wide(v));
}

/// What x maps to: each key to the value of the same place, anything else to `otherwise`.
ValueId mapped(const OnnxNode& n, Builder& g, ValueId x, const Constant& keys,
               const Constant& values, const Constant& otherwise) {
  if (!keys || !values || keys->count() != values->count())
    n.refuse("ops.label_encoder.lists", "keys and values are missing, or not as many",
             "give a list of keys and a list of values of the same length");
  const ValueId key_list = g.constant(keys);
  const ValueId found = keys->is_strings ? g.call(op("string_find"), {}, {x, key_list})
                                         : g.call(op("find_key"), {}, {x, key_list});
  const std::string_view choose = values->is_strings ? "string_choose" : "choose_value";
  return g.call(op(choose), {}, {found, g.constant(values), g.constant(otherwise)});
}

Constant default_of(const OnnxNode& n, const ConstantNode& values) {
  if (const Constant c = n.attr_tensor("default_tensor"))
    return c->is_strings ? string_constant({1}, c->strings)
                         : view_constant(c->elem, {1}, c->bytes, c.shared());
  if (values.is_strings) return string_constant({1}, {n.attr_string("default_string", "_Unused")});
  if (ir::is_float(values.elem))
    return float_constant(values.elem, {1}, {n.attr_float("default_float", -0.0F)});
  return int_constant(values.elem, {1}, {n.attr_int("default_int64", -1)});
}

void label_encoder(const OnnxNode& n, Builder& g) {
  const Constant keys = list_of(n, "keys"), values = list_of(n, "values");
  g.output(n, mapped(n, g, n.need(0), keys, values, values ? default_of(n, *values) : Constant()));
}

/// Strings to their places in a list, or the other way round.
void by_place(const OnnxNode& n, Builder& g, const Constant& texts, const Constant& numbers) {
  const bool to_numbers = g.tensor(n.need(0)).strings;
  g.output(n, mapped(n, g, n.in(0), to_numbers ? texts : numbers, to_numbers ? numbers : texts,
                     default_of(n, to_numbers ? *numbers : *texts)));
}

void label_encoder_1(const OnnxNode& n, Builder& g) {
  const std::vector<std::string> texts = n.attr_strings("classes_strings");
  const auto count = static_cast<int64_t>(texts.size());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(i);
  by_place(n, g, string_constant({count}, texts), int_constant(Elem::I64, {count}, places));
}

void category_mapper(const OnnxNode& n, Builder& g) {
  const std::vector<std::string> texts = n.attr_strings("cats_strings");
  const std::vector<int64_t> numbers = n.attr_ints("cats_int64s");
  by_place(n, g, string_constant({static_cast<int64_t>(texts.size())}, texts),
           int_constant(Elem::I64, {static_cast<int64_t>(numbers.size())}, numbers));
}

/// x [n, features] times coefficients [targets, features], plus intercepts. Of a list that is too
/// long for the features of x the first ones count, as in ONNX Runtime, whose own logreg_iris has
/// one.
ValueId linear(const OnnxNode& n, Builder& g, std::vector<float> intercepts, int64_t targets) {
  const ValueId x = Make{n, g}.cast(ml_input(g, n.need(0)), Elem::F32);
  std::vector<float> coefficients = n.attr_floats("coefficients");
  const auto known =
      g.tensor(x).rank() > 0 ? ir::const_int(g.tensor(x).shape.back()) : std::nullopt;
  if (known && targets > 0) {
    const size_t used = static_cast<size_t>(*known) * static_cast<size_t>(targets);
    if (coefficients.size() > used) coefficients.resize(used);
  }
  if (targets <= 0 || coefficients.size() % static_cast<size_t>(targets) != 0)
    n.refuse("ops.linear.coefficients",
             str(coefficients.size(), " coefficients for ", targets, " targets"),
             "give one for each target and feature");
  const auto features = static_cast<int64_t>(coefficients.size()) / targets;
  const ValueId weights =
      g.constant(float_constant(Elem::F32, {targets, features}, wide(coefficients)));
  const ValueId y = g.call(matmul_op(), MatMulAttrs{.trans_b = true}, {x, weights});
  return intercepts.empty() ? y : g.call(op("add"), {}, {y, row(g, Elem::F32, wide(intercepts))});
}

void linear_regressor(const OnnxNode& n, Builder& g) {
  const ValueId y = linear(n, g, n.attr_floats("intercepts"), n.attr_int("targets", 1));
  g.output(n, post_transformed(n, g, y, n.attr_string("post_transform", "NONE")));
}

void linear_classifier(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const std::vector<float> intercepts = n.attr_floats("intercepts");
  const size_t labels = std::max(n.attr_ints("classlabels_ints").size(),
                                 n.attr_strings("classlabels_strings").size());
  const size_t rows = intercepts.empty() ? std::max<size_t>(labels, 1) : intercepts.size();
  ValueId scores = linear(n, g, intercepts, static_cast<int64_t>(rows));
  // One row for two classes gives the score of the second; the first has its opposite.
  if (rows == 1 && labels == 2) scores = m.concat({m.call("neg", {scores}), scores}, 1);
  const std::string transform = n.attr_string("post_transform", "NONE");
  scores = post_transformed(n, g, scores, transform);
  if (rows == 1 && labels != 2)
    n.refuse("ops.linear_classifier.labels", str("one row of coefficients for ", labels, " labels"),
             "give two labels, or a row for each of them");
  const ValueId index =
      as_onnx(n, g, "ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  g.outputs(n, {labels_of(n, g, index, "classlabels_ints", "classlabels_strings"), scores});
}

OnnxRule ml(std::string_view op, void (*rule)(const OnnxNode&, Builder&), int from = 1,
            int to = 1'000'000) {
  return {.op = op, .from = from, .rule = rule, .domain = "ai.onnx.ml", .to = to};
}

}  // namespace

std::span<const OpDef> ml_ops() {
  static const std::array<OpDef, 2> defs = {
      define_op(
          {.name = "find_key",
           .fusion = FusionKind::Reduction,
           .infer = infer_find,
           .algorithms = {{.name = "direct", .define = find_key}},
           .onnx = {ml("ArrayFeatureExtractor", array_feature_extractor),
                    ml("Binarizer", binarizer), ml("CategoryMapper", category_mapper),
                    ml("DictVectorizer", dict_vectorizer),
                    ml("FeatureVectorizer", feature_vectorizer), ml("Imputer", imputer),
                    ml("LabelEncoder", label_encoder_1, 1, 1), ml("LabelEncoder", label_encoder, 2),
                    ml("LinearClassifier", linear_classifier),
                    ml("LinearRegressor", linear_regressor), ml("Normalizer", normalizer),
                    ml("OneHotEncoder", one_hot), ml("Scaler", scaler), ml("ZipMap", zip_map)}}),
      define_op({.name = "choose_value",
                 .fusion = FusionKind::Injective,
                 .infer = infer_choose,
                 .algorithms = {{.name = "direct", .define = choose_value}}})};
  return defs;
}

}  // namespace tilewright::ops
