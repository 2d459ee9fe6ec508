// SPDX-License-Identifier: Apache-2.0
// Attention in four steps, each a kernel of its own until a pass joins them:
//   present   keys or values of the past and the new ones, by heads
//   scores    Q K^T * scale
//   probs     softmax of the masked scores
//   mix       probs V
// Heads are the second of four dimensions, or part of the last of three. Query head h uses the key
// and value head h / (query heads / key heads).
#include "ops/attention.h"

#include <cmath>
#include <limits>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A tensor of heads, in three or four dimensions.
struct Heads {
  Dim batch, heads, times, size;
  bool packed;  // [batch, times, heads * size]

  At at(const Expr& b, const Expr& h, const Expr& t, const Expr& i) const {
    if (!packed) return {b, h, t, i};
    return {b, t, h * Expr(size) + i};
  }
  Shape shape() const {
    if (!packed) return {batch, heads, times, size};
    return {batch, times, simplified(heads * size)};
  }
};

Heads heads_of(const Call& call, size_t i, int64_t heads) {
  const Shape& s = call.shape(i);
  if (s.size() == 4) return {s[0], s[1], s[2], s[3], false};
  need_rank(call, i, 3);
  if (heads < 1)
    call.refuse("ops.attention.heads", str("input ", i, " is ", print(call.type(i))),
                "give q_num_heads and kv_num_heads, or four dimensions");
  call.check(ir::eq(s[2] % heads, Dim(0)), "the heads divide the last dimension");
  return {s[0], Dim(heads), s[1], simplified(s[2] / heads), true};
}

std::vector<Type> infer_present(const Call& call) {
  const Heads x = heads_of(call, 0, call.attrs<AttentionAttrs>().kv_heads);
  need_float(call, 0);
  Dim times = x.times;
  if (call.has(1)) {
    need_rank(call, 1, 4);
    need_same_elem(call, 0, 1);
    const Shape& past = call.shape(1);
    call.equal(past[0], x.batch, "the batches of the past and of the new");
    call.equal(past[1], x.heads, "the heads of the past and of the new");
    call.equal(past[3], x.size, "the head sizes of the past and of the new");
    times = simplified(past[2] + times);
  }
  return {tensor_of(call.elem(0), {x.batch, x.heads, times, x.size})};
}

std::vector<te::Tensor> define_present(const Call& call) {
  const Heads x = heads_of(call, 0, call.attrs<AttentionAttrs>().kv_heads);
  return {te::compute("present", call.out_shape(),
                      [&](const te::Var& b, const te::Var& h, const te::Var& t, const te::Var& i) {
                        if (!call.has(1)) return call.in(0).at(x.at(b, h, t, i));
                        const Expr past = call.shape(1)[2];
                        return te::guard(t < past, call.in(1)(b, h, t, i),
                                         call.in(0).at(x.at(b, h, t - past, i)));
                      })};
}

/// How many query heads share a head of keys.
Dim sharing(const Call& call, const Dim& query_heads, const Dim& key_heads) {
  call.check(ir::eq(query_heads % key_heads, Dim(0)), "key heads divide the query heads");
  return simplified(query_heads / key_heads);
}

Expr shared(const Expr& h, const Dim& by) { return ir::is_const(by, 1) ? h : h / Expr(by); }

std::vector<Type> infer_scores(const Call& call) {
  need_float(call, 0);
  need_same_elem(call, 0, 1);
  const Heads q = heads_of(call, 0, call.attrs<AttentionAttrs>().q_heads);
  need_rank(call, 1, 4);
  const Shape& k = call.shape(1);
  call.equal(q.batch, k[0], "the batches of queries and keys");
  call.equal(q.size, k[3], "the head sizes of queries and keys");
  sharing(call, q.heads, k[1]);
  return {tensor_of(wide(call.elem(0)), {q.batch, q.heads, q.times, k[2]})};
}

std::vector<te::Tensor> define_scores(const Call& call) {
  const AttentionAttrs& attrs = call.attrs<AttentionAttrs>();
  const ir::Elem acc = wide(call.elem(0));
  const Heads q = heads_of(call, 0, attrs.q_heads);
  const Dim by = simplified(q.heads / call.shape(1)[1]);
  const te::Axis d = te::reduce_axis(q.size, "d");
  const te::Tensor sum =
      te::compute("scores", call.out_shape(),
                  [&](const te::Var& b, const te::Var& h, const te::Var& s, const te::Var& t) {
                    return te::sum(as(acc, call.in(0).at(q.at(b, h, s, d))) *
                                       as(acc, call.in(1)(b, shared(h, by), t, d)),
                                   d);
                  });
  const Expr scale =
      attrs.scale != 0 ? te::cast(acc, attrs.scale) : 1 / te::sqrt(te::cast(acc, Expr(q.size)));
  return {te::map(sum, [&](const Expr& x) { return x * scale; })};
}

