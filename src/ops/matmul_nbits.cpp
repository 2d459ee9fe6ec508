// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of com.microsoft: a product with weights of a few bits, packed from the low bits on.
#include <algorithm>

#include "graph/onnx_node.h"
#include "ops/as_onnx.h"
#include "ops/checks.h"
#include "ops/define.h"
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
  int64_t per_byte() const { return 8 / bits; }
  int64_t block_bytes() const { return block / per_byte(); }
  int64_t zero_bytes() const { return (blocks() + per_byte() - 1) / per_byte(); }
  /// The number with this place in a byte, as i32.
  Expr unpacked(const Expr& byte, const Expr& place) const {
    const Expr shift = te::cast(Elem::I32, place * bits);
    return (te::cast(Elem::I32, byte) >> shift) & te::cast(Elem::I32, (int64_t{1} << bits) - 1);
  }
};

// x [..., k], weights [n, blocks, bytes], scales [n, blocks], zero points: [n, bytes], or floats
// as the scales; for each k the block whose scale and zero point it has, where that is not its own.
constexpr size_t kX = 0, kWeights = 1, kScales = 2, kZeros = 3, kGroups = 4;

std::vector<Type> infer(const Call& call) {
  const NBitsAttrs& attrs = call.attrs<NBitsAttrs>();
  need_float(call, kX);
  need_min_rank(call, kX, 1);
  need_same_elem(call, kX, kScales);
  call.equal(call.shape(kX).back(), Dim(attrs.k), "K");
  Shape shape = call.shape(kX);
  shape.back() = Dim(attrs.n);
  return {tensor_of(call.elem(kX), shape)};
}

/// x with zeros behind its last dimension, so that it comes in whole blocks.
te::Tensor in_blocks(const te::Tensor& x, const NBitsAttrs& attrs) {
  if (attrs.k % attrs.block == 0) return x;
  te::Shape shape = shape_of(x);
  shape.back() = Expr(attrs.blocks() * attrs.block);
  return te::compute("x_in_blocks", shape, [&](const std::vector<te::Var>& at) {
    return te::guard(at.back() < Expr(attrs.k), x.at(indices_of(at)), te::cast(x.elem(), 0));
  });
}

/// The zero points of each row's blocks as bytes. Weights that are constants get them once.
te::Tensor zero_points(const te::Tensor& packed, const NBitsAttrs& attrs) {
  if (attrs.bits == 8) return packed;
  return te::compute("zero_points", {Expr(attrs.n), Expr(attrs.blocks())},
                     [&](const te::Var& n, const te::Var& b) {
                       const Expr byte = packed(n, b / attrs.per_byte());
                       return te::cast(Elem::U8, attrs.unpacked(byte, b % attrs.per_byte()));
                     });
}

/// sum over blocks, bytes and their parts of x * ((q - zero point) * scale): weights are unpacked
/// where they are multiplied.
std::vector<te::Tensor> define(const Call& call) {
  const NBitsAttrs& attrs = call.attrs<NBitsAttrs>();
  const Elem acc = wide(call.elem(kX));
  const te::Tensor x = in_blocks(call.in(kX), attrs);
  const bool bytes = call.has(kZeros) && !ir::is_float(call.elem(kZeros));
  std::optional<te::Tensor> zeros;
  if (call.has(kZeros)) zeros = bytes ? zero_points(call.in(kZeros), attrs) : call.in(kZeros);
  const te::Axis block = te::reduce_axis(attrs.blocks(), "block"),
                 byte = te::reduce_axis(attrs.block_bytes(), "byte"),
                 part = te::reduce_axis(attrs.per_byte(), "part");
  const te::Tensor y =
      te::compute("matmul_nbits", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        At at = indices_of(axes);
        const Expr n = at.back();
        const Expr k = block * attrs.block + byte * attrs.per_byte() + part;
        at.back() = k;
        const Expr group =
            call.has(kGroups) ? te::cast(Elem::I64, call.in(kGroups)(k)) : Expr(block);
        Expr q = attrs.unpacked(call.in(kWeights)(n, block, byte), part);
        if (!zeros) q = q - te::cast(Elem::I32, int64_t{1} << (attrs.bits - 1));
        if (bytes) q = q - te::cast(Elem::I32, (*zeros)(n, group));
        q = te::cast(acc, q);
        if (zeros && !bytes) q = q - as(acc, (*zeros)(n, group));
        const Expr weight = q * as(acc, call.in(kScales)(n, group));
        return te::sum(as(acc, x.at(at)) * weight, {block, byte, part});
      });
  return {as(call.elem(kX), y)};
}

