// SPDX-License-Identifier: Apache-2.0
#include "conv.h"

#include <algorithm>

#include "lower/to_blocks.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

te::Program conv(const ConvLayer& l, int64_t block, int64_t lanes) {
  const int64_t out = l.out_size();
  const te::Tensor in =
      te::placeholder("in", ir::Elem::F32, {l.in_channels / block, l.padded(), l.padded(), block});
  const te::Tensor w = te::placeholder(
      "w", ir::Elem::F32,
      {l.out_channels / lanes, l.in_channels / block, l.kernel, l.kernel, block, lanes});
  const te::Axis cb = te::reduce_axis(l.in_channels / block, "cb"),
                 r = te::reduce_axis(l.kernel, "r"), s = te::reduce_axis(l.kernel, "s"),
                 c = te::reduce_axis(block, "c");
  const te::Tensor result = te::compute(
      "out", {l.out_channels / lanes, out, out, lanes},
      [&](te::Var ob, te::Var y, te::Var x, te::Var o) {
        return te::sum(in(cb, y * l.stride + r, x * l.stride + s, c) * w(ob, cb, r, s, c, o),
                       {cb, r, s, c});
      });
  return te::program("conv", {in, w}, {result});
}

}  // namespace

const std::vector<ConvLayer>& resnet18_layers() {
  static const std::vector<ConvLayer> layers = {
      {"C1", 224, 3, 64, 7, 2},    {"C2", 56, 64, 64, 3, 1},    {"C3", 56, 64, 64, 1, 1},
      {"C4", 56, 64, 128, 3, 2},   {"C5", 56, 64, 128, 1, 2},   {"C6", 28, 128, 128, 3, 1},
      {"C7", 28, 128, 256, 3, 2},  {"C8", 28, 128, 256, 1, 2},  {"C9", 14, 256, 256, 3, 1},
      {"C10", 14, 256, 512, 3, 2}, {"C11", 14, 256, 512, 1, 2}, {"C12", 7, 512, 512, 3, 1}};
  return layers;
}

int64_t channel_block(const ConvLayer& layer, const ir::TargetSpec& spec) {
  return std::min<int64_t>(layer.in_channels, spec.lanes(32));
}

std::vector<ConvTile> conv_tiles(const ConvLayer& layer, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  const int64_t registers = spec.vector_registers;
  std::vector<ConvTile> out;
  for (const int64_t blocks : {4, 2, 1}) {
    if (layer.out_channels / lanes % blocks != 0) continue;
    // Accumulators, the weights of one step and one broadcast.
    const int64_t most = (registers - blocks - 1) / blocks;
    const int64_t tiles = (layer.out_size() + most - 1) / most;
    const int64_t width = (layer.out_size() + tiles - 1) / tiles;
    if (layer.out_size() % width == 0) out.push_back({width, blocks, 4});
  }
  return out;
}

Schedule schedule_conv(const ConvLayer& layer, const ConvTile& tile, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  const int64_t block = channel_block(layer, spec);
  Schedule s(lower::to_blocks(conv(layer, block, lanes)));
  const schedule::BlockRef c = s.block("out");
  const std::vector<LoopRef> l = s.loops(c);  // ob, y, x, o, cb, r, s, c
  const auto [ob0, ob1] = s.split<2>(l[0], {kOpen, tile.blocks});
  const auto [x0, x1] = s.split<2>(l[2], {kOpen, tile.width});
  s.reorder({ob0, l[1], x0, l[4], l[5], l[6], l[7], x1, ob1, l[3]});
  const schedule::BlockRef out = s.cache_write(c, "out", ir::ScopeKind::Register);
  s.reverse_compute_at(out, x0);
  const schedule::BlockRef init = s.decompose_reduction(c, l[4]);
  s.vectorize(l[3]);
  s.unroll(ob1);
  s.unroll(x1);
  if (block % tile.unroll == 0 && block > tile.unroll) {
    const auto [c0, c1] = s.split<2>(l[7], {kOpen, tile.unroll});
    s.unroll(c1);
  } else {
    s.unroll(l[7]);
  }
  for (const schedule::BlockRef& b : {init, out}) {
    std::vector<LoopRef> loops = s.loops(b);
    s.vectorize(loops.back());
    for (size_t i = 3; i + 1 < loops.size(); ++i) s.unroll(loops[i]);
  }
  return s;
}

}  // namespace bench
