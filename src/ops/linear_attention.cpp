// SPDX-License-Identifier: Apache-2.0
// LinearAttention: a state of each head that every time step changes and reads.
//   S = exp(decay) S;  v = beta (v - S^T k);  S = S + k v^T;  y = scale S^T q
// The update rule says which of decay and correction (beta) there are.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;
using te::Tensor;
using te::Var;

struct LinearAttentionAttrs {
  int64_t q_heads = 1, kv_heads = 1;
  double scale = 0;  // 0: one over the root of the key size
  static constexpr auto fields = std::tuple{field("q_heads", &LinearAttentionAttrs::q_heads),
                                            field("kv_heads", &LinearAttentionAttrs::kv_heads),
                                            field("scale", &LinearAttentionAttrs::scale)};
};

enum Input : size_t { Query, Key, Value, Past, Decay, Beta };

struct Sizes {
  Dim batch, times, key, value;
};
Sizes sizes(const Call& call) {
  const LinearAttentionAttrs& attrs = call.attrs<LinearAttentionAttrs>();
  const Shape& q = call.shape(Query);
  return {q[0], q[1], simplified(q[2] / attrs.q_heads),
          simplified(call.shape(Value)[2] / attrs.kv_heads)};
}

std::vector<Type> infer(const Call& call) {
  const LinearAttentionAttrs& attrs = call.attrs<LinearAttentionAttrs>();
  for (const size_t i : {Query, Key, Value, Decay, Beta})
    if (call.has(i)) {
      need_float(call, i);
      need_rank(call, i, 3);
      call.equal(call.shape(i)[0], call.shape(Query)[0], "the batches of the inputs");
      call.equal(call.shape(i)[1], call.shape(Query)[1], "the times of the inputs");
    }
  const Sizes s = sizes(call);
  call.equal(call.shape(Query)[2], s.key * attrs.q_heads, "the query and its heads");
  call.equal(call.shape(Key)[2], s.key * attrs.kv_heads, "the key and its heads");
  call.equal(call.shape(Value)[2], s.value * attrs.kv_heads, "the value and its heads");
  if (call.has(Decay) && !same(call.shape(Decay)[2], Dim(attrs.kv_heads)))
    call.equal(call.shape(Decay)[2], s.key * attrs.kv_heads, "the decay and the keys");
  if (call.has(Beta) && !ir::is_const(call.shape(Beta)[2], 1))
    call.equal(call.shape(Beta)[2], Dim(attrs.kv_heads), "beta and the heads");
  const Shape state = {s.batch, Dim(attrs.kv_heads), s.key, s.value};
  if (call.has(Past)) {
    need_rank(call, Past, 4);
    for (size_t d = 0; d < 4; ++d) call.equal(call.shape(Past)[d], state[d], "the past state");
  }
  return {tensor_of(call.elem(Query), {s.batch, s.times, simplified(s.value * attrs.q_heads)}),
          tensor_of(call.elem(call.has(Past) ? Past : Query), state)};
}

