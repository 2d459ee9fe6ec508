// SPDX-License-Identifier: Apache-2.0
#include "graph/pattern.h"

#include <cmath>

#include "graph/op_def.h"

namespace tilewright::graph {
namespace {

// Arithmetic between a root and what it is made of; a limit for hostile graphs.
constexpr int kMaxDepth = 12;

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (size_t i = 0; i < a.factors.size(); ++i)
    for (size_t j = 0; j < b.factors.size(); ++j) {
      const double f = a.factors[i] * b.factors[j];
      if (f == 0) continue;
      if (i + j >= out.factors.size()) return std::nullopt;
      out.factors[i + j] += f;
    }
  return out;
}

Polynomial sum(const Polynomial& a, const Polynomial& b, double sign) {
  Polynomial out;
  for (size_t i = 0; i < out.factors.size(); ++i)
    out.factors[i] = a.factors[i] + sign * b.factors[i];
  return out;
}

std::optional<WithOneFunction> times(const WithOneFunction& u, const WithOneFunction& v) {
  if (u.b != Polynomial{} && v.b != Polynomial{}) return std::nullopt;
  const auto a = product(u.a, v.a), b1 = product(u.a, v.b), b2 = product(u.b, v.a);
  if (!a || !b1 || !b2) return std::nullopt;
  return WithOneFunction{*a, sum(*b1, *b2, 1)};
}

std::optional<WithOneFunction> form(Rewriter& r, const Node& n, ValueId x, ValueId t, int depth);

std::optional<WithOneFunction> form(Rewriter& r, ValueId id, ValueId x, ValueId t, int depth) {
  if (id == x) return WithOneFunction{.a = {{0, 1, 0, 0}}};
  if (id == t) return WithOneFunction{.b = {{1, 0, 0, 0}}};
  if (const std::optional<double> c = number_of(r, id)) return WithOneFunction{.a = {{*c}}};
  const Node* n = r.maker(id);
  if (!n || depth == kMaxDepth || r.uses(id) != 1) return std::nullopt;
  return form(r, *n, x, t, depth);
}

std::optional<WithOneFunction> form(Rewriter& r, const Node& n, ValueId x, ValueId t, int depth) {
  const std::string_view op = n.op->name;
  const auto part = [&](size_t i) { return form(r, n.inputs[i], x, t, depth + 1); };
  if (op == "neg") {
    const auto of = part(0);
    return of ? times(*of, {.a = {{-1}}}) : std::nullopt;
  }
  if (op == "pow") {
    const std::optional<double> power = number_of(r, n.inputs[1]);
    if (!power || (*power != 2 && *power != 3)) return std::nullopt;
    const auto of = part(0);
    const auto square = of ? times(*of, *of) : std::nullopt;
    return square && *power == 3 ? times(*square, *of) : square;
  }
  if (op == "div") {
    const std::optional<double> by = number_of(r, n.inputs[1]);
    if (!by || *by == 0) return std::nullopt;
    const auto of = part(0);
    return of ? times(*of, {.a = {{1 / *by}}}) : std::nullopt;
  }
  if (op != "add" && op != "sub" && op != "mul") return std::nullopt;
  const auto u = part(0), v = u ? part(1) : std::nullopt;
  if (!v) return std::nullopt;
  if (op == "mul") return times(*u, *v);
  const double sign = op == "add" ? 1 : -1;
  return WithOneFunction{sum(u->a, v->a, sign), sum(u->b, v->b, sign)};
}

}  // namespace

std::optional<double> number_of(Rewriter& r, ValueId id) {
  if (id == kNoValue) return std::nullopt;
  const Constant& c = r.value(id).constant;
  return c && !c->is_strings && ir::is_float(c->elem) ? uniform(*c) : std::nullopt;
}

const Node* inner(Rewriter& r, ValueId id, std::string_view op) {
  return r.uses(id) == 1 ? r.maker(id, op) : nullptr;
}

std::optional<std::pair<ValueId, double>> beside_number(Rewriter& r, const Node& n) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (const std::optional<double> c = number_of(r, n.inputs[1 - i])) return {{n.inputs[i], *c}};
  return std::nullopt;
}

std::optional<ValueId> beside(const Node& n, ValueId one) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (n.inputs[i] == one) return n.inputs[1 - i];
  return std::nullopt;
}

std::optional<std::vector<int64_t>> kept_axes(Rewriter& r, const Node& reduction) {
  if (attr<int64_t>(reduction, "keepdims") == 0 || !r.tensor(reduction.inputs[0]))
    return std::nullopt;
  std::vector<int64_t> axes = attr<std::vector<int64_t>>(reduction, "axes");
  if (reduction.inputs.size() > 1 && reduction.inputs[1] != kNoValue) {
    const Constant& c = r.value(reduction.inputs[1]).constant;
    if (!c) return std::nullopt;
    axes = ints_of(*c);
  }
  if (axes.empty()) return std::nullopt;
  const int64_t rank = r.tensor(reduction.inputs[0])->rank();
  for (int64_t& a : axes) a = a < 0 ? a + rank : a;
  std::ranges::sort(axes);
  return axes;
}

std::optional<ValueId> inverse_root_of(Rewriter& r, ValueId id) {
  const Node* n = r.maker(id);
  if (!n || r.uses(id) != 1) return std::nullopt;
  if (n->op->name == "pow" && number_of(r, n->inputs[1]) == -0.5) return n->inputs[0];
  const bool inverse =
      n->op->name == "reciprocal" || (n->op->name == "div" && number_of(r, n->inputs[0]) == 1.0);
  if (!inverse) return std::nullopt;
  const Node* root = inner(r, n->inputs.back(), "sqrt");
  return root ? std::optional(root->inputs[0]) : std::nullopt;
}

std::optional<ValueId> square_of(Rewriter& r, ValueId id) {
  const Node* n = r.maker(id);
  if (!n || r.uses(id) != 1) return std::nullopt;
  if (n->op->name == "pow" && number_of(r, n->inputs[1]) == 2.0) return n->inputs[0];
  if (n->op->name == "mul" && n->inputs[0] == n->inputs[1]) return n->inputs[0];
  return std::nullopt;
}

bool about(const Polynomial& p, const Polynomial& wanted, ir::Elem elem) {
  const double tolerance = ir::bits(elem) < 32 ? 4e-3 : 1e-5;
  for (size_t i = 0; i < p.factors.size(); ++i)
    if (std::abs(p.factors[i] - wanted.factors[i]) > tolerance * std::abs(wanted.factors[i]))
      return false;
  return true;
}

std::optional<WithOneFunction> with_one_function(Rewriter& r, const Node& n, ValueId x, ValueId t) {
  return form(r, n, x, t, 0);
}

std::optional<Polynomial> polynomial(Rewriter& r, ValueId id, ValueId x) {
  const auto found = form(r, id, x, kNoValue, 0);
  return found ? std::optional(found->a) : std::nullopt;
}

}  // namespace tilewright::graph
