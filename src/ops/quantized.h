// SPDX-License-Identifier: Apache-2.0
// What the quantised operators share: a quantised value is (q - zero point) * scale.
#pragma once

#include "graph/op_def.h"
#include "te/te.h"

namespace tilewright::ops {

struct QuantizeAttrs {
  int64_t axis = 1;
  int64_t block = 0;                   // elements of the axis that share a scale; 0: all
  ir::Elem to = ir::Elem::U8;          // of the result
  ir::Elem precision = ir::Elem::F32;  // of the division by the scale
  bool saturate = true;                // of small floats
  static constexpr auto fields = std::tuple{
      graph::field("axis", &QuantizeAttrs::axis), graph::field("block", &QuantizeAttrs::block),
      graph::field("to", &QuantizeAttrs::to), graph::field("precision", &QuantizeAttrs::precision),
      graph::field("saturate", &QuantizeAttrs::saturate)};
};
/// (x, scale[, zero point])
const graph::OpDef& quantize_op();
const graph::OpDef& dequantize_op();

/// The axes of the sums that lists of scales of the first and second factor belong to.
struct RequantizeAttrs {
  ir::Elem to = ir::Elem::U8;
  int64_t a_axis = 0;
  int64_t b_axis = -1;
  static constexpr auto fields = std::tuple{graph::field("to", &RequantizeAttrs::to),
                                            graph::field("a_axis", &RequantizeAttrs::a_axis),
                                            graph::field("b_axis", &RequantizeAttrs::b_axis)};
};
/// (sums of products as i32, scale of a, of b, of the result[, its zero point])
const graph::OpDef& requantize_op();

/// (x): x as u8, and the scale and zero point that its least and greatest value give.
const graph::OpDef& dynamic_quantize_op();

/// The steps that least and greatest element of x, f32 with 0 among them, give: u8 from 0 to 255.
struct DynamicSteps {
  te::Tensor scale, zero;  // f32 and u8, scalars
  te::Expr quantised(const te::Expr& x) const;
};
DynamicSteps dynamic_steps(const te::Tensor& x);

const graph::OpDef& matmul_nbits_op();

/// A whole number (as f32) in an integer type: values outside of its range become its ends, NaN 0.
te::Expr saturated(ir::Elem to, const te::Expr& steps);
/// A float of 8 bits; with `saturate`, values outside of its range become its ends.
te::Expr to_small_float(ir::Elem to, const te::Expr& value, bool saturate);

}  // namespace tilewright::ops
