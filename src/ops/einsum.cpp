// SPDX-License-Identifier: Apache-2.0
// Einsum of any equation. More than two operands are contracted one after the other, so that what
// only two of them share is summed early:
//   ab,bc,cd->ad   =   (ab,bc->ac),cd->ad
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

/// Labels of dimensions are numbers: letters as they are, the dimensions of an ellipsis from the
/// last one on as kEllipsis, kEllipsis + 1, …, so that they broadcast as in NumPy.
using Labels = std::vector<int64_t>;
constexpr int64_t kEllipsis = 256;

struct EinsumAttrs {
  std::vector<int64_t> a = {}, b = {}, out = {};  // labels of the operands and of the result
  static constexpr auto fields = std::tuple{
      field("a", &EinsumAttrs::a), field("b", &EinsumAttrs::b), field("out", &EinsumAttrs::out)};
};

bool is_ellipsis(int64_t label) { return label >= kEllipsis; }

/// The extent of every label; an ellipsis' dimension of extent 1 is repeated.
std::map<int64_t, Dim> extents(const Call& call) {
  const EinsumAttrs& attrs = call.attrs<EinsumAttrs>();
  std::map<int64_t, Dim> out;
  for (size_t i = 0; i < call.inputs(); ++i) {
    const Labels& labels = i == 0 ? attrs.a : attrs.b;
    need_rank(call, i, static_cast<int>(labels.size()));
    for (size_t d = 0; d < labels.size(); ++d) {
      const Dim& here = call.shape(i)[d];
      const auto [known, fresh] = out.emplace(labels[d], here);
      if (fresh || ir::is_const(here, 1)) continue;
      if (ir::is_const(known->second, 1))
        known->second = here;
      else
        known->second = call.equal(known->second, here, "dimensions of the same letter");
    }
  }
  return out;
}

std::vector<Type> infer(const Call& call) {
  need_number(call, 0);
  if (call.inputs() > 1) need_same_elem(call, 0, 1);
  const std::map<int64_t, Dim> extent = extents(call);
  Shape shape;
  for (const int64_t label : call.attrs<EinsumAttrs>().out) shape.push_back(extent.at(label));
  return {tensor_of(call.elem(0), shape)};
}

std::vector<te::Tensor> define(const Call& call) {
  const EinsumAttrs& attrs = call.attrs<EinsumAttrs>();
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const std::map<int64_t, Dim> extent = extents(call);
  std::vector<te::Axis> over;
  std::map<int64_t, Expr> index;
  for (const auto& [label, size] : extent)
    if (std::find(attrs.out.begin(), attrs.out.end(), label) == attrs.out.end()) {
      over.push_back(te::reduce_axis(size, str("k", over.size())));
      index.emplace(label, over.back());
    }
  const te::Tensor y = te::compute("einsum", call.out_shape(), [&](const std::vector<te::Var>& at) {
    std::map<int64_t, Expr> place = index;
    for (size_t d = 0; d < attrs.out.size(); ++d) place.emplace(attrs.out[d], at[d]);
    const auto read = [&](size_t i, const Labels& labels) {
      At from;
      for (size_t d = 0; d < labels.size(); ++d)
        from.push_back(ir::is_const(call.shape(i)[d], 1) ? Expr(0) : place.at(labels[d]));
      return as(acc, call.in(i).at(from));
    };
    Expr value = read(0, attrs.a);
    if (call.inputs() > 1) value = value * read(1, attrs.b);
    return over.empty() ? value : te::sum(value, te::Axes(over));
  });
  return {as(elem, y)};
}

/// The labels of one term of the equation, for an operand of this rank (-1: as many dimensions of
/// an ellipsis as the widest one has).
Labels read_term(const OnnxNode& n, const std::string& term, int64_t ellipsis) {
  Labels out;
  for (size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      out.push_back(term[i]);
    } else if (term.compare(i, 3, "...") == 0) {
      for (int64_t k = ellipsis; k-- > 0;) out.push_back(kEllipsis + k);
      i += 2;
    } else {
      n.refuse("ops.einsum.equation", str("the equation has '", term[i], "'"),
               "use letters, commas, \"...\" and \"->\"");
    }
  }
  return out;
}

struct Equation {
  std::vector<Labels> terms;
  Labels out;
};

Equation read_equation(const OnnxNode& n, const Builder& g) {
  std::string text = n.attr_string("equation", "");
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> terms = {""};
  for (const char c : left) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != n.inputs.size())
    n.refuse("ops.einsum.equation",
             str("the equation has ", terms.size(), " terms for ", n.inputs.size(), " inputs"),
             "give one term for each input");
  Equation out;
  int64_t widest = 0;
  std::map<int64_t, int> count;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int rank = g.tensor(n.need(i)).rank();
    const int64_t letters = std::count_if(terms[i].begin(), terms[i].end(),
                                          [](unsigned char c) { return std::isalpha(c); });
    const bool dots = terms[i].find("...") != std::string::npos;
    const int64_t ellipsis = dots ? rank - letters : 0;
    if (ellipsis < 0 || letters + ellipsis != rank)
      n.refuse("ops.einsum.equation",
               str("the term \"", terms[i], "\" is for an input of rank ", rank),
               "give one letter for each dimension, or \"...\"");
    widest = std::max(widest, ellipsis);
    out.terms.push_back(read_term(n, terms[i], ellipsis));
    for (const int64_t label : out.terms.back()) ++count[label];
  }
  if (arrow != std::string::npos) {
    out.out = read_term(n, text.substr(arrow + 2), widest);
  } else {
    // All of the ellipsis, then the letters that occur once, in alphabetical order.
    for (int64_t k = widest; k-- > 0;) out.out.push_back(kEllipsis + k);
    for (const auto& [label, times] : count)
      if (times == 1 && !is_ellipsis(label)) out.out.push_back(label);
  }
  for (const int64_t label : out.out)
    if (!count.contains(label) || std::count(out.out.begin(), out.out.end(), label) > 1)
      n.refuse("ops.einsum.equation", "the result has a letter twice, or one that no input has",
               "give each letter of the result once, and to at least one input");
  return out;
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const Equation eq = read_equation(n, g);
  if (eq.terms.size() == 1) {
    g.output(n, g.call(einsum_op(), EinsumAttrs{.a = eq.terms[0], .out = eq.out}, {n.in(0)}));
    return;
  }
  ValueId value = n.in(0);
  Labels labels = eq.terms[0];
  for (size_t i = 1; i < eq.terms.size(); ++i) {
    Labels result = eq.out;
    if (i + 1 < eq.terms.size()) {  // keep what is still needed
      std::set<int64_t> later(eq.out.begin(), eq.out.end());
      for (size_t j = i + 1; j < eq.terms.size(); ++j)
        later.insert(eq.terms[j].begin(), eq.terms[j].end());
      result.clear();
      for (const Labels& from : {labels, eq.terms[i]})
        for (const int64_t label : from)
          if (later.contains(label) &&
              std::find(result.begin(), result.end(), label) == result.end())
            result.push_back(label);
    }
    value = g.call(einsum_op(), EinsumAttrs{.a = labels, .b = eq.terms[i], .out = result},
                   {value, n.in(i)});
    labels = result;
  }
  g.output(n, value);
}

}  // namespace

const OpDef& einsum_op() {
  static const OpDef def =
      define_op<EinsumAttrs>({.name = "einsum",
                              .fusion = FusionKind::OutFusable,
                              .infer = infer,
                              .algorithms = {{.name = "direct", .define = define}},
                              .onnx = {{.op = "Einsum", .from = 12, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
