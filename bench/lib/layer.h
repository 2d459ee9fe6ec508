// SPDX-License-Identifier: Apache-2.0
// Whole layers as a user calls them: the feature map comes in and goes out as [channels, height,
// width]; only the weights are packed beforehand. What the kernels need besides is done by stages
// of the same program.
#pragma once

#include <functional>
#include <vector>

#include "conv.h"

namespace bench {

/// A schedule worth trying.
struct LayerPlan {
  std::string name;
  tilewright::schedule::Schedule schedule;
  std::function<std::vector<float>(const std::vector<float>&)> pack;  // from [oc, ic, r, s]
  double error = 0;  // on integers, relative to the sum of the terms' absolute values; 0: exact
};

/// in [ic, h, w], out [oc, oh, ow].
///   channels as lanes: the input is read by broadcasts, which ask for no order of its own; the
///   sums
///     are turned around some rows at a time
///   pixels as lanes, where the kernel is a single tap and pixels fill vectors: nothing to turn
std::vector<LayerPlan> plan_layer(const ConvLayer& layer, const tilewright::ir::TargetSpec& spec);

/// MobileNet's layers D1 … D9 as numbered in the TVM paper's table 2.
const std::vector<ConvLayer>& mobilenet_layers();

/// in [c, h, w], out [c, oh, ow]: one filter for each channel, weights [c, r, s], pixels as lanes.
std::vector<LayerPlan> plan_depthwise(const ConvLayer& layer,
                                      const tilewright::ir::TargetSpec& spec);

/// The same by Winograd's F(4x4, 3x3); none where that does not fit. Equal over the reals, but it
/// rounds otherwise.
std::vector<LayerPlan> plan_winograd(const ConvLayer& layer,
                                     const tilewright::ir::TargetSpec& spec);

}  // namespace bench
