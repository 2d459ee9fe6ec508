// SPDX-License-Identifier: Apache-2.0
// Attention, MultiHeadAttention, GroupQueryAttention and RotaryEmbedding of com.microsoft, by way
// of ONNX's own Attention on tensors [batch, heads, tokens, size].
#include <array>

#include "ops/as_onnx.h"
#include "ops/contrib.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

struct CacheAttrs {
  int64_t window = -1;  // tokens that a query sees; -1: all before it
  Elem elem = Elem::F32;
  static constexpr auto fields =
      std::tuple{field("window", &CacheAttrs::window), field("elem", &CacheAttrs::elem)};
};

// (x [b, n, s, d], lengths - 1 [b], total length): the position of each token, i64[b, s].
std::vector<Type> infer_positions(const Call& call) {
  return {tensor_of(Elem::I64, {call.shape(0)[0], call.shape(0)[2]})};
}

std::vector<te::Tensor> positions(const Call& call) {
  const te::Expr tokens(call.shape(0)[2]), total(call.element(2, 0));
  return {te::compute("position", call.out_shape(), [&](const te::Var& b, const te::Var& s) {
    const te::Expr length = te::cast(Elem::I64, call.in(1)(b)) + 1;
    // The tokens of a first prompt start at 0, also where a row is shorter than others.
    const te::Expr first = te::select(tokens == total, te::Expr(ir::Expr(0)), length - tokens);
    return first + s;
  })};
}

// (new [b, n, s, d], positions [b, s], total length, past [b, n, p, d]): past with the new tokens
// at their positions.
std::vector<Type> infer_cache(const Call& call) {
  Shape shape = call.shape(0);
  const Dim total = call.extent(ir::max(call.element(2, 0), 0));
  shape[2] = call.has(3) ? call.extent(ir::max(total, call.shape(3)[2])) : total;
  return {tensor_of(call.elem(0), shape)};
}

std::vector<te::Tensor> cache(const Call& call) {
  const te::Expr tokens(call.shape(0)[2]);
  return {te::compute("cache", call.out_shape(),
                      [&](const te::Var& b, const te::Var& n, const te::Var& t, const te::Var& d) {
                        const te::Expr zero = te::cast(call.elem(0), 0.0);
                        const te::Expr at = t - call.in(1)(b, 0);
                        const te::Expr old = call.has(3) ? te::guard(t < te::Expr(call.shape(3)[2]),
                                                                     call.in(3)(b, n, t, d), zero)
                                                         : zero;
                        return te::guard(0 <= at && at < tokens, call.in(0)(b, n, at, d), old);
                      })};
}

// (positions [b, s], lengths - 1 [b], keys [b, n, m, d]): what is added to the scores, [b, 1, s,
// m].
std::vector<Type> infer_mask(const Call& call) {
  return {tensor_of(call.attrs<CacheAttrs>().elem,
                    {call.shape(0)[0], 1, call.shape(0)[1], call.shape(2)[2]})};
}

std::vector<te::Tensor> mask(const Call& call) {
  const CacheAttrs& attrs = call.attrs<CacheAttrs>();
  const double least = attrs.elem == Elem::F16 ? -65504 : -1e30;
  return {te::compute("mask", call.out_shape(),
                      [&](const te::Var& b, const te::Var&, const te::Var& s, const te::Var& t) {
                        const te::Expr at = call.in(0)(b, s);
                        te::Expr seen = t <= at && t <= te::cast(Elem::I64, call.in(1)(b));
                        if (attrs.window >= 0) seen = seen && at - attrs.window < t;
                        return te::select(seen, te::cast(attrs.elem, 0.0),
                                          te::cast(attrs.elem, least));
                      })};
}

