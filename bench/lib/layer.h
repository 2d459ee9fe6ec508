// SPDX-License-Identifier: Apache-2.0
// Whole layers as a user calls them: the feature map comes in and goes out as [channels, height,
// width]; only the weights are packed beforehand. What the kernels need besides is done by stages
// of the same program.
#pragma once

#include <vector>

#include "conv.h"

namespace bench {

struct LayerTile {
  int64_t width = 14;  // output pixels of the register tile
  int64_t blocks = 2;  // vectors of output channels of the register tile
};

/// in [ic, h, w], w [oc / v, ic, r, s, v], out [oc, oh, ow]. The input is read by broadcasts, which
/// asks for no order of its own; the output is summed up with channels as lanes and turned around
/// row by row.
tilewright::schedule::Schedule schedule_layer(const ConvLayer& layer, const LayerTile& tile,
                                              const tilewright::ir::TargetSpec& spec);

/// MobileNet's layers D1 … D9 as numbered in the TVM paper's table 2.
const std::vector<ConvLayer>& mobilenet_layers();

/// Output rows of a register tile worth trying.
std::vector<int64_t> depthwise_rows(const ConvLayer& layer);

/// in [c, h, w], w [c, r, s], out [c, oh, ow]: one filter for each channel, pixels as lanes. `rows`
/// output rows share the input rows that they read.
tilewright::schedule::Schedule schedule_depthwise(const ConvLayer& layer, int64_t rows,
                                                  const tilewright::ir::TargetSpec& spec);

}  // namespace bench
