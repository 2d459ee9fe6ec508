// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>

#include "layer.h"
#include "lower/to_blocks.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Lanes that a row of the output fills best.
int64_t lanes_for(const ConvLayer& l, const ir::TargetSpec& spec) {
  return std::min<int64_t>(
      spec.lanes(32), static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(l.out_size()))));
}

/// Rows are summed up in whole vectors: only the last store of a row and the loads at its ends need
/// masks.
te::Program depthwise(const ConvLayer& l, int64_t lanes) {
  const int64_t p = l.kernel / 2, size = l.out_size(), n = l.size;
  const te::Tensor in = te::placeholder("in", ir::Elem::F32, {l.in_channels, n, n});
  const te::Tensor w = te::placeholder("w", ir::Elem::F32, {l.in_channels, l.kernel, l.kernel});
  const te::Axis r = te::reduce_axis(l.kernel, "r"), s = te::reduce_axis(l.kernel, "s");
  const te::Tensor sums = te::compute(
      "sums", {l.in_channels, size, round_up(size, lanes)}, [&](te::Var c, te::Var y, te::Var x) {
        const te::Expr py = y * l.stride + r - p, px = x * l.stride + s - p;
        const te::Expr pixel = te::guard(0 <= px && px < n, in(c, py, px), 0.0f);
        return te::sum(te::guard(0 <= py && py < n, pixel * w(c, r, s), 0.0f), {r, s});
      });
  const te::Tensor out =
      te::compute("out", {l.in_channels, size, size},
                  [&](te::Var c, te::Var y, te::Var x) { return sums(c, y, x); });
  return te::program("depthwise", {in, w}, {out});
}

/// `rows` output rows share the input rows that they read.
Schedule schedule_depthwise(const ConvLayer& layer, int64_t rows, int64_t lanes) {
  Schedule s(lower::to_blocks(depthwise(layer, lanes)));
  const BlockRef sums = s.block("sums");
  const std::vector<LoopRef> l = s.loops(sums);  // c, y, x, r, s
  const auto [y0, y1] = s.split<2>(l[1], {kOpen, rows});
  const auto [x0, x1] = s.split<2>(l[2], {kOpen, lanes});
  s.reorder({l[0], y0, x0, l[4], y1, l[3], x1});
  s.set_scope(sums, "sums", ir::ScopeKind::Register);
  const BlockRef out = s.block("out");
  s.reverse_compute_at(out, x0);
  const BlockRef init = s.decompose_reduction(sums, l[4]);
  for (const LoopRef& loop : {l[4], y1, l[3]}) s.unroll(loop);
  s.vectorize(x1);
  for (const BlockRef& b : {init, out}) {
    const std::vector<LoopRef> own = s.loops(b);
    s.unroll(own[own.size() - 2]);
    s.vectorize(own.back());
  }
  return s;
}

}  // namespace

const std::vector<ConvLayer>& mobilenet_layers() {
  static const std::vector<ConvLayer> layers = {
      {"D1", 112, 32, 32, 3, 1},  {"D2", 112, 64, 64, 3, 2},  {"D3", 56, 128, 128, 3, 1},
      {"D4", 56, 128, 128, 3, 2}, {"D5", 28, 256, 256, 3, 1}, {"D6", 28, 256, 256, 3, 2},
      {"D7", 14, 512, 512, 3, 1}, {"D8", 14, 512, 512, 3, 2}, {"D9", 7, 1024, 1024, 3, 1}};
  return layers;
}

std::vector<LayerPlan> plan_depthwise(const ConvLayer& layer, const ir::TargetSpec& spec) {
  std::vector<LayerPlan> out;
  // A sum for each row, the taps and one row of the input.
  for (int64_t rows = 2; rows + layer.kernel * layer.kernel + 1 < spec.vector_registers; ++rows)
    if (layer.out_size() % rows == 0)
      out.push_back({std::to_string(rows) + " rows",
                     schedule_depthwise(layer, rows, lanes_for(layer, spec)),
                     [](const std::vector<float>& w) { return w; }});
  return out;
}

}  // namespace bench
