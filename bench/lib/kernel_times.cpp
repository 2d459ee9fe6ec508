// SPDX-License-Identifier: Apache-2.0
#include "kernel_times.h"

#include <algorithm>
#include <cmath>

#include "measure.h"

namespace bench {
namespace {

constexpr double kPiece = 150e-6;  // seconds; longer ones are seldom undisturbed
constexpr double kCanary = 20e-6;

/// Times of one piece of work.
struct Slices {
  std::vector<double> clean, all;

  void add(double seconds, bool is_clean) {
    all.push_back(seconds);
    if (is_clean) clean.push_back(seconds);
  }
  double time() const { return quantile(clean.empty() ? all : clean, 0.2); }
};

/// A call of a kernel or a host operator; every run has the same ones in the same order.
struct Call {
  int32_t instruction = 0;
  std::vector<std::vector<Slices>> loops;  // its parallel loops in order, by piece
  Slices outside;                          // what is not in them
};

class Observer {
 public:
  Observer() {
    while (quantile(canaries_, 0.2) < kCanary) {
      iterations_ *= 2;
      canaries_.clear();
      best_ = 1e9;
      for (int i = 0; i < 50; ++i) canary();
    }
  }

  tw_context_options options() {
    tw_context_options out{};
    out.parallel_for = [](void* self, int64_t count, tw_task task, void* closure) {
      static_cast<Observer*>(self)->loop(count, task, closure);
    };
    out.parallel_user = this;
    out.workers = 1;
    return out;
  }

  void run(tw::Context& context) {
    at_ = 0;
    begin_call(canary());
    tw::check(tw_observe(
        context.get(),
        [](void* self, const tw_event* event) { static_cast<Observer*>(self)->end_call(*event); },
        this));
    context.run();
  }

  /// After a run that was not yet cut: as many pieces as each loop's time asks for.
  void cut_loops() {
    for (Call& call : calls_) {
      call.outside = {};
      for (std::vector<Slices>& pieces : call.loops) {
        const double seconds = pieces.at(0).all.back();
        pieces.assign(static_cast<size_t>(std::max(1L, std::lround(seconds / kPiece))), {});
      }
    }
  }

  /// The clean slices of the piece that has the fewest.
  static size_t least_clean(const Call& call) {
    size_t least = call.loops.empty() ? call.outside.clean.size() : SIZE_MAX;
    for (const std::vector<Slices>& pieces : call.loops)
      for (const Slices& p : pieces) least = std::min(least, p.clean.size());
    return least;
  }
  bool has_clean(size_t wanted) const {
    return std::ranges::all_of(calls_, [&](const Call& c) { return least_clean(c) >= wanted; });
  }

  KernelTimes result() const {
    KernelTimes out;
    for (const Call& call : calls_) {
      KernelTime& t = out.kernels[call.instruction];
      const int least = static_cast<int>(least_clean(call));
      t.clean = t.calls == 0 ? least : std::min(t.clean, least);
      ++t.calls;
      t.seconds += call.outside.time();
      for (const std::vector<Slices>& pieces : call.loops)
        for (const Slices& p : pieces) {
          t.seconds += p.time();
          ++t.pieces;
        }
    }
    std::vector<double> clean;
    for (const double c : canaries_)
      if (c * 0.95 <= best_) clean.push_back(c);
    out.fma_rate =
        fma_.flops_per_iteration * static_cast<double>(iterations_) / quantile(clean, 0.2);
    return out;
  }

 private:
  double canary() {
    const double start = now();
    fma_.run(iterations_);
    const double t = now() - start;
    best_ = std::min(best_, t);
    canaries_.push_back(t);
    return t;
  }
  /// A clean canary reaches 95 % of the best one seen.
  bool clean(double before, double after) const {
    return before * 0.95 <= best_ && after * 0.95 <= best_;
  }

