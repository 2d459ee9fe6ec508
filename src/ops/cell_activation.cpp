// SPDX-License-Identifier: Apache-2.0
#include "ops/cell_activation.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "support/str.h"

namespace tilewright::ops {
namespace {

using te::Expr;

struct Row {
  std::string_view name;
  bool takes_alpha, takes_beta;
  double alpha, beta;  // defaults
  Expr (*f)(const Expr& x, double alpha, double beta);
};

Expr zero(const Expr& x) { return te::cast(x.elem(), 0); }

constexpr std::array<Row, 11> kRows = {{
    {"affine", true, true, 1, 0, [](const Expr& x, double a, double b) { return a * x + b; }},
    {"elu", true, false, 1, 0,
     [](const Expr& x, double a, double) {
       return te::select(x < 0, a * te::expm1(te::min(x, zero(x))), x);
     }},
    {"hardsigmoid", true, true, 0.2, 0.5,
     [](const Expr& x, double a, double b) {
       return te::max(te::min(a * x + b, te::cast(x.elem(), 1)), zero(x));
     }},
    {"leakyrelu", true, false, 0.01, 0,
     [](const Expr& x, double a, double) { return te::select(x < 0, a * x, x); }},
    {"relu", false, false, 0, 0, [](const Expr& x, double, double) { return te::max(x, zero(x)); }},
    {"scaledtanh", true, true, 1, 1,
     [](const Expr& x, double a, double b) { return a * te::tanh(b * x); }},
    {"sigmoid", false, false, 0, 0,
     [](const Expr& x, double, double) { return 1 / (1 + te::exp(-x)); }},
    {"softplus", false, false, 0, 0,
     [](const Expr& x, double, double) {
       return te::max(x, zero(x)) + te::log1p(te::exp(-te::abs(x)));
     }},
    {"softsign", false, false, 0, 0,
     [](const Expr& x, double, double) { return x / (1 + te::abs(x)); }},
    {"tanh", false, false, 0, 0, [](const Expr& x, double, double) { return te::tanh(x); }},
    {"thresholdedrelu", true, false, 1, 0,
     [](const Expr& x, double a, double) { return te::select(x > a, x, zero(x)); }},
}};

const Row* find_row(std::string_view name) {
  const auto found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == name; });
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

CellActivations cell_activations(const graph::OnnxNode& node,
                                 const std::vector<std::string>& defaults, size_t directions) {
  CellActivations out;
  if (node.has_attr("activations")) out.names = node.attr_strings("activations");
  if (out.names.empty())
    for (size_t d = 0; d < directions; ++d)
      out.names.insert(out.names.end(), defaults.begin(), defaults.end());
  if (out.names.size() < directions * defaults.size())
    node.refuse("ops.recurrent.activations",
                str("`activations` has ", out.names.size(), " functions"),
                str("give ", directions * defaults.size()));
  out.names.resize(directions * defaults.size());

  const std::vector<float> alphas = node.attr_floats("activation_alpha");
  const std::vector<float> betas = node.attr_floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (std::string& name : out.names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const Row* row = find_row(name);
    if (!row)
      node.refuse("ops.recurrent.activations", str("there is no activation \"", name, "\""),
                  "use Affine, Elu, HardSigmoid, LeakyRelu, Relu, ScaledTanh, Sigmoid, Softplus, "
                  "Softsign, Tanh or ThresholdedRelu");
    out.alpha.push_back(row->takes_alpha && next_alpha < alphas.size() ? alphas[next_alpha++]
                                                                       : row->alpha);
    out.beta.push_back(row->takes_beta && next_beta < betas.size() ? betas[next_beta++]
                                                                   : row->beta);
  }
  return out;
}

te::Expr cell_activation(const std::string& name, double alpha, double beta, const te::Expr& x) {
  const Row* row = find_row(name);
  require(row, "an activation that is not there");
  return row->f(x, alpha, beta);
}

}  // namespace tilewright::ops
