// SPDX-License-Identifier: Apache-2.0
#include "driver/tune.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "driver/model_tasks.h"
#include "driver/task_search.h"
#include "driver/tune_context.h"
#include "runtime/thread_pool.h"
#include "support/build_id.h"
#include "support/str.h"
#include "target/llvm/compile.h"
#include "tune/measure/local_runner.h"
#include "tune/records/records.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;
using tune::Candidate;
using tune::Measurement;
using tune::Record;

constexpr size_t kBatch = 16;
constexpr double kSearchShare = 0.8;  // of the budget; the rest is for making sure
constexpr size_t kConfirmed = 3;      // of each kernel
constexpr double kConfirmSeconds = 0.3;

TuneOptions for_one_machine(TuneOptions options) {
  if (options.threads <= 0) options.threads = runtime::available_cpus();
  options.model.more_targets.clear();
  options.model.schedules = {};
  options.model.require_schedules = false;
  return options;
}

/// One run of the tuner.
class Tuner {
 public:
  Tuner(const graph::Graph& model, const TuneOptions& options)
      : model_(model),
        options_(for_one_machine(options)),
        records_(options.records, tune::Database::Mode::Create),
        target_(tune::target_text(options.model.target)),
        compiler_(str("tilewright ", build_id(reinterpret_cast<const void*>(&tune_model)), ", ",
                      target::llvm::code_generator(options.model.target))) {}

  TuneReport run() {
    TimedModel before(model_, options_.model, options_.threads, options_.inputs);
    tasks_ = tasks_of(before, options_.model.target);
    start();
    search();
    report_.searching = since_start();
    if (!stopped()) confirm();
    report_.interrupted = stopped();
    if (!report_.interrupted) keep_what_helps(before);
    report_.seconds = since_start();
    return std::move(report_);
  }

 private:
  double since_start() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  bool stopped() const { return options_.stop && *options_.stop; }

  std::vector<Record> known(const ModelTask& task) {
    std::vector<Record> out = records_.of(task.task->workload, target_);
    std::erase_if(out, [&](const Record& r) { return r.threads != options_.threads; });
    return out;
  }

