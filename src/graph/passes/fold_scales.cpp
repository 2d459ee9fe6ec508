// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

/// A multiplication, then an addition, of each channel.
struct Affine {
  std::vector<double> factor = {1}, shift = {0};  // one for all, or one per channel
};

/// The numbers of a constant that differ by the channel only; nothing for other ones.
std::optional<std::vector<double>> per_channel(const Constant& c, const Shape& shape, size_t axis) {
  if (!c || c->is_strings || c->shape.size() > shape.size()) return std::nullopt;
  const size_t missing = shape.size() - c->shape.size();
  for (size_t d = 0; d < c->shape.size(); ++d)
    if (c->shape[d] != 1 && missing + d != axis) return std::nullopt;
  return numbers_of(*c);
}

/// The convolution or product whose results are scaled.
struct Linear {
  size_t axis;         // channels, in its result
  size_t weight_axis;  // likewise, in the weights
  int64_t groups = 1;  // of channels, when the weights list those of one group only
};

std::optional<Linear> linear(Rewriter& r, const Node& n) {
  const bool known =
      n.op->name == "conv" || n.op->name == "conv_transpose" || n.op->name == "matmul";
  if (!known) return std::nullopt;
  const Constant& weights = r.value(n.inputs.at(1)).constant;
  if (!weights || (weights->elem != ir::Elem::F32 && weights->elem != ir::Elem::F64))
    return std::nullopt;
  if (n.op->name == "conv") return Linear{.axis = 1, .weight_axis = 0};
  if (n.op->name == "conv_transpose")
    return Linear{.axis = 1, .weight_axis = 1, .groups = attr<int64_t>(n, "group")};
  if (weights->shape.size() < 2) return std::nullopt;
  const size_t last = weights->shape.size() - 1;
  return Linear{.axis = static_cast<size_t>(r.tensor(n.outputs[0])->rank()) - 1,
                .weight_axis = attr<int64_t>(n, "trans_b") ? last - 1 : last};
}

/// Each element times the factor of its channel.
template <class T>
Constant scaled(const ConstantNode& c, const Linear& l, const std::vector<double>& factor) {
  std::vector<std::byte> bytes(c.bytes.size());
  int64_t inner = 1;
  for (size_t d = l.weight_axis + 1; d < c.shape.size(); ++d) inner *= c.shape[d];
  const int64_t channels = c.shape[l.weight_axis], count = c.count();
  const int64_t per_group = l.groups > 1 ? count / l.groups : count;
  for (int64_t i = 0; i < count; ++i) {
    T v;
    std::memcpy(&v, c.bytes.data() + static_cast<size_t>(i) * sizeof v, sizeof v);
    const int64_t channel = i / inner % channels + i / per_group * channels;
    v = static_cast<T>(v * factor[factor.size() == 1 ? 0 : static_cast<size_t>(channel)]);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof v, &v, sizeof v);
  }
  return make_constant(c.elem, c.shape, std::move(bytes));
}

bool all_finite(const std::vector<double>& values) {
  for (const double v : values)
    if (!std::isfinite(v)) return false;
  return true;
}

/// Rounding weights again errs alike at every place of the result, so that nothing averages it out.
/// A factor for each channel is batch normalisation and worth it; one for all channels is a
/// constant that the loop after the sum multiplies by for free, so it has to be exact: a power of
/// two.
bool worth_folding(const std::vector<double>& factor, const ir::Expr& channels) {
  int exponent;
  return factor.size() != 1 || ir::const_int(channels) == 1 ||
         std::abs(std::frexp(factor[0], &exponent)) == 0.5;
}

/// `n` as y * factor + shift, y being input `of`; nothing when it is something else.
std::optional<Affine> affine(Rewriter& r, const Node& n, size_t of, size_t axis) {
  const std::string_view op = n.op->name;
  std::optional<std::vector<double>> values =
      per_channel(r.value(n.inputs[1 - of]).constant, r.tensor(n.outputs[0])->shape, axis);
  if (!values || !all_finite(*values)) return std::nullopt;
  if (op == "mul") return Affine{.factor = *values};
  if (op == "add") return Affine{.shift = *values};
  if (of == 1) return std::nullopt;
  for (double& v : *values) v = op == "div" ? 1 / v : -v;
  if (!all_finite(*values)) return std::nullopt;
  return op == "div" ? Affine{.factor = *values} : Affine{.shift = *values};
}

