// SPDX-License-Identifier: Apache-2.0
// Elements in another type: by value (cast), or by their bits (bitcast).
#include "graph/onnx_node.h"
#include "ir/scalar.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

std::vector<Type> infer_cast(const Call& call) {
  need(call, 0, Kind::Any, "ops.cast.type");
  return {tensor_of(call.attrs<CastAttrs>().to, call.shape(0))};
}

std::vector<Elements> elements_cast(const Call& call) {
  const ir::Elem from = call.elem(0), to = call.attrs<CastAttrs>().to;
  const Elements known = list_of(call, 0);
  if (!known || (ir::is_float(from) && ir::is_float(to))) return {std::nullopt};
  if (ir::is_float(from)) check_exact(call, from, *known);
  return {map_elements(call, to, [&](const std::vector<Dim>& x) {
    return to == ir::Elem::Bool ? as_int(ir::ne(x[0], Dim(0))) : x[0];
  })};
}

bool is_float8(ir::Elem elem) { return ir::is_float(elem) && ir::bits(elem) == 8; }

/// To a float of 8 bits everything goes through a float, and is first brought into its range.
Expr to_float8(const Expr& x, const CastAttrs& attrs) {
  const Expr v = x.elem() == ir::Elem::F64 ? x : te::cast(ir::Elem::F32, x);
  if (!attrs.saturate) return te::cast(attrs.to, v);
  const double most = ir::greatest_finite(attrs.to);
  return te::cast(attrs.to, te::max(te::min(v, most), -most));
}

/// The exponent of the float, one more where it is rounded up. 2^-127, the least power, is a
/// subnormal float of half the mantissa's range.
Expr to_power_of_two(const Expr& x, const CastAttrs& attrs) {
  struct Limits {
    int64_t up, least;  // what is added to the bits; the last bits that go to the least power
  };
  const auto [up, least] = attrs.rounding == PowerRounding::Up     ? Limits{0x7fffff, 0x400000}
                           : attrs.rounding == PowerRounding::Down ? Limits{0, 0x7fffff}
                                                                   : Limits{0x400000, 0x5fffff};
  const Expr v = te::cast(ir::Elem::F32, x);
  const Expr bits = te::reinterpret(ir::Elem::U32, te::abs(v));
  const Expr power = te::select(bits <= least, te::cast(ir::Elem::U32, 0), (bits + up) >> 23);
  Expr wrong = te::isnan(v) || v < 0.0;
  if (!attrs.saturate) wrong = wrong || bits < 0x400000;
  const Expr code =
      te::select(wrong, te::cast(ir::Elem::U32, 255), te::min(power, attrs.saturate ? 254 : 255));
  return te::reinterpret(ir::Elem::F8E8M0, te::cast(ir::Elem::U8, code));
}

/// Out of range, integers shorter than 64 bits keep the low bits, as C does on common machines and
/// as ONNX's own cases expect of 2 and 4 bits.
Expr to_int(const Expr& x, ir::Elem to) {
  const int width = ir::bits(to) + (ir::is_unsigned(to) ? 1 : 0);
  if (width > 64 || to == ir::Elem::I64 || to == ir::Elem::I32) return te::cast(to, x);
  return te::cast(to, te::cast(width > 32 ? ir::Elem::I64 : ir::Elem::I32, x));
}

std::vector<te::Tensor> define_cast(const Call& call) {
  const CastAttrs& attrs = call.attrs<CastAttrs>();
  return {te::map(call.in(0), [&](const Expr& x) {
    if (x.elem() == attrs.to) return x;
    if (attrs.to == ir::Elem::F8E8M0) return to_power_of_two(x, attrs);
    if (is_float8(attrs.to)) return to_float8(x, attrs);
    return ir::is_float(x.elem()) && ir::is_int(attrs.to) ? to_int(x, attrs.to)
                                                          : te::cast(attrs.to, x);
  })};
}

PowerRounding rounding_of(const OnnxNode& n) {
  const std::string mode = n.attr_string("round_mode", "up");
  if (mode == "up") return PowerRounding::Up;
  if (mode == "down") return PowerRounding::Down;
  if (mode == "nearest") return PowerRounding::Nearest;
  n.refuse("ops.cast.round_mode", str("round_mode is `", mode, "`"), "use up, down or nearest");
}

ValueId cast(const OnnxNode& n, Builder& g, ir::Elem to) {
  const CastAttrs attrs{to, n.attr_int("saturate", 1) != 0, rounding_of(n)};
  return g.call(op("cast"), attrs, {n.need(0)});
}

void cast_from_onnx(const OnnxNode& n, Builder& g) {
  const std::optional<ir::Elem> to = n.attr_elem("to");
  if (!to)
    n.refuse("ops.cast.to", "the attribute `to` is missing, or names no type of numbers",
             "set it to a type that Tilewright has");
  g.output(n, cast(n, g, *to));
}

void cast_like_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, cast(n, g, g.tensor(n.need(1)).elem));
}

std::vector<Type> infer_bitcast(const Call& call) {
  need(call, 0, Kind::Any, "ops.bitcast.type");
  const ir::Elem to = call.attrs<CastAttrs>().to;
  if (ir::bits(to) != ir::bits(call.elem(0)))
    call.refuse("ops.bitcast.width",
                str(ir::name(call.elem(0)), " and ", ir::name(to), " differ in width"),
                "choose a type of the same width");
  return {tensor_of(to, call.shape(0))};
}

std::vector<te::Tensor> define_bitcast(const Call& call) {
  const ir::Elem to = call.attrs<CastAttrs>().to;
  return {te::map(call.in(0), [&](const Expr& x) {
    if (x.elem() == to) return x;
    // A bool is one byte that holds 0 or 1.
    if (x.elem() == ir::Elem::Bool) return te::reinterpret(to, te::cast(ir::Elem::U8, x));
    if (to == ir::Elem::Bool) return te::reinterpret(ir::Elem::U8, x) != 0;
    return te::reinterpret(to, x);
  })};
}

void bitcast_from_onnx(const OnnxNode& n, Builder& g) {
  const std::optional<ir::Elem> to = n.attr_elem("to");
  if (!to)
    n.refuse("ops.cast.to", "the attribute `to` is missing, or names no type of numbers",
             "set it to a type that Tilewright has");
  g.output(n, g.call(op("bitcast"), CastAttrs{.to = *to}, {n.need(0)}));
}

}  // namespace

std::span<const OpDef> cast_ops() {
  static const OpDef defs[] = {
      define_op<CastAttrs>({.name = "bitcast",
                            .fusion = FusionKind::Injective,
                            .infer = infer_bitcast,
                            .algorithms = {{.name = "direct", .define = define_bitcast}},
                            .onnx = {{.op = "BitCast", .rule = bitcast_from_onnx}}}),
      define_op<CastAttrs>({.name = "cast",
                            .fusion = FusionKind::Injective,
                            .infer = infer_cast,
                            .elements = elements_cast,
                            .algorithms = {{.name = "direct", .define = define_cast}},
                            .onnx = {{.op = "Cast", .from = 6, .rule = cast_from_onnx},
                                     {.op = "CastLike", .rule = cast_like_from_onnx}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
