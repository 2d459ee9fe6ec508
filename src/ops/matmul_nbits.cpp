// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of com.microsoft: a product with weights of a few bits, packed from the low bits on.
#include "graph/onnx_node.h"
#include "ops/as_onnx.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/quantized.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;
using te::Expr;

struct NBitsAttrs {
  int64_t k = 0, n = 0;
  int64_t bits = 4;
  int64_t block = 32;
  static constexpr auto fields =
      std::tuple{field("k", &NBitsAttrs::k), field("n", &NBitsAttrs::n),
                 field("bits", &NBitsAttrs::bits), field("block", &NBitsAttrs::block)};

  int64_t blocks() const { return (k + block - 1) / block; }
};

// (packed [n, blocks, bytes], scales [n * blocks], zero points: packed bytes by row, or as the
// scales): the weights, [n, k] of the scales' type.
std::vector<Type> infer(const Call& call) {
  const NBitsAttrs& attrs = call.attrs<NBitsAttrs>();
  need_float(call, 1);
  const auto counts = [&](size_t i, int64_t count, std::string_view what) {
    call.equal(graph::elements(call.shape(i)), count, what);
  };
  counts(0, attrs.n * attrs.blocks() * (attrs.block * attrs.bits / 8), "the bytes of the weights");
  counts(1, attrs.n * attrs.blocks(), "the scales");
  if (call.has(2))
    counts(2,
           ir::is_float(call.elem(2)) ? attrs.n * attrs.blocks()
                                      : attrs.n * ((attrs.blocks() * attrs.bits + 7) / 8),
           "the zero points");
  return {tensor_of(call.elem(1), {attrs.n, attrs.k})};
}

/// The element of a tensor by its row-major number.
Expr flat(const te::Tensor& t, const Expr& index) {
  At at(static_cast<size_t>(t.rank()), Expr(0));
  Expr rest = index;
  for (size_t d = at.size(); d-- > 0;) {
    const Expr extent(t.shape()[d]);
    at[d] = d == 0 ? rest : rest % extent;
    rest = rest / extent;
  }
  return t.at(at);
}

std::vector<te::Tensor> define(const Call& call) {
  const NBitsAttrs& attrs = call.attrs<NBitsAttrs>();
  const int64_t per_byte = 8 / attrs.bits, mask = (int64_t{1} << attrs.bits) - 1;
  // Number i of a row that starts at byte `row`.
  const auto unpacked = [&](const te::Tensor& t, const Expr& row, const Expr& i) {
    const Expr byte = te::cast(Elem::I64, flat(t, row + i / per_byte));
    return te::cast(Elem::F32, (byte >> (i % per_byte * attrs.bits)) & Expr(ir::Expr(mask)));
  };
  const int64_t bytes = attrs.block * attrs.bits / 8,
                zero_bytes = (attrs.blocks() * attrs.bits + 7) / 8;
  return {te::compute("weights", call.out_shape(), [&](const te::Var& n, const te::Var& k) {
    const Expr b = k / attrs.block, block = n * attrs.blocks() + b;
    const Expr q = unpacked(call.in(0), block * bytes, k % attrs.block);
    Expr zero = te::cast(Elem::F32, static_cast<double>(int64_t{1} << (attrs.bits - 1)));
    if (call.has(2))
      zero = ir::is_float(call.elem(2)) ? as(Elem::F32, flat(call.in(2), block))
                                        : unpacked(call.in(2), n * zero_bytes, b);
    return as(call.elem(1), (q - zero) * as(Elem::F32, flat(call.in(1), block)));
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const NBitsAttrs attrs{.k = n.attr_int("K"),
                         .n = n.attr_int("N"),
                         .bits = n.attr_int("bits", 4),
                         .block = n.attr_int("block_size")};
  const bool fits = attrs.k > 0 && attrs.n > 0 && attrs.block > 0 && attrs.k <= 1 << 30 &&
                    attrs.n <= 1 << 30 && attrs.block <= 1 << 20;
  if (!fits || (attrs.bits != 2 && attrs.bits != 4 && attrs.bits != 8) || n.has(4))
    n.refuse("ops.matmul_nbits.form",
             str("K is ", attrs.k, ", N ", attrs.n, ", bits ", attrs.bits, ", block_size ",
                 attrs.block, n.has(4) ? ", with g_idx" : ""),
             "use 2, 4 or 8 bits, positive sizes, and no g_idx");
  const ValueId weights = g.call(matmul_nbits_op(), attrs, {n.need(1), n.need(2), n.in(3)});
  const ValueId y = g.call(matmul_op(), MatMulAttrs{.trans_b = true}, {n.need(0), weights});
  g.output(n, Make{n, g}.add_if(y, n.in(5)));
}

}  // namespace

const OpDef& matmul_nbits_op() {
  static const OpDef def = define_op<NBitsAttrs>(
      {.name = "unpack_weights",
       .fusion = FusionKind::Injective,
       .infer = infer,
       .algorithms = {{.name = "direct", .define = define}},
       .onnx = {{.op = "MatMulNBits", .rule = from_onnx, .domain = "com.microsoft"}}});
  return def;
}

}  // namespace tilewright::ops