/// Before: linear(x, w, b); after: its result times the factors, plus the shifts.
bool apply(Rewriter& r, const Node& n, const Node& inner, const Linear& l, const Affine& a) {
  const bool product = inner.op->name == "matmul";
  const ir::Elem elem = r.tensor(n.outputs[0])->elem;
  const std::optional<int64_t> channels = ir::const_int(r.tensor(n.outputs[0])->shape[l.axis]);
  if (!channels) return false;
  std::vector<double> bias(static_cast<size_t>(*channels), 0);
  const bool has_bias = inner.inputs.size() > 2 && inner.inputs[2] != kNoValue;
  if (has_bias) {
    const Constant& c = r.value(inner.inputs[2]).constant;
    const Shape& shape = product ? r.tensor(n.outputs[0])->shape : r.tensor(inner.inputs[2])->shape;
    const std::optional<std::vector<double>> known = per_channel(c, shape, product ? l.axis : 0);
    if (!known) return false;
    const double beta = product ? attr<double>(inner, "beta") : 1;
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = beta * (*known)[known->size() == 1 ? 0 : i];
  }
  bool shifted = has_bias;
  for (size_t i = 0; i < bias.size(); ++i) {
    bias[i] =
        bias[i] * a.factor[a.factor.size() == 1 ? 0 : i] + a.shift[a.shift.size() == 1 ? 0 : i];
    shifted = shifted || bias[i] != 0;
  }
  std::vector<ValueId> inputs = {inner.inputs[0], inner.inputs[1]};
  const ConstantNode& weights = *r.value(inner.inputs[1]).constant;
  if (a.factor != std::vector<double>{1})
    inputs[1] = r.constant(elem == ir::Elem::F32 ? scaled<float>(weights, l, a.factor)
                                                 : scaled<double>(weights, l, a.factor),
                           r.value(inner.inputs[1]).name);
  if (shifted) inputs.push_back(r.constant(float_constant(elem, {*channels}, bias), "bias"));
  AttrList attrs = inner.attrs.list();
  for (NamedAttr& at : attrs)
    if (at.name == "beta") at.value = 1.0;
  return r.replace(n.outputs[0], r.call(inner.op->name, inputs, attrs));
}

bool fold(Rewriter& r, const Node& n) {
  const std::string_view op = n.op->name;
  if (op != "mul" && op != "add" && op != "div" && op != "sub") return false;
  for (const size_t of : {size_t{0}, size_t{1}}) {
    const Node* inner = r.maker(n.inputs[of]);
    if (!inner || inner->inputs.size() < 2 || r.uses(n.inputs[of]) != 1 ||
        !same(r.value(n.inputs[of]).type, r.value(n.outputs[0]).type))
      continue;
    const std::optional<Linear> l = linear(r, *inner);
    if (!l) continue;
    const std::optional<Affine> a = affine(r, n, of, l->axis);
    if (a && worth_folding(a->factor, r.tensor(n.outputs[0])->shape[l->axis]))
      return apply(r, n, *inner, *l, *a);
  }
  return false;
}

}  // namespace

/// Puts multiplications and additions of constants that differ by the channel only into the
/// weights and the bias of the convolution or product before them.
///   before   %c: f32[1, 8, 4, 4] = conv(%x, %w)
///            %a: f32[1, 8, 4, 4] = mul(%c, %factor: const f32[8, 1, 1])
///            %y: f32[1, 8, 4, 4] = add(%a, %shift: const f32[8, 1, 1])
///   after    %y: f32[1, 8, 4, 4] = conv(%x, %w', %bias)
/// Only where nobody else reads the result. Real-equal: every weight is rounded once more, unless
/// the factor is a power of two; one factor for all channels that is not stays where it is.
Graph fold_scales(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, fold);
}

}  // namespace tilewright::graph
