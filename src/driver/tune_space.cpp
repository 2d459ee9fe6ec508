// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_space.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "ir/print.h"
#include "support/build_id.h"
#include "support/str.h"
#include "target/llvm/compile.h"
#include "tune/measure/local_runner.h"
#include "tune/model/cost_model.h"
#include "tune/model/trees.h"
#include "tune/records/records.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;
using tune::Record;

constexpr int64_t kBatch = 8;
constexpr size_t kConfirmed = 3;
constexpr double kConfirmSeconds = 0.2;
constexpr int kConfirmRepeats = 61;

class SpaceTuner {
 public:
  SpaceTuner(std::shared_ptr<const tune::Task> task, const tune::Space& space,
             const SpaceTuning& options)
      : task_(std::move(task)),
        space_(space),
        options_(options),
        prefix_(space.name() + ": "),
        search_(space,
                {.strategy = options.strategy.value_or(tune::Trees::why_not().empty()
                                                           ? tune::Strategy::Learned
                                                           : tune::Strategy::Annealing),
                 .seed = options.seed},
                {.model = &model_, .spec = &task_->target, .constants = task_->constants}) {
    if (!options.records.empty()) records_.emplace(options.records, tune::Database::Mode::Create);
  }

  SpaceTuned run() {
    go_on();
    const tune::MeasureOptions how{.threads = options_.threads};
    tune::LocalRunner runner(how);
    const Clock::time_point start = Clock::now();
    const auto left = [&] { return options_.trials - tried_; };
    while (left() > 0 && !search_.done() &&
           std::chrono::duration<double>(Clock::now() - start).count() < options_.seconds) {
      const auto points = search_.propose(static_cast<size_t>(std::min(kBatch, left())));
      if (points.empty()) break;
      std::vector<tune::Candidate> candidates;
      for (const tune::Point& p : points) candidates.push_back({task_, search_.trace(p)});
      const std::vector<Record> batch = measured(runner, how, candidates, points);
      std::vector<tune::Trial> trials;
      for (size_t i = 0; i < batch.size(); ++i)
        if (says_something(batch[i])) trials.push_back({points[i], ratio_of(batch[i])});
      search_.report(trials);
      tried_ += static_cast<int64_t>(batch.size());
      if (options_.on_batch) options_.on_batch(batch);
    }
    out_.why_done = search_.why_done();
    out_.refused = search_.refused();
    confirm();
    return std::move(out_);
  }

 private:
  static double ratio_of(const Record& r) {
    return r.measurement.ok() ? r.measurement.ratio.median : INFINITY;
  }

  /// A trial that the runner could not make says nothing about its schedule.
  static bool says_something(const Record& r) {
    return r.measurement.verdict != tune::Verdict::Failed;
  }

  /// From what the file knows.
  void go_on() {
    if (!records_) return;
    std::vector<tune::Trial> known;
    for (const Record& r : records_->of(task_->workload, tune::target_text(task_->target))) {
      if (!r.point.starts_with(prefix_) || r.threads != options_.threads) continue;
      try {
        known.push_back({space_.decode(r.point.substr(prefix_.size())), ratio_of(r)});
        out_.trials.push_back(r);
      } catch (const Error&) {
        continue;  // of a template of the same name with other knobs
      }
    }
    if (!known.empty()) search_.report(known);
  }

  /// Measures, and keeps what became of each.
  std::vector<Record> measured(tune::LocalRunner& runner, const tune::MeasureOptions& how,
                               const std::vector<tune::Candidate>& candidates,
                               const std::vector<tune::Point>& points) {
    const std::vector<tune::Measurement> all = runner.measure(candidates);
    std::vector<Record> batch;
    for (size_t i = 0; i < all.size(); ++i)
      batch.push_back(
          {.workload = task_->workload,
           .target = tune::target_text(task_->target),
           .trace = schedule::print(candidates[i].trace),
           .point = prefix_ + space_.encode(points[i]),
           .measurement = all[i],
           .threads = options_.threads,
           .config = str(
               "at most ", how.repeats, " pairs with the default schedule in ", how.sample_seconds,
               " s, four times that where it may be faster, arguments in turn, seed ", how.seed),
           .compiler = str("tilewright ", build_id(reinterpret_cast<const void*>(&tune_space)),
                           ", ", target::llvm::code_generator(task_->target)),
           .time = static_cast<int64_t>(std::time(nullptr)),
           .name = task_->name});
    if (records_) {
      std::vector<Record> kept = batch;
      std::erase_if(kept, [](const Record& r) { return !says_something(r); });
      records_->add(kept);
    }
    out_.trials.insert(out_.trials.end(), batch.begin(), batch.end());
    return batch;
  }

  /// The fastest once more and longer: the best of many is also the luckiest.
  void confirm() {
    std::vector<Record> fast = out_.trials;
    std::erase_if(fast, [](const Record& r) { return !r.measurement.ok(); });
    std::ranges::stable_sort(fast, {}, ratio_of);
    std::vector<tune::Candidate> candidates;
    std::vector<tune::Point> points;
    for (const Record& r : fast) {
      const tune::Point p = space_.decode(r.point.substr(prefix_.size()));
      if (points.size() == kConfirmed) break;
      if (std::ranges::count(points, p) > 0) continue;
      points.push_back(p);
      candidates.push_back({task_, space_.apply(p).trace()});
    }
    const tune::MeasureOptions how{
        .threads = options_.threads, .sample_seconds = kConfirmSeconds, .repeats = kConfirmRepeats};
    tune::LocalRunner runner(how);
    for (Record& r : measured(runner, how, candidates, points))
      if (r.measurement.ok() && (!out_.best || ratio_of(r) < ratio_of(*out_.best)))
        out_.best = std::move(r);
  }

  std::shared_ptr<const tune::Task> task_;
  const tune::Space& space_;
  const SpaceTuning& options_;
  const std::string prefix_;
  tune::CostModel model_;
  tune::Search search_;
  std::optional<tune::Records> records_;
  int64_t tried_ = 0;
  SpaceTuned out_;
};

}  // namespace

std::shared_ptr<const tune::Task> task_of(const ir::LoopFunc& func, const ir::TargetSpec& target) {
  auto out =
      std::make_shared<tune::Task>(tune::task_from(ir::print(ir::Unit{{}, {}, {func}}), target));
  out->name = func.name;
  return out;
}

SpaceTuned tune_space(const std::shared_ptr<const tune::Task>& task, const tune::Space& space,
                      const SpaceTuning& options) {
  return SpaceTuner(task, space, options).run();
}

}  // namespace tilewright::driver