  /// Goes on from what the records know.
  void start() {
    double whole = 0;
    for (const ModelTask& t : tasks_) whole += t.seconds;
    report_.before_ms = whole * 1e3;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const ModelTask& t = tasks_[i];
      searches_.push_back(std::make_unique<TaskSearch>(t.task, options_.seed + i));
      TuneReport::Kernel& kernel = report_.kernels.emplace_back();
      kernel.name = t.task->name;
      kernel.share = t.seconds / whole;
      for (const Record& r : known(t)) {
        count(kernel, r.measurement);
        try {
          searches_[i]->report(schedule::parse_trace(r.trace, "record"), r.measurement);
        } catch (const Error&) {
          continue;  // of a version with other steps
        }
      }
    }
  }

  static void count(TuneReport::Kernel& kernel, const Measurement& m) {
    ++kernel.trials;
    if (!m.ok()) ++kernel.failed;
    if (m.ok() && m.ratio.median < kernel.best.median) kernel.best = m.ratio;
  }

  /// Measures candidates of a task. When it returns, what became of them is on the disk.
  std::vector<Measurement> try_out(size_t i, const std::vector<Candidate>& candidates,
                                   tune::LocalRunner& runner, const tune::MeasureOptions& how) {
    std::vector<Measurement> all = runner.measure(candidates);
    std::vector<Record> records;
    for (size_t c = 0; c < all.size(); ++c) {
      const Measurement& m = all[c];
      if (m.verdict == tune::Verdict::Failed) continue;  // says nothing of the candidate
      records.push_back(
          {.workload = candidates[c].task->workload,
           .target = target_,
           .trace = schedule::print(candidates[c].trace),
           .point = {},
           .measurement = m,
           .threads = options_.threads,
           .config = str("at most ", how.repeats, " pairs with the default schedule in ",
                         how.sample_seconds, " s, arguments in turn, seed ", how.seed),
           .compiler = compiler_,
           .time = static_cast<int64_t>(std::time(nullptr)),
           .name = candidates[c].task->name});
      searches_[i]->report(candidates[c].trace, m);
      count(report_.kernels[i], m);
      ++report_.trials;
      if (!m.ok()) ++report_.failed;
    }
    records_.add(records);
    if (records.empty() && !all.empty()) report_.kernels[i].outcome = all[0].error;
    return all;
  }

  /// The gain of the model, if its kernels took what they take alone.
  double gain() const {
    double now = 0;
    for (const TuneReport::Kernel& k : report_.kernels) now += k.share * k.best.median;
    return 1 / now;
  }

  void show(size_t i) const {
    if (!options_.progress) return;
    options_.progress({.task = report_.kernels[i].name,
                       .best = report_.kernels[i].best,
                       .trials = report_.trials,
                       .failed = report_.failed,
                       .gain = gain(),
                       .seconds = since_start(),
                       .budget = options_.seconds});
  }

  /// The kernel that has had the fewest trials for its share of the time; nothing when none has
  /// anything left to try.
  std::optional<size_t> next_task() const {
    std::optional<size_t> best;
    double least = 0;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const TuneReport::Kernel& k = report_.kernels[i];
      if (searches_[i]->done() || !k.outcome.empty()) continue;
      const double had = static_cast<double>(k.trials + 1) / (k.share * k.best.median);
      if (best && had >= least) continue;
      best = i;
      least = had;
    }
    return best;
  }

  void search() {
    const tune::MeasureOptions how{.threads = options_.threads};
    tune::LocalRunner runner(how);
    runner.stop = options_.stop;
    while (!stopped() && since_start() < kSearchShare * options_.seconds) {
      const std::optional<size_t> next = next_task();
      size_t batch = kBatch;
      if (options_.trials > 0)
        batch = static_cast<size_t>(
            std::clamp<int64_t>(options_.trials - report_.trials, 0, static_cast<int64_t>(kBatch)));
      if (!next || batch == 0) break;
      const std::vector<Candidate> candidates = searches_[*next]->propose(batch);
      if (!candidates.empty()) try_out(*next, candidates, runner, how);
      show(*next);
    }
  }

  /// The fastest of each kernel once more and longer: the best of many is also the luckiest.
  void confirm() {
    const tune::MeasureOptions how{
        .threads = options_.threads, .sample_seconds = kConfirmSeconds, .repeats = 61};
    tune::LocalRunner runner(how);
    runner.stop = options_.stop;
    for (size_t i = 0; i < tasks_.size() && !stopped(); ++i) {
      std::vector<Record> fast = known(tasks_[i]);
      std::erase_if(fast, [](const Record& r) {
        return !r.measurement.ok() || r.measurement.ratio.median >= 1;
      });
      std::ranges::sort(fast, {}, [](const Record& r) { return r.measurement.ratio.median; });
      report_.kernels[i].best = {1, 1, 1};
      std::vector<Candidate> candidates;
      std::vector<std::string> texts;
      for (const Record& r : fast) {
        if (candidates.size() == kConfirmed) break;
        if (std::ranges::count(texts, r.trace) > 0) continue;
        texts.push_back(r.trace);
        candidates.push_back({tasks_[i].task, schedule::parse_trace(r.trace, "record")});
      }
      if (candidates.empty()) continue;
      const std::vector<Measurement> all = try_out(i, candidates, runner, how);
      report_.kernels[i].best = {1, 1, 1};
      for (size_t c = 0; c < all.size(); ++c) {
        if (!all[c].beats_default() || all[c].ratio.median >= report_.kernels[i].best.median)
          continue;
        report_.kernels[i].best = all[c].ratio;
        chosen_[tasks_[i].task->workload] = texts[c];
      }
      show(i);
    }
  }

  /// Compiles the model with what was found, and takes back what does not help there.
  void keep_what_helps(TimedModel& before) {
    const double left = std::max(options_.seconds - since_start(), 0.1 * options_.seconds);
    const ContextResult result = in_context(model_, options_, before, tasks_, chosen_, left);
    report_.whole = result.whole;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const std::string& workload = tasks_[i].task->workload;
      TuneReport::Kernel& kernel = report_.kernels[i];
      if (const auto found = result.kernels.find(workload); found != result.kernels.end())
        kernel.in_model = found->second;
      const auto kept = result.kept.find(workload);
      kernel.tuned = kept != result.kept.end();
      if (kernel.tuned)
        kernel.outcome = "tuned";
      else if (chosen_.contains(workload))
        kernel.outcome = result.problem.empty() ? "faster alone, not in the model" : result.problem;
      else if (kernel.outcome.empty())
        kernel.outcome = kernel.trials == 0 ? "not tried" : "nothing beats it";
      if (kernel.trials == 0) continue;
      int64_t id = 0;
      if (kernel.tuned)
        for (const Record& r : known(tasks_[i]))
          if (r.trace == kept->second) id = r.id;  // the last one was measured longest
      records_.choose(workload, target_, id, kernel.outcome);
    }
  }

  const graph::Graph& model_;
  const TuneOptions options_;
  tune::Records records_;
  std::string target_, compiler_;
  Clock::time_point start_ = Clock::now();
  std::vector<ModelTask> tasks_;
  std::vector<std::unique_ptr<TaskSearch>> searches_;
  std::map<std::string, std::string> chosen_;  // trace by workload
  TuneReport report_;
};

}  // namespace

TuneReport tune_model(const graph::Graph& model, const TuneOptions& options) {
  return Tuner(model, options).run();
}

}  // namespace tilewright::driver
