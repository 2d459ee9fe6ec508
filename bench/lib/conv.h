// SPDX-License-Identifier: Apache-2.0
// Direct convolution over blocked channels, scheduled by steps.
//   in  [ic / c, h + 2p, w + 2p, c]   with its zero border
//   w   [oc / v, ic / c, r, s, c, v]
//   out [oc / v, oh, ow, v]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace bench {

struct ConvLayer {
  std::string name;
  int64_t size, in_channels, out_channels, kernel, stride;

  int64_t out_size() const { return (size + 2 * (kernel / 2) - kernel) / stride + 1; }
  int64_t padded() const { return size + 2 * (kernel / 2); }
  double flops() const {
    return 2.0 * static_cast<double>(out_size() * out_size() * out_channels * in_channels * kernel *
                                     kernel);
  }
};

/// ResNet-18's layers C1 … C12 as numbered in the TVM paper's table 2.
const std::vector<ConvLayer>& resnet18_layers();

struct ConvTile {
  int64_t width = 14;  // output pixels of the register tile
  int64_t blocks = 2;  // vectors of output channels of the register tile
  int64_t unroll = 4;  // of the input channels
};
/// The tiles worth trying for a layer: those that fit the registers, the balanced widths first.
std::vector<ConvTile> conv_tiles(const ConvLayer& layer, const tilewright::ir::TargetSpec& spec);

/// Input channels in one block: all of them when they are fewer than a vector's lanes.
int64_t channel_block(const ConvLayer& layer, const tilewright::ir::TargetSpec& spec);

tilewright::schedule::Schedule schedule_conv(const ConvLayer& layer, const ConvTile& tile,
                                             const tilewright::ir::TargetSpec& spec);

}  // namespace bench
