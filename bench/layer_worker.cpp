// SPDX-License-Identifier: Apache-2.0
// One contender of bench/kernel_bench.py: a layer of ResNet-18 or MobileNet, feature maps in and
// out as [channels, height, width], once or several times in a row with other weights each time.
//   layer_worker LAYER COUNT direct|winograd
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

/// 64-byte aligned.
struct Floats {
  bench::Memory memory;
  explicit Floats(int64_t count) : memory(bench::memory(count * 4)) {}
  explicit Floats(const std::vector<float>& values) : Floats(static_cast<int64_t>(values.size())) {
    std::copy(values.begin(), values.end(), get());
  }
  float* get() const { return static_cast<float*>(memory.get()); }
};

struct Compiled {
  std::string name;
  double error;
  bench::ReadyKernel kernel;
  std::vector<Floats> weights = {};  // packed, of each layer
  std::vector<double> times = {};

  void call(float* in, float* weights, float* out) const {
    void* buffers[] = {in, weights, out};
    kernel.call(buffers);
  }
};

class Worker {
 public:
  Worker(const bench::ConvLayer& layer, bool depthwise, int count)
      : layer_(layer),
        depthwise_(depthwise),
        count_(static_cast<size_t>(count)),
        in_(in_size()),
        out_(out_size()),
        between_(out_size()) {}

  void choose(const std::vector<bench::LayerPlan>& plans) {
    std::vector<Compiled> all;
    for (const bench::LayerPlan& p : plans) {
      all.push_back(
          {p.name, p.error, bench::ReadyKernel(driver::compile_kernel(p.schedule.func(), spec_))});
      check(all.back(), p);
      random_data(all.back(), p);
    }
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
      std::fprintf(stderr, "%s, %s: %.1f us, %.1f GFLOP/s of the sum over taps\n",
                   layer_.name.c_str(), c.name.c_str(), 1e6 * time(c), 1e-9 * flops() / time(c));
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
  int64_t taps() const { return layer_.kernel * layer_.kernel; }
  size_t weight_size() const { return static_cast<size_t>(layer_.out_channels * depth() * taps()); }
  double flops() const {
    return 2.0 * static_cast<double>(out_size() * depth() * taps()) * static_cast<double>(count_);
  }

  void run(const Compiled& c) const {
    float* from = in_.get();
    for (size_t i = 0; i < count_; ++i) {
      float* to = (count_ - i) % 2 ? out_.get() : between_.get();
      c.call(from, c.weights[i].get(), to);
      from = to;
    }
  }

  struct Expected {
    float sum = 0;
    float size = 0;  // the sum of the terms' absolute values
  };
  /// What the layer is defined to give.
  Expected expected(const std::vector<float>& weights, int64_t o, int64_t y, int64_t x) const {
    const int64_t pad = layer_.kernel / 2;
    Expected out;
    for (int64_t d = 0; d < depth(); ++d)
      for (int64_t t = 0; t < taps(); ++t) {
        const int64_t py = y * layer_.stride + t / layer_.kernel - pad;
        const int64_t px = x * layer_.stride + t % layer_.kernel - pad;
        if (py < 0 || px < 0 || py >= layer_.size || px >= layer_.size) continue;
        const float term = in_.get()[((depthwise_ ? o : d) * layer_.size + py) * layer_.size + px] *
                           weights[static_cast<size_t>((o * depth() + d) * taps() + t)];
        out.sum += term;
        out.size += std::abs(term);
      }
    return out;
  }

  /// One layer on small integers, whose sums are exact in any order.
  void check(const Compiled& c, const bench::LayerPlan& plan) const {
    for (int64_t i = 0; i < in_size(); ++i) in_.get()[i] = static_cast<float>(i * i % 5 - 2);
    std::vector<float> weights(weight_size());
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(i * i % 7 % 5) - 2.0f;
    const Floats packed(plan.pack(weights));
    std::fill_n(out_.get(), out_size(), NAN);
    c.call(in_.get(), packed.get(), out_.get());
    const int64_t size = layer_.out_size();
    for (int64_t t = 0; t < 20000; ++t) {
      const int64_t at = t < 2000 ? t % out_size() : t * 7919 % out_size();
      const int64_t o = at / (size * size), y = at / size % size, x = at % size;
      const Expected want = expected(weights, o, y, x);
      const float got = out_.get()[at];
      if (std::abs(got - want.sum) <= c.error * want.size) continue;
      std::fprintf(stderr, "%s, %s: out[%ld, %ld, %ld] is %g, not %g\n", layer_.name.c_str(),
                   c.name.c_str(), o, y, x, got, want.sum);
      std::exit(1);
    }
  }

  /// Of a size that stays the same through a row of layers.
  void random_data(Compiled& c, const bench::LayerPlan& plan) const {
    uint32_t state = 1;
    const auto next = [&] {
      state = state * 1664525u + 1013904223u;
      return static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    };
    for (int64_t i = 0; i < in_size(); ++i) in_.get()[i] = next();
    const float scale = std::sqrt(3.0f / static_cast<float>(depth() * taps()));
    for (size_t i = 0; i < count_; ++i) {
      std::vector<float> weights(weight_size());
      for (float& w : weights) w = next() * scale;
      c.weights.emplace_back(plan.pack(weights));
    }
  }

  const ir::TargetSpec& spec_ = target::host_target();
  const bench::ConvLayer layer_;
  const bool depthwise_;
  const size_t count_;
  Floats in_, out_, between_;
  std::unique_ptr<Compiled> best_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: layer_worker LAYER COUNT direct|winograd\n");
    return 1;
  }
  const ir::TargetSpec& spec = target::host_target();
  const std::string name = argv[1];
  const int count = std::atoi(argv[2]);
  const bool winograd = std::string(argv[3]) == "winograd";
  const auto work = [&](const bench::ConvLayer& layer, bool depthwise,
                        const std::vector<bench::LayerPlan>& plans) {
    if (plans.empty()) return 1;
    Worker worker(layer, depthwise, count);
    worker.choose(plans);
    worker.serve();
    return 0;
  };
  for (const bench::ConvLayer& l : bench::resnet18_layers())
    if (l.name == name)
      return work(l, false, winograd ? bench::plan_winograd(l, spec) : bench::plan_layer(l, spec));
  for (const bench::ConvLayer& l : bench::mobilenet_layers())
    if (l.name == name) return work(l, true, bench::plan_depthwise(l, spec));
  std::fprintf(stderr, "layer_worker: no layer %s\n", argv[1]);
  return 1;
}