/// The attributes, of sizes that can be.
NBitsAttrs attrs_of(const OnnxNode& n) {
  const NBitsAttrs attrs{.k = n.attr_int("K"),
                         .n = n.attr_int("N"),
                         .bits = n.attr_int("bits", 4),
                         .block = n.attr_int("block_size")};
  const bool fits = attrs.k > 0 && attrs.n > 0 && attrs.block > 0 && attrs.k <= 1 << 30 &&
                    attrs.n <= 1 << 30 && attrs.block <= 1 << 20;
  const bool in_bytes = attrs.bits == 2 || attrs.bits == 4 || attrs.bits == 8;
  if (!fits || !in_bytes || attrs.block % attrs.per_byte() != 0)
    n.refuse(
        "ops.matmul_nbits.form",
        str("K is ", attrs.k, ", N ", attrs.n, ", bits ", attrs.bits, ", block_size ", attrs.block),
        "use 2, 4 or 8 bits, positive sizes, and blocks of whole bytes");
  return attrs;
}

/// Input i in this shape: models have it with more or fewer dimensions.
ValueId shaped(const OnnxNode& n, Builder& g, size_t i, const std::vector<int64_t>& shape) {
  const auto given = ir::const_int(elements(g.tensor(n.need(i)).shape));
  int64_t wanted = 1;
  for (const int64_t extent : shape) wanted *= extent;
  if (given && *given != wanted)
    n.refuse("ops.matmul_nbits.form", str("input ", i, " is ", print(g.type(n.in(i)))),
             str("give ", wanted, " elements, as K, N, bits and block_size ask for"));
  return Make{n, g}.reshape(n.in(i), shape);
}

/// Refuses an input of another type than one of these.
void need_elem(const OnnxNode& n, Builder& g, size_t i, std::initializer_list<Elem> elems) {
  if (std::ranges::find(elems, g.tensor(n.need(i)).elem) == elems.end())
    n.refuse("ops.matmul_nbits.form", str("input ", i, " is ", print(g.type(n.in(i)))),
             "give packed numbers as u8, and zero points as u8 or in the type of the scales");
}

/// The block whose scale each k has, where that is not its own.
ValueId groups(const OnnxNode& n, Builder& g, const NBitsAttrs& attrs) {
  if (!n.has(4)) return kNoValue;
  const ConstantNode* constant = g.constant_of(n.in(4));
  std::vector<int64_t> group;
  if (constant && ir::is_int(constant->elem)) group = ints_of(*constant);
  const int64_t whole = attrs.blocks() * attrs.block, given = std::ssize(group);
  const bool inside = std::ranges::all_of(
      group, [&](int64_t index) { return index >= 0 && index < attrs.blocks(); });
  if (!inside || (given != attrs.k && given != whole))
    n.refuse("ops.matmul_nbits.g_idx", str("g_idx is ", print(g.type(n.in(4)))),
             "give a constant with a block, from 0 on, for each k");
  group.resize(static_cast<size_t>(whole), 0);  // what is behind K counts for nothing
  bool own = true;
  for (int64_t k = 0; k < attrs.k; ++k)
    own = own && group[static_cast<size_t>(k)] == k / attrs.block;
  return own ? kNoValue : g.constant(int_constant(Elem::I32, {whole}, group));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const NBitsAttrs attrs = attrs_of(n);
  need_elem(n, g, 1, {Elem::U8});
  const Elem scale = g.tensor(n.need(2)).elem;
  ValueId zeros = kNoValue;
  if (n.has(3)) {
    need_elem(n, g, 3, {Elem::U8, scale});
    const bool packed = g.tensor(n.in(3)).elem == Elem::U8;
    zeros = shaped(n, g, 3, {attrs.n, packed ? attrs.zero_bytes() : attrs.blocks()});
  }
  const ValueId y =
      g.call(matmul_nbits_op(), attrs,
             {n.need(0), shaped(n, g, 1, {attrs.n, attrs.blocks(), attrs.block_bytes()}),
              shaped(n, g, 2, {attrs.n, attrs.blocks()}), zeros, groups(n, g, attrs)});
  g.output(n, Make{n, g}.add_if(y, n.in(5)));
}

}  // namespace

const OpDef& matmul_nbits_op() {
  static const OpDef def = define_op<NBitsAttrs>(
      {.name = "matmul_nbits",
       .fusion = FusionKind::OutFusable,
       .infer = infer,
       .algorithms = {{.name = "direct", .define = define}},
       .onnx = {{.op = "MatMulNBits", .rule = from_onnx, .domain = "com.microsoft"}}});
  return def;
}

}  // namespace tilewright::ops
