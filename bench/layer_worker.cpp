// SPDX-License-Identifier: Apache-2.0
// One contender of bench/kernels.py: a layer of ResNet-18 or MobileNet, feature maps in and out as
// [channels, height, width], once or several times in a row with other weights each time.
//   layer_worker LAYER COUNT
// Compiles the schedules worth trying, checks and times each, and keeps the fastest. Then speaks as
// gemm_worker does.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "layer.h"
#include "measure.h"
#include "ready_kernel.h"
#include "serve.h"
#include "target/host.h"

using namespace tilewright;

namespace {

struct Compiled {
  std::string name;
  int64_t block;  // of output channels in the weights
  bench::ReadyKernel kernel;
  std::vector<double> times = {};

  void call(float* in, float* weights, float* out) const {
    void* buffers[] = {in, weights, out};
    kernel.call(buffers);
  }
};

/// 64-byte aligned.
struct Floats {
  bench::Memory memory;
  explicit Floats(int64_t count) : memory(bench::memory(count * 4)) {}
  float* get() const { return static_cast<float*>(memory.get()); }
};

class Worker {
 public:
  Worker(const bench::ConvLayer& layer, bool depthwise, int count)
      : layer_(layer),
        depthwise_(depthwise),
        in_(in_size()),
        out_(out_size()),
        between_(out_size()) {
    for (int i = 0; i < count; ++i) weights_.emplace_back(weight_size());
  }

  void choose(const std::vector<bench::LayerPlan>& plans) {
    std::vector<Compiled> all;
    for (const bench::LayerPlan& p : plans) {
      all.push_back(
          {p.name, p.block, bench::ReadyKernel(driver::compile_kernel(p.schedule.func(), spec_))});
      check(all.back());
    }
    random_data();
    for (int round = 0; round < 10; ++round)
      for (Compiled& c : all) {
        run(c);
        for (int i = 0; i < 4; ++i) {
          const double start = bench::now();
          run(c);
          c.times.push_back(bench::now() - start);
        }
      }
    const auto time = [](const Compiled& c) { return bench::quantile(c.times, 0.1); };
    for (const Compiled& c : all)
      std::fprintf(stderr, "%s %s %.1f us, %.1f GFLOP/s min %.1f\n", layer_.name.c_str(),
                   c.name.c_str(), 1e6 * time(c), 1e-9 * flops() / time(c),
                   1e6 * bench::quantile(c.times, 0));
    best_ = std::make_unique<Compiled>(std::move(*std::min_element(
        all.begin(), all.end(),
        [&](const Compiled& a, const Compiled& b) { return time(a) < time(b); })));
  }

  void serve() {
    bench::serve([&] { run(*best_); });
  }

 private:
  int64_t in_size() const { return layer_.in_channels * layer_.size * layer_.size; }
  int64_t out_size() const { return layer_.out_channels * layer_.out_size() * layer_.out_size(); }
  int64_t depth() const { return depthwise_ ? 1 : layer_.in_channels; }
  int64_t weight_size() const {
    return layer_.out_channels * depth() * layer_.kernel * layer_.kernel;
  }
  double flops() const {
    return 2.0 * static_cast<double>(out_size() * depth() * layer_.kernel * layer_.kernel) *
           static_cast<double>(weights_.size());
  }

  /// The weights' place in memory.
  int64_t weight_at(int64_t block, int64_t o, int64_t c, int64_t r, int64_t s) const {
    const int64_t k = layer_.kernel;
    if (depthwise_) return (o * k + r) * k + s;
    return (((o / block * k + s) * layer_.in_channels + c) * k + r) * block + o % block;
  }

  void run(const Compiled& c) const {
    float* from = in_.get();
    for (size_t i = 0; i < weights_.size(); ++i) {
      float* to = (weights_.size() - i) % 2 ? out_.get() : between_.get();
      c.call(from, weights_[i].get(), to);
      from = to;
    }
  }

  /// One layer on small integers, whose sums are exact in any order.
  void check(const Compiled& c) const {
    for (int64_t i = 0; i < in_size(); ++i) in_.get()[i] = static_cast<float>(i % 5 - 2);
    for (int64_t i = 0; i < weight_size(); ++i)
      weights_[0].get()[i] = static_cast<float>(i % 7 - 3);
    std::fill_n(out_.get(), out_size(), NAN);
    c.call(in_.get(), weights_[0].get(), out_.get());
    const int64_t size = layer_.out_size(), pad = layer_.kernel / 2;
    for (int64_t t = 0; t < 20000; ++t) {
      const int64_t at = t < 2000 ? t % out_size() : t * 7919 % out_size();
      const int64_t o = at / (size * size), y = at / size % size, x = at % size;
      float want = 0;
      for (int64_t d = 0; d < depth(); ++d)
        for (int64_t r = 0; r < layer_.kernel; ++r)
          for (int64_t s = 0; s < layer_.kernel; ++s) {
            const int64_t py = y * layer_.stride + r - pad, px = x * layer_.stride + s - pad;
            if (py < 0 || px < 0 || py >= layer_.size || px >= layer_.size) continue;
            want += in_.get()[((depthwise_ ? o : d) * layer_.size + py) * layer_.size + px] *
                    weights_[0].get()[weight_at(c.block, o, d, r, s)];
          }
      if (out_.get()[at] != want) {
        std::fprintf(stderr, "%s %s: out[%ld, %ld, %ld] is %g, not %g\n", layer_.name.c_str(),
                     c.name.c_str(), o, y, x, out_.get()[at], want);
        std::exit(1);
      }
    }
  }

  /// Of a size that stays the same through a row of layers.
  void random_data() const {
    uint32_t state = 1;
    const auto next = [&] {
      state = state * 1664525u + 1013904223u;
      return static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    };
    for (int64_t i = 0; i < in_size(); ++i) in_.get()[i] = next();
    const float scale =
        std::sqrt(3.0f / static_cast<float>(depth() * layer_.kernel * layer_.kernel));
    for (const Floats& w : weights_)
      for (int64_t i = 0; i < weight_size(); ++i) w.get()[i] = next() * scale;
  }

  const ir::TargetSpec& spec_ = target::host_target();
  const bench::ConvLayer layer_;
  const bool depthwise_;
  Floats in_, out_, between_;
  std::vector<Floats> weights_;
  std::unique_ptr<Compiled> best_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: layer_worker LAYER COUNT\n");
    return 1;
  }
  const ir::TargetSpec& spec = target::host_target();
  const std::string name = argv[1];
  const auto work = [&](const bench::ConvLayer& layer, bool depthwise) {
    Worker worker(layer, depthwise, std::atoi(argv[2]));
    worker.choose(depthwise ? bench::plan_depthwise(layer, spec) : bench::plan_layer(layer, spec));
    worker.serve();
    return 0;
  };
  for (const bench::ConvLayer& l : bench::resnet18_layers())
    if (l.name == name) return work(l, false);
  for (const bench::ConvLayer& l : bench::mobilenet_layers())
    if (l.name == name) return work(l, true);
  std::fprintf(stderr, "layer_worker: no layer %s\n", argv[1]);
  return 1;
}