enum ProbsInput : size_t { Scores, Mask, Lengths, PastKey };

std::vector<Type> infer_probs(const Call& call) {
  const AttentionAttrs& attrs = call.attrs<AttentionAttrs>();
  const Shape& s = call.shape(Scores);
  if (call.has(Mask)) {
    if (call.rank(Mask) > 4) need_rank(call, Mask, 4);
    need_min_rank(call, Mask, 1);
    // The last dimension may be shorter than the keys: what is missing is masked.
    Shape mask = call.shape(Mask);
    call.check(mask.back() <= s[3], "the mask is not longer than the keys");
    mask.back() = s[3];
    broadcast(call, mask, s);
  }
  if (call.has(Lengths)) {
    need_rank(call, Lengths, 1);
    need_int(call, Lengths);
    call.equal(call.shape(Lengths)[0], s[0], "nonpad_kv_seqlen and the batch");
  }
  return {tensor_of(attrs.elem, s), tensor_of(attrs.elem, s)};
}

/// What is added to the scores: 0, -inf where masked, or the value of a mask of numbers.
te::Tensor bias(const Call& call, ir::Elem acc) {
  const AttentionAttrs& attrs = call.attrs<AttentionAttrs>();
  const Expr zero = te::cast(acc, 0), never = te::cast(acc, -kInf);
  const Shape& shape = call.shape(Scores);
  return te::compute("bias", te_shape(shape),
                     [&](const te::Var& b, const te::Var& h, const te::Var& s, const te::Var& t) {
                       Expr sum = zero, allowed = true;
                       if (call.has(Mask)) {
                         const Dim known = call.shape(Mask).back();
                         At at = {b, h, s, t};
                         at.erase(at.begin(), at.begin() + (4 - call.rank(Mask)));
                         for (size_t d = 0; d + 1 < at.size(); ++d)
                           if (ir::is_const(call.shape(Mask)[d], 1)) at[d] = 0;
                         Expr value = call.in(Mask).at(at);
                         value = call.elem(Mask) == ir::Elem::Bool ? te::select(value, zero, never)
                                                                   : as(acc, value);
                         sum = same(known, shape[3]) ? value
                                                     : te::guard(t < Expr(known), value, never);
                       }
                       // Queries stand at the end of the keys that are there.
                       Expr offset = 0;
                       if (call.has(PastKey))
                         offset = call.shape(PastKey)[2];
                       else if (call.has(Lengths))
                         offset = te::cast(ir::Elem::I64, call.in(Lengths)(b)) - Expr(shape[2]);
                       const Expr ahead = t - (s + offset);
                       if (attrs.causal) allowed = allowed && ahead <= 0;
                       if (attrs.left >= 0) allowed = allowed && -attrs.left <= ahead;
                       if (attrs.right >= 0) allowed = allowed && ahead <= attrs.right;
                       if (call.has(Lengths))
                         allowed = allowed && t < te::cast(ir::Elem::I64, call.in(Lengths)(b));
                       return te::select(allowed, sum, never);
                     });
}

/// Rows in which everything is masked give 0.
std::vector<te::Tensor> define_probs(const Call& call) {
  const AttentionAttrs& attrs = call.attrs<AttentionAttrs>();
  const ir::Elem acc = attrs.precision == ir::Elem::F64 ? attrs.precision : call.elem(Scores);
  const te::Tensor raw = as(acc, call.in(Scores));
  const te::Tensor capped =
      attrs.softcap > 0
          ? te::map(raw, [&](const Expr& x) { return te::tanh(x / attrs.softcap) * attrs.softcap; })
          : raw;
  const bool masks =
      attrs.causal || attrs.left >= 0 || attrs.right >= 0 || call.has(Mask) || call.has(Lengths);
  const te::Tensor added = masks ? bias(call, acc) : raw;
  const te::Tensor logits = masks ? capped + added : capped;
  const te::Tensor shift = te::map(te::max_over(logits, 3), [&](const Expr& m) {
    return te::select(m == te::cast(acc, -kInf), te::cast(acc, 0), m);
  });
  const te::Tensor e = te::exp(logits - shift);
  const te::Tensor share = te::map(te::sum_over(e, 3), [&](const Expr& s) {
    return te::cast(acc, 1) / te::select(s == 0, te::cast(acc, 1), s);
  });
  te::Tensor probs = e * share;
  if (masks)
    probs = te::map(probs, te::max_over(added, 3), [&](const Expr& p, const Expr& most) {
      return te::select(most == te::cast(acc, -kInf), te::cast(acc, 0), p);
    });
  const te::Tensor shown = attrs.shown == 0   ? raw
                           : attrs.shown == 1 ? capped
                           : attrs.shown == 2 ? logits
                                              : probs;
  return {as(attrs.elem, probs), as(attrs.elem, shown)};
}