/// [b, s, heads * d] -> [b, heads, s, d]
ValueId to_heads(const Make& m, ValueId x, int64_t heads) {
  return m.transpose(m.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}
ValueId from_heads(const Make& m, ValueId x) {
  return m.reshape(m.transpose(x, {0, 2, 1, 3}), {0, 0, -1});
}
ValueId unsqueeze(const Make& m, ValueId x, const std::vector<int64_t>& axes) {
  return m.g.call(op("unsqueeze"), {}, {x, m.g.ints(axes)});
}

/// What a mask of kept tokens adds to the scores: 0, or a value that leaves nothing of them. The
/// mask is [b, t], [b, s, t], [b, 1, s, t] or the lengths [b].
ValueId added_mask(const Make& m, ValueId mask, ValueId keys, Elem elem) {
  const int rank = m.g.tensor(mask).rank();
  if (rank == 1) {
    const ValueId lengths = unsqueeze(m, m.cast(mask, Elem::I64), {1});
    mask = m.call("less", {m.positions(keys, 2), lengths});
  }
  const ValueId kept = m.cast(mask, Elem::Bool);
  const ValueId added = m.call(
      "where",
      {kept, m.g.scalar(elem, 0), m.g.scalar(elem, m.n.attr_float("mask_filter_value", -10000))});
  return rank <= 2 ? unsqueeze(m, added, {1, 2}) : rank == 3 ? unsqueeze(m, added, {1}) : added;
}

struct Inputs {
  ValueId q, k, v;  // [b, heads, tokens, size]
  ValueId mask = kNoValue, past_k = kNoValue, past_v = kNoValue;
};

/// Y [b, s, heads * d], and the keys and values with the past ones.
std::vector<ValueId> attend(const Make& m, const Inputs& in, bool causal) {
  OnnxNode other = m.n;
  other.attributes = {{"is_causal", int64_t{causal}}};
  if (m.n.attr_float("scale", 0) != 0)
    other.attributes.emplace_back("scale", m.n.attr_float("scale", 0));
  if (m.n.attr_float("softcap", 0) != 0)
    other.attributes.emplace_back("softcap", m.n.attr_float("softcap", 0));
  const bool past = in.past_k != kNoValue;
  std::vector<ValueId> out = as_onnx(
      other, m.g, "Attention", {in.q, in.k, in.v, in.mask, in.past_k, in.past_v}, past ? 3 : 1);
  out.resize(3, kNoValue);
  if (!past) out[1] = in.k, out[2] = in.v;
  out[0] = from_heads(m, out[0]);
  return out;
}

/// (x, weights, bias, mask, past [2, b, n, p, d], added to the scores)
void attention(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const int64_t heads = n.attr_int("num_heads");
  const ValueId qkv = m.add_if(g.call(matmul_op(), MatMulAttrs{}, {n.need(0), n.need(1)}), n.in(2));
  const Dim third = simplified(m.dim(qkv, 2) / Dim(3));
  const bool given = n.has_attr("qkv_hidden_sizes");
  const std::vector<ValueId> parts =
      m.split(qkv, given ? dims(n.attr_ints("qkv_hidden_sizes")) : Shape{third, third, third}, 2);
  if (n.attr_int("do_rotary", 0) || n.has(6))
    n.refuse("ops.attention.form", "do_rotary or a shared past is set",
             "export the model with separate rotary embeddings and past");
  Inputs in{.q = to_heads(m, parts[0], heads),
            .k = to_heads(m, parts[1], heads),
            .v = to_heads(m, parts[2], heads)};
  if (n.has(4)) {
    in.past_k = m.gather(n.in(4), g.scalar(Elem::I64, 0), 0);
    in.past_v = m.gather(n.in(4), g.scalar(Elem::I64, 1), 0);
  }
  const ValueId all_keys = n.has(4) ? m.concat({in.past_k, in.k}, 2) : in.k;
  if (n.has(3)) in.mask = added_mask(m, n.in(3), all_keys, g.tensor(in.q).elem);
  if (n.has(5)) in.mask = m.add_if(n.in(5), in.mask);
  const std::vector<ValueId> y = attend(m, in, n.attr_int("unidirectional", 0) != 0);
  if (!n.wants(1)) return g.output(n, y[0]);
  g.outputs(n, {y[0], m.concat({unsqueeze(m, y[1], {0}), unsqueeze(m, y[2], {0})}, 0)});
}

/// (q, k, v, bias, mask of keys, added to the scores, past k, past v)
void multi_head(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const int64_t heads = n.attr_int("num_heads");
  std::array<ValueId, 3> parts = {n.need(0), n.in(1), n.in(2)};
  // [b, s, heads, 3, d] holds all three, [b, t, heads, 2, d] keys and values.
  const size_t packed = g.tensor(parts[0]).rank() == 5              ? 0
                        : n.has(1) && g.tensor(n.in(1)).rank() == 5 ? 1
                                                                    : 3;
  if (packed < 3) {
    const ValueId from = parts[packed];
    for (size_t i = packed; i < 3; ++i) {
      const auto at = static_cast<double>(i - packed);
      parts[i] = m.reshape(m.gather(from, g.scalar(Elem::I64, at), 3), {0, 0, -1});
    }
  }
  std::array<ValueId, 3> bias = {kNoValue, kNoValue, kNoValue};
  if (n.has(3)) {
    const Dim q = m.dim(parts[0], 2);
    const Dim rest = simplified(m.dim(n.in(3), 0) - Dim(2) * q);
    const std::vector<ValueId> split = m.split(n.in(3), {q, q, rest}, 0);
    std::copy(split.begin(), split.end(), bias.begin());
  }
  std::array<ValueId, 3> with_heads{};
  for (size_t i = 0; i < 3; ++i) {
    if (parts[i] == kNoValue)
      n.refuse("ops.multi_head_attention.inputs", "key or value are missing",
               "give query, key and value, or a packed form of them");
    with_heads[i] =
        g.tensor(parts[i]).rank() == 4 ? parts[i] : to_heads(m, m.add_if(parts[i], bias[i]), heads);
  }
  Inputs in{.q = with_heads[0],
            .k = with_heads[1],
            .v = with_heads[2],
            .past_k = n.in(6),
            .past_v = n.in(7)};
  const ValueId all_keys = n.has(6) ? m.concat({n.in(6), in.k}, 2) : in.k;
  if (n.has(4)) in.mask = added_mask(m, n.in(4), all_keys, g.tensor(in.q).elem);
  if (n.has(5)) in.mask = m.add_if(n.in(5), in.mask);
  g.outputs(n, attend(m, in, n.attr_int("unidirectional", 0) != 0));
}

ValueId rotated(const Make& m, ValueId x, ValueId cos, ValueId sin, ValueId places) {
  return as_onnx(m.n, m.g, "RotaryEmbedding", {x, cos, sin, places},
                 {{"interleaved", m.n.attr_int("rotary_interleaved", 0)},
                  {"rotary_embedding_dim", m.n.attr_int("rotary_embedding_dim", 0)}});
}

/// (q, k, v, past k, past v, lengths - 1, total length, cos, sin)
void group_query(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const auto ops = attention_cache_ops();
  const int64_t heads = n.attr_int("num_heads"), kv_heads = n.attr_int("kv_num_heads");
  std::vector<ValueId> parts = {n.need(0), n.in(1), n.in(2)};
  if (!n.has(1)) {  // all in one
    const Dim size = simplified(m.dim(parts[0], 2) / Dim(heads + 2 * kv_heads));
    const Dim q = simplified(Dim(heads) * size), kv = simplified(Dim(kv_heads) * size);
    parts = m.split(parts[0], {q, kv, kv}, 2);
  }
  ValueId q = to_heads(m, parts[0], heads), k = to_heads(m, parts[1], kv_heads);
  const ValueId v = to_heads(m, parts[2], kv_heads);
  const ValueId lengths = n.need(5), total = n.need(6);
  const CacheAttrs attrs{.window = n.attr_int("local_window_size", -1), .elem = g.tensor(q).elem};
  const ValueId places = g.call(ops[0], attrs, {q, lengths, total});
  if (n.attr_int("do_rotary", 0) != 0) {
    q = rotated(m, q, n.need(7), n.need(8), places);
    k = rotated(m, k, n.need(7), n.need(8), places);
  }
  Inputs in{.q = q,
            .k = g.call(ops[1], attrs, {k, places, total, n.in(3)}),
            .v = g.call(ops[1], attrs, {v, places, total, n.in(4)})};
  in.mask = g.call(ops[2], attrs, {places, lengths, in.k});
  g.outputs(n, attend(m, in, false));
}

/// (x, positions [b, s] or the first one, cos, sin)
void rotary(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const bool with_heads = g.tensor(n.need(0)).rank() == 4;
  ValueId places = n.need(1);
  if (g.tensor(places).rank() == 1) {
    const ValueId tokens = m.positions(n.in(0), with_heads ? 2 : 1);
    const ValueId row = unsqueeze(m, m.add(tokens, m.cast(places, Elem::I64)), {0});
    const ValueId rows = m.concat({m.reshape(m.extent(n.in(0), 0), {1}), g.ints({1})}, 0);
    places = as_onnx(n, g, "Expand", {row, rows}, AttrPairs{});
  }
  const int64_t heads = n.attr_int("num_heads", 0);
  AttrPairs attributes = {{"interleaved", n.attr_int("interleaved", 0)},
                          {"rotary_embedding_dim", n.attr_int("rotary_embedding_dim", 0)}};
  ValueId x = n.in(0);
  const bool turned = heads == 0 && !with_heads;  // the cosines tell the size of a head
  if (turned) {
    const Dim size = simplified(Dim(2) * m.dim(n.need(2), 1));
    const Dim count = simplified(m.dim(x, 2) / size);
    x = g.call(op("reshape"), ReshapeAttrs{},
               {x, g.formulas({m.dim(x, 0), m.dim(x, 1), count, size})});
    x = m.transpose(x, {0, 2, 1, 3});
  } else if (!with_heads) {
    attributes.emplace_back("num_heads", heads);
  }
  const ValueId y =
      as_onnx(n, g, "RotaryEmbedding", {x, n.need(2), n.need(3), places}, std::move(attributes));
  g.output(n, turned ? from_heads(m, y) : y);
}

}  // namespace

std::span<const OpDef> attention_cache_ops() {
  const auto row = [](std::string_view name, std::vector<Type> (*infer)(const Call&),
                      std::vector<te::Tensor> (*define)(const Call&)) {
    return define_op<CacheAttrs>({.name = name,
                                  .fusion = FusionKind::Injective,
                                  .infer = infer,
                                  .algorithms = {{.name = "direct", .define = define}}});
  };
  static const std::array<OpDef, 3> defs = {row("cache_positions", infer_positions, positions),
                                            row("cache_update", infer_cache, cache),
                                            row("cache_mask", infer_mask, mask)};
  return defs;
}

std::vector<OnnxRule> attention_rules() {
  constexpr std::string_view kDomain = "com.microsoft";
  return {{.op = "Attention", .rule = attention, .domain = kDomain},
          {.op = "MultiHeadAttention", .rule = multi_head, .domain = kDomain},
          {.op = "GroupQueryAttention", .rule = group_query, .domain = kDomain},
          {.op = "RotaryEmbedding", .rule = rotary, .domain = kDomain}};
}

}  // namespace tilewright::ops
