// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding: turns pairs of elements of each head by an angle of their position.
#include <limits>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct RotaryAttrs {
  int64_t heads = 0;    // where the input has three dimensions
  int64_t rotated = 0;  // elements of a head that are turned; 0: all
  bool interleaved = false;
  static constexpr auto fields =
      std::tuple{field("heads", &RotaryAttrs::heads), field("rotated", &RotaryAttrs::rotated),
                 field("interleaved", &RotaryAttrs::interleaved)};
};

/// [batch, heads, times, size], or [batch, times, heads * size].
Dim head_size(const Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() == 4) return x[3];
  need_rank(call, 0, 3);
  const int64_t heads = call.attrs<RotaryAttrs>().heads;
  if (heads < 1)
    call.refuse("ops.rotary_embedding.heads", str("input 0 is ", print(call.type(0))),
                "give num_heads, or four dimensions");
  call.check(ir::eq(x[2] % heads, Dim(0)), "num_heads divides the last dimension");
  return simplified(x[2] / heads);
}

Dim rotated(const Call& call) {
  const int64_t given = call.attrs<RotaryAttrs>().rotated;
  return given > 0 ? Dim(given) : head_size(call);
}

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  head_size(call);  // refuses other ranks, also where `rotated` is given
  const Dim half = simplified(rotated(call) / 2);
  const Shape& x = call.shape(0);
  for (const size_t i : {1, 2}) {
    need_same_elem(call, 0, i);
    need_rank(call, i, call.has(3) ? 2 : 3);
    call.equal(call.shape(i).back(), half, "a cache and half of what is turned");
    if (call.has(3)) continue;
    call.equal(call.shape(i)[0], x[0], "a cache and the batch");
    call.equal(call.shape(i)[1], x[x.size() - 2], "a cache and the times");
  }
  if (call.has(3)) {
    need_int(call, 3);
    need_rank(call, 3, 2);
  }
  return {tensor_of(call.elem(0), x)};
}

std::vector<te::Tensor> define(const Call& call) {
  const RotaryAttrs& attrs = call.attrs<RotaryAttrs>();
  const te::Tensor& x = call.in(0);
  const ir::Elem elem = x.elem(), acc = wide(elem);
  const bool packed = x.rank() == 3;
  const Expr size = head_size(call), turned = rotated(call);
  const Expr half = simplified(rotated(call) / 2);
  return {te::compute("rotary", shape_of(x), [&](const std::vector<te::Var>& axes) {
    const At at = indices_of(axes);
    const Expr b = at[0], t = packed ? at[1] : at[2];
    const Expr i = packed ? at[2] % size : at[3];
    // Element i belongs to pair k, as its first or second one; the other is `apart` away.
    const Expr k = attrs.interleaved ? i / 2 : i % half;
    const Expr second = attrs.interleaved ? i % 2 == 1 : i >= half;
    const Expr apart = attrs.interleaved ? Expr(1) : half;
    const auto cached = [&](size_t input) {
      const te::Tensor& cache = call.in(input);
      if (!call.has(3)) return as(acc, cache(b, t, k));
      const Expr position = te::cast(ir::Elem::I64, call.in(3)(b, t));
      // A position that the cache has not gives NaN.
      return te::guard(0 <= position && position < Expr(call.shape(input)[0]),
                       as(acc, cache(position, k)),
                       te::cast(acc, std::numeric_limits<double>::quiet_NaN()));
    };
    At other = at;
    other.back() = te::select(second, other.back() - apart, other.back() + apart);
    const Expr own = as(acc, x.at(at));
    const Expr pair = as(acc, x.at(other)), cos = cached(1), sin = cached(2);
    const Expr value = own * cos + te::select(second, pair, -pair) * sin;
    return te::guard(i < turned, as(elem, value), x.at(at));
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const RotaryAttrs attrs{.heads = n.attr_int("num_heads", 0),
                          .rotated = n.attr_int("rotary_embedding_dim", 0),
                          .interleaved = n.attr_int("interleaved", 0) != 0};
  g.output(n, g.call(rotary_embedding_op(), attrs, {n.need(0), n.need(1), n.need(2), n.in(3)}));
}

}  // namespace

const OpDef& rotary_embedding_op() {
  static const OpDef def =
      define_op<RotaryAttrs>({.name = "rotary_embedding",
                              .fusion = FusionKind::Injective,
                              .infer = infer,
                              .algorithms = {{.name = "direct", .define = define}},
                              .onnx = {{.op = "RotaryEmbedding", .from = 23, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