std::vector<Type> infer_mix(const Call& call) {
  need_rank(call, 0, 4);
  need_rank(call, 1, 4);
  const Shape &p = call.shape(0), &v = call.shape(1);
  call.equal(p[0], v[0], "the batches of probabilities and values");
  call.equal(p[3], v[2], "the keys and the values");
  sharing(call, p[1], v[1]);
  const Heads y{p[0], p[1], p[2], v[3], call.attrs<AttentionAttrs>().packed};
  return {tensor_of(call.attrs<AttentionAttrs>().elem, y.shape())};
}

std::vector<te::Tensor> define_mix(const Call& call) {
  const AttentionAttrs& attrs = call.attrs<AttentionAttrs>();
  const Shape &p = call.shape(0), &v = call.shape(1);
  const ir::Elem acc = wide(call.elem(0)) == ir::Elem::F64 || call.elem(1) == ir::Elem::F64
                           ? ir::Elem::F64
                           : ir::Elem::F32;
  const Dim by = simplified(p[1] / v[1]);
  const te::Axis t = te::reduce_axis(p[3], "t");
  const te::Tensor sum = te::compute("mix", call.out_shape(), [&](const std::vector<te::Var>& at) {
    const Expr b = at[0];
    const Expr h = attrs.packed ? at[2] / Expr(v[3]) : Expr(at[1]);
    const Expr s = attrs.packed ? at[1] : at[2];
    const Expr i = attrs.packed ? at[2] % Expr(v[3]) : Expr(at[3]);
    return te::sum(as(acc, call.in(0)(b, h, s, t)) * as(acc, call.in(1)(b, shared(h, by), t, i)),
                   t);
  });
  return {as(attrs.elem, sum)};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  AttentionAttrs attrs{.q_heads = n.attr_int("q_num_heads", 0),
                       .kv_heads = n.attr_int("kv_num_heads", 0),
                       .scale = n.attr_float("scale", 0),
                       .softcap = n.attr_float("softcap", 0),
                       .causal = n.attr_int("is_causal", 0) != 0,
                       .left = n.attr_int("left_window_size", -1),
                       .right = n.attr_int("right_window_size", -1),
                       .shown = n.attr_int("qk_matmul_output_mode", 0),
                       .precision = n.attr_elem("softmax_precision").value_or(ir::Elem::F32),
                       .elem = g.tensor(n.need(0)).elem,
                       .packed = g.tensor(n.need(0)).rank() == 3};
  if (n.has(4) != n.has(5))
    n.refuse("ops.attention.past", "one of past_key and past_value is missing",
             "give both or none");
  const ValueId key = g.call(op("attention_present"), attrs, {n.need(1), n.in(4)});
  const ValueId value = g.call(op("attention_present"), attrs, {n.need(2), n.in(5)});
  const ValueId scores = g.call(op("attention_scores"), attrs, {n.need(0), key});
  const std::vector<ValueId> probs = g.calls(
      op("attention_probs"), attrs, {scores, n.in(3), n.in(6), n.in(4)}, n.wants(3) ? 2 : 1);
  const ValueId y = g.call(op("attention_mix"), attrs, {probs[0], value});
  std::vector<ValueId> results = {y, key, value};
  if (n.wants(3)) results.push_back(probs[1]);
  g.outputs(n, results);
}

OpDef step(std::string_view name, FusionKind fusion, std::vector<Type> (*infer)(const Call&),
           std::vector<te::Tensor> (*define)(const Call&), std::vector<OnnxRule> onnx = {}) {
  return define_op<AttentionAttrs>({.name = name,
                                    .fusion = fusion,
                                    .infer = infer,
                                    .algorithms = {{.name = "direct", .define = define}},
                                    .onnx = std::move(onnx)});
}

}  // namespace

std::span<const OpDef> attention_ops() {
  static const std::vector<OpDef> ops = {
      step(
          "attention_mix", FusionKind::OutFusable, infer_mix, define_mix,
          {{.op = "Attention", .from = 23, .rule = from_onnx},
           {.op = "FlexAttention", .rule = flex_attention_from_onnx, .domain = "ai.onnx.preview"}}),
      step("attention_present", FusionKind::Injective, infer_present, define_present),
      step("attention_probs", FusionKind::Reduction, infer_probs, define_probs),
      step("attention_scores", FusionKind::OutFusable, infer_scores, define_scores)};
  return ops;
}

}  // namespace tilewright::ops