  void loop(int64_t count, tw_task task, void* closure) {
    if (in_loop_ || count < 1) return tw_serial_for(nullptr, count, task, closure);
    in_loop_ = true;
    const double start = now();
    std::vector<std::vector<Slices>>& loops = call().loops;
    if (loops.size() == at_loop_) loops.emplace_back(1);
    std::vector<Slices>& slices = loops[at_loop_++];
    slices.resize(
        static_cast<size_t>(std::clamp<int64_t>(count, 1, static_cast<int64_t>(slices.size()))));
    const auto pieces = static_cast<int64_t>(slices.size());
    double before = canary();
    for (int64_t i = 0; i < pieces; ++i) {
      const double begin = now();
      task(closure, count * i / pieces, count * (i + 1) / pieces, 0);
      const double t = now() - begin;
      const double after = canary();
      slices[static_cast<size_t>(i)].add(t, clean(before, after));
      before = after;
    }
    loops_seconds_ += now() - start;
    in_loop_ = false;
  }

  Call& call() {
    if (calls_.size() == at_) calls_.emplace_back();
    return calls_[at_];
  }
  void begin_call(double canary_before) {
    at_loop_ = 0;
    loops_seconds_ = 0;
    before_ = canary_before;
  }
  void end_call(const tw_event& event) {
    const double after = canary();
    call().instruction = event.instruction;
    const double all = 1e-9 * static_cast<double>(event.end_ns - event.begin_ns);
    call().outside.add(std::max(0.0, all - loops_seconds_), clean(before_, after));
    ++at_;
    begin_call(after);
  }

  const FmaLoop fma_ = fma_loop();
  int64_t iterations_ = 500;
  double best_ = 1e9;
  std::vector<double> canaries_;
  std::vector<Call> calls_;
  size_t at_ = 0, at_loop_ = 0;  // the call that runs, and its next loop
  double loops_seconds_ = 0;     // that it has spent in loops, canaries included
  double before_ = 0;            // the canary before it
  bool in_loop_ = false;
};

/// Seconds of the calls of a run that nothing is between, by instruction.
class PlainObserver {
 public:
  void run(tw::Context& context) {
    at_ = 0;
    tw::check(tw_observe(
        context.get(),
        [](void* self, const tw_event* event) {
          static_cast<PlainObserver*>(self)->end_call(*event);
        },
        this));
    context.run();
  }
  std::map<int32_t, double> result() const {
    std::map<int32_t, double> out;
    for (const auto& [instruction, seconds] : calls_) out[instruction] += quantile(seconds, 0.2);
    return out;
  }

 private:
  void end_call(const tw_event& event) {
    if (calls_.size() == at_) calls_.push_back({event.instruction, {}});
    calls_[at_++].second.push_back(1e-9 * static_cast<double>(event.end_ns - event.begin_ns));
  }

  std::vector<std::pair<int32_t, std::vector<double>>> calls_;
  size_t at_ = 0;
};

void set_inputs(tw::Context& context, const std::vector<tilewright::graph::Constant>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;  // its default
    std::vector<int64_t> dims = inputs[i]->shape;
    const tw_tensor tensor = tw_make_tensor(const_cast<std::byte*>(inputs[i]->bytes.data()),
                                            static_cast<tw_elem>(inputs[i]->elem),
                                            static_cast<int32_t>(dims.size()), dims.data());
    context.set_input(static_cast<int32_t>(i), tensor);
  }
}

}  // namespace

KernelTimes time_kernels(tw::Module& module, const std::vector<tilewright::graph::Constant>& inputs,
                         int wanted, double limit) {
  Observer observer;
  tw::Context context(module, observer.options());
  set_inputs(context, inputs);
  for (int i = 0; i < 2; ++i) observer.run(context);  // pages and caches, then lengths
  observer.cut_loops();
  const double end = now() + limit;
  int runs = 0;
  while (runs < wanted || (now() < end && !observer.has_clean(static_cast<size_t>(wanted)))) {
    observer.run(context);
    ++runs;
  }
  KernelTimes out = observer.result();
  out.runs = runs;

  PlainObserver plain;
  tw::Context undisturbed(module, tw_context_options{.workers = 1});
  set_inputs(undisturbed, inputs);
  for (int i = 0; i < 2; ++i) undisturbed.run();
  const double plain_end = now() + limit / 2;
  for (int i = 0; i < runs || now() < plain_end; ++i) plain.run(undisturbed);
  for (const auto& [instruction, seconds] : plain.result()) {
    KernelTime& t = out.kernels.at(instruction);  // every run has the same calls
    t.seconds = std::min(t.seconds, seconds);
  }
  return out;
}

}  // namespace bench
