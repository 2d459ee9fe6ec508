// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

bool is_byte(ir::Elem elem) { return elem == ir::Elem::U8 || elem == ir::Elem::I8; }

/// (q - zero) * scale, with q of bytes.
struct Quantised {
  ValueId q, zero;
  std::vector<double> scale;  // one, or one for each index of the axis
  int64_t axis = 0;
};

std::optional<Quantised> quantised(Rewriter& r, ValueId id) {
  const Node* n = r.maker(id, "dequantize");
  const TensorType* type = n ? r.tensor(n->inputs[0]) : nullptr;
  if (!type || type->strings || !is_byte(type->elem) || r.tensor(id)->elem != ir::Elem::F32 ||
      attr<int64_t>(*n, "block") != 0)
    return std::nullopt;
  const Constant& scale = r.value(n->inputs[1]).constant;
  if (!scale || scale->elem != ir::Elem::F32) return std::nullopt;
  const int64_t axis = attr<int64_t>(*n, "axis");
  return Quantised{.q = n->inputs[0],
                   .zero = n->inputs.size() > 2 ? n->inputs[2] : kNoValue,
                   .scale = numbers_of(*scale),
                   .axis = axis < 0 ? axis + type->rank() : axis};
}

/// Which dimension of the weights, and of the result, lists the output channels; nothing where
/// each result is a product of one channel.
struct Channels {
  int64_t of_weights;
  size_t of_result;
};
std::optional<Channels> channels(Rewriter& r, const Node& n) {
  const Shape &w = r.tensor(n.inputs[1])->shape, &y = r.tensor(n.outputs[0])->shape;
  if (n.op->name == "conv") {
    const int64_t summed = ir::const_int(w[1]).value_or(0), group = attr<int64_t>(n, "group");
    // Instructions add up four products; groups are taken as they are.
    if (summed < 2 || (group > 1 && summed % 4 != 0)) return std::nullopt;
    return Channels{.of_weights = 0, .of_result = 1};
  }
  if (n.op->name != "matmul" || w.size() != 2 || y.empty() || attr<double>(n, "beta") != 1)
    return std::nullopt;
  return Channels{.of_weights = attr<int64_t>(n, "trans_b") ? 0 : 1, .of_result = y.size() - 1};
}

bool rewrite(Rewriter& r, const Node& n) {
  if (n.op->name != "conv" && n.op->name != "matmul") return false;
  const auto x = quantised(r, n.inputs[0]), w = quantised(r, n.inputs[1]);
  if (!x || !w || x->scale.size() != 1 || !r.value(w->q).constant) return false;
  if (x->zero != kNoValue && !ir::is_const(elements(r.tensor(x->zero)->shape), 1)) return false;
  const auto at = channels(r, n);
  if (!at || (w->scale.size() != 1 && w->axis != at->of_weights)) return false;

  AttrList attrs = n.attrs.list();
  double factor = x->scale[0];
  for (NamedAttr& a : attrs)
    if (a.name == "alpha") factor *= std::exchange(std::get<double>(a.value), 1.0);
  // A list of one becomes a scalar.
  const ValueId zero = x->zero == kNoValue ? kNoValue : r.reshape(x->zero, {});
  const ValueId sums = r.call(str(n.op->name, "_integer"), {x->q, w->q, zero, w->zero}, attrs);
  ValueId y = r.call("cast", {sums}, {{"to", static_cast<int64_t>(ir::Elem::F32)}});
  std::vector<double> scales = w->scale;
  for (double& s : scales) s *= factor;
  const size_t rank = r.tensor(n.outputs[0])->shape.size();
  std::vector<int64_t> shape(rank - at->of_result, 1);
  shape[0] = static_cast<int64_t>(scales.size());
  y = r.call("mul", {y, r.constant(float_constant(ir::Elem::F32, shape, scales), "scales")});
  if (n.inputs.size() > 2 && n.inputs[2] != kNoValue) {
    ValueId bias = n.inputs[2];
    if (n.op->name == "conv") {
      Shape spread(rank - 1, Dim(1));
      spread[0] = r.tensor(bias)->shape[0];
      bias = r.reshape(bias, spread);
    }
    y = r.call("add", {y, bias});
  }
  return r.replace(n.outputs[0], y);
}

}  // namespace

/// Lets products of quantised values multiply the integers themselves, and scale the sums.
///   before   %a: f32[1, 8, 4, 4] = dequantize(%q: u8[1, 8, 4, 4], %s: const f32[], %z: const u8[])
///            %b: f32[8, 8, 1, 1] = dequantize(%w: const i8[8, 8, 1, 1], %t: const f32[8])
///            %y: f32[1, 8, 4, 4] = conv(%a, %b, %c)
///   after    %i: i32[1, 8, 4, 4] = conv_integer(%q, %w, %z)
///            %f: f32[1, 8, 4, 4] = cast(%i) {to = f32}
///            %m: f32[1, 8, 4, 4] = mul(%f, const f32[8, 1, 1] s * t)
///            %y: f32[1, 8, 4, 4] = add(%m, %c as [8, 1, 1])
/// Where the weights are constant bytes. Real-equal: the sums are exact, and scaled after and not
/// before. Needs: nothing; before fold_constants, which would
/// turn the weights into floats.
Graph integer_products(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, rewrite);
}

}  // namespace tilewright::graph
