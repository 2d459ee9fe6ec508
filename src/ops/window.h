// SPDX-License-Identifier: Apache-2.0
// Windows that slide over the spatial dimensions: what convolutions and pools share.
#pragma once

#include <string>
#include <vector>

#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/ops.h"

namespace tilewright::ops {

/// Empty lists stand for their defaults: strides and dilations 1, pads 0. `kernel` may be empty
/// where the weights tell it.
struct WindowAttrs {
  AutoPad auto_pad = AutoPad::NotSet;
  bool ceil_mode = false;
  std::vector<int64_t> kernel = {}, strides = {}, dilations = {};
  std::vector<int64_t> pads = {};  // all begins, then all ends
};
WindowAttrs window_attrs(const graph::OnnxNode& node);

/// The windows of one spatial dimension: output o covers o * stride - pad_begin + k * dilation.
struct Window {
  graph::Dim in, kernel, out;
  graph::Dim pad_begin, pad_end;
  int64_t stride = 1, dilation = 1;
  bool ceil_mode = false;  // the last window may reach beyond the pads

  /// Extent of the input with all that the windows cover.
  graph::Dim padded() const;
  bool needs_padding() const;
};
/// For spatial dimensions of these extents. Refuses attributes that do not fit.
std::vector<Window> windows(const graph::Call& call, const WindowAttrs& attrs,
                            const graph::Shape& in, const graph::Shape& kernel);

/// A convolution has no empty input; a pool of one is as empty, where its windows fit.
void need_no_empty(const graph::Call& call);

/// Dimensions `first` and on of `x`, with `value` around them, as a stage before the windows; `x`
/// itself where no window reaches outside.
te::Tensor padded(const te::Tensor& x, size_t first, const std::vector<Window>& windows,
                  const te::Expr& value);

/// The dimensions of a shape from `first` on.
inline graph::Shape spatial(const graph::Shape& shape, size_t first = 2) {
  return graph::Shape(shape.begin() + static_cast<long>(first), shape.end());
}

}  // namespace tilewright::ops
