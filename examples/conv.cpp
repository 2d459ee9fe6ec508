// SPDX-License-Identifier: Apache-2.0
// A 3x3 convolution over channels in blocks of a vector's lanes.
//   conv [--svg FILE]
#include "walk.h"

using namespace example;

/// out[o / v, y, x, o % v] = sum of in[c / v, y + r, x + s, c % v] * w[o / v, c / v, r, s, c % v, o
/// % v]
static te::Program conv(int64_t size, int64_t channels, int64_t v) {
  const int64_t blocks = channels / v;
  const te::Tensor in = te::placeholder("in", ir::Elem::F32, {blocks, size + 2, size + 2, v});
  const te::Tensor w = te::placeholder("w", ir::Elem::F32, {blocks, blocks, 3, 3, v, v});
  const te::Axis cb = te::reduce_axis(blocks, "cb"), r = te::reduce_axis(3, "r"),
                 s = te::reduce_axis(3, "s"), c = te::reduce_axis(v, "c");
  const te::Tensor out =
      te::compute("out", {blocks, size, size, v}, [&](te::Var ob, te::Var y, te::Var x, te::Var o) {
        return te::sum(in(cb, y + r, x + s, c) * w(ob, cb, r, s, c, o), {cb, r, s, c});
      });
  return te::program("conv", {in, w}, {out});
}

int main(int argc, char** argv) {
  constexpr int64_t kSize = 28, kChannels = 128;
  const ir::TargetSpec spec = target::host_target();
  const int64_t width = spec.vector_registers >= 32 ? 14 : 4, blocks = 2;
  std::printf("f32 convolution 3x3, %lld x %lld, %lld channels, one core\n",
              static_cast<long long>(kSize), static_cast<long long>(kSize),
              static_cast<long long>(kChannels));
  Walk walk(conv(kSize, kChannels, spec.lanes(32)), 2.0 * kSize * kSize * kChannels * kChannels * 9,
            bench::fma_rate(0.3), "GFLOP/s");
  schedule::Schedule& s = walk.schedule;

  walk.show("eight nested loops");
  const schedule::BlockRef c = s.block("out");
  const auto [ob, y, x, o, cb, r, q, ic] = s.loops<8>("out");
  const auto [ob0, ob1] = s.split<2>(ob, {kOpen, blocks});
  const auto [x0, x1] = s.split<2>(x, {kOpen, width});
  s.reorder({ob0, y, x0, cb, r, q, ic, x1, ob1, o});
  walk.show("tiles of pixels and channels inside");
  const schedule::BlockRef out = s.cache_write(c, "out", ir::ScopeKind::Register);
  s.reverse_compute_at(out, x0);
  const schedule::BlockRef init = s.decompose_reduction(c, cb);
  walk.show("result of a tile collected, zeros set before");
  s.vectorize(o);
  walk.show("channels as vectors");
  s.unroll(ob1);
  s.unroll(x1);
  for (const schedule::BlockRef& b : {init, out}) {
    const std::vector<schedule::LoopRef> loops = s.loops(b);
    s.vectorize(loops.back());
    for (size_t i = 3; i + 1 < loops.size(); ++i) s.unroll(loops[i]);
  }
  walk.show("tile unrolled into registers");
  const auto [ic0, ic1] = s.split<2>(ic, {kOpen, 4});
  s.unroll(ic1);
  walk.show("input channels unrolled by 4");
  return walk.finish(argc, argv);
}