std::vector<Tensor> define(const Call& call) {
  const LinearAttentionAttrs& attrs = call.attrs<LinearAttentionAttrs>();
  const Sizes s = sizes(call);
  const ir::Elem acc = ir::Elem::F32;
  const Expr heads = attrs.kv_heads, key = s.key, value = s.value;
  const te::Shape shape = {Expr(s.batch), heads, key, value};
  const auto k_at = [&](const Expr& b, const Expr& t, const Expr& h, const Expr& d) {
    return as(acc, call.in(Key)(b, t, h * key + d));
  };
  const Tensor start =
      te::compute("start", shape, [&](const Var& b, const Var& h, const Var& d, const Var& m) {
        return call.has(Past) ? as(acc, call.in(Past)(b, h, d, m)) : te::cast(acc, 0);
      });
  const Tensor states = te::scan("state", s.times, start, [&](const Var& t, const Tensor& before) {
    const Tensor faded =
        !call.has(Decay)
            ? before
            : te::compute("faded", shape,
                          [&](const Var& b, const Var& h, const Var& d, const Var& m) {
                            const bool by_head = same(call.shape(Decay)[2], Dim(attrs.kv_heads));
                            const Expr at = by_head ? Expr(h) : h * key + d;
                            return before(b, h, d, m) * te::exp(as(acc, call.in(Decay)(b, t, at)));
                          });
    const te::Axis k = te::reduce_axis(s.key, "k");
    const te::Shape per_value = {Expr(s.batch), heads, value};
    const Tensor found =
        te::compute("found", per_value, [&](const Var& b, const Var& h, const Var& m) {
          return te::sum(faded(b, h, k, m) * k_at(b, t, h, k), k);
        });
    const Tensor written =
        te::compute("written", per_value, [&](const Var& b, const Var& h, const Var& m) {
          const Expr v = as(acc, call.in(Value)(b, t, h * value + m));
          if (!call.has(Beta)) return v;
          const Expr at = ir::is_const(call.shape(Beta)[2], 1) ? Expr(0) : Expr(h);
          return as(acc, call.in(Beta)(b, t, at)) * (v - found(b, h, m));
        });
    return te::compute("next", shape, [&](const Var& b, const Var& h, const Var& d, const Var& m) {
      return faded(b, h, d, m) + k_at(b, t, h, d) * written(b, h, m);
    });
  });
  const te::Axis d = te::reduce_axis(s.key, "d");
  const int64_t group = attrs.q_heads / attrs.kv_heads;
  const Tensor read =
      te::compute("read", call.out_shape(0), [&](const Var& b, const Var& t, const Var& i) {
        const Expr h = i / value, m = i % value;
        return te::sum(as(acc, call.in(Query)(b, t, h * key + d)) * states(t, b, h / group, d, m),
                       d);
      });
  const Expr scale =
      attrs.scale != 0 ? te::cast(acc, attrs.scale) : 1 / te::sqrt(te::cast(acc, key));
  const Tensor y = te::map(read, [&](const Expr& x) { return as(call.elem(Query), x * scale); });
  const ir::Elem kept = call.elem(call.has(Past) ? Past : Query);
  return {
      y, te::compute("present", shape, [&](const Var& b, const Var& h, const Var& k, const Var& m) {
        return as(kept, te::guard(Expr(s.times) > 0, states(Expr(s.times) - 1, b, h, k, m),
                                  start(b, h, k, m)));
      })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const LinearAttentionAttrs attrs{.q_heads = n.attr_int("q_num_heads"),
                                   .kv_heads = n.attr_int("kv_num_heads"),
                                   .scale = n.attr_float("scale", 0)};
  const std::string rule = n.attr_string("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    n.refuse("ops.linear_attention.rule", str("update_rule is \"", rule, "\""),
             "use linear, gated, delta or gated_delta");
  const bool decays = rule == "gated" || rule == "gated_delta";
  const bool corrects = rule == "delta" || rule == "gated_delta";
  if (decays != n.has(Decay) || corrects != n.has(Beta))
    n.refuse("ops.linear_attention.rule",
             str("the rule \"", rule, "\" ", decays ? "needs" : "takes no", " decay and ",
                 corrects ? "needs" : "takes no", " beta"),
             "give those inputs that the rule needs, and no others");
  if (attrs.kv_heads < 1 || attrs.q_heads < 1 || attrs.q_heads % attrs.kv_heads != 0)
    n.refuse("ops.linear_attention.heads",
             str(attrs.q_heads, " query heads for ", attrs.kv_heads, " key heads"),
             "let the query heads be a multiple of the key heads");
  g.outputs(n, g.calls(linear_attention_op(), attrs,
                       {n.need(0), n.need(1), n.need(2), n.in(3), n.in(4), n.in(5)}, 2));
}

}  // namespace

const OpDef& linear_attention_op() {
  static const OpDef def = define_op<LinearAttentionAttrs>(
      {.name = "linear_attention",
       .fusion = FusionKind::Opaque,
       .infer = infer,
       .algorithms = {{.name = "scan", .define = define}},
       .onnx = {{.op = "LinearAttention", .from = 27, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
