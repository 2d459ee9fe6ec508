// SPDX-License-Identifier: Apache-2.0
#include "driver/tune.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "driver/model_tasks.h"
#include "driver/tune_context.h"
#include "driver/tune_task.h"
#include "runtime/thread_pool.h"
#include "support/build_id.h"
#include "support/str.h"
#include "target/llvm/compile.h"
#include "tune/measure/local_runner.h"
#include "tune/model/trees.h"
#include "tune/records/records.h"
#include "tune/records/samples.h"
#include "tune/search/tasks.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;
using tune::Measurement;
using tune::Record;
using Proposal = TaskTuner::Proposal;

constexpr size_t kBatch = 8;
constexpr size_t kNearRecords = 4;     // that a kernel without records begins with
constexpr double kSearchShare = 0.75;  // of the budget, for trials; the rest is for whole models
constexpr size_t kInModel = 6;         // candidates of each kernel that are tried there

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
    report_.no_model = tune::Trees::why_not();
    TimedModel before(model_, options_.model, options_.threads, options_.inputs);
    tasks_ = tasks_of(before, options_.model.target, measure_roofs(options_.threads));
    start();
    search();
    report_.searching = since_start();
    if (!stopped()) keep_what_helps(before);
    report_.interrupted = stopped();
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

  /// A kernel that nobody has tried begins with what is fast for others of its kind.
  void suggest_near(size_t i) {
    for (const tune::Records::Near& near :
         records_.near(tasks_[i].task->workload, target_, kNearRecords))
      if (const std::optional<Transferred> start = transferred(*tasks_[i].task, near)) {
        tuners_[i].suggest(*start);
        ++report_.kernels[i].starts;
      }
  }

  /// What the records of other kernels say about this machine.
  void learn_from_others() {
    if (!report_.no_model.empty()) return;
    std::vector<std::string> kernels;
    for (const ModelTask& t : tasks_) kernels.push_back(t.task->workload);
    const std::vector<tune::Sample> samples = tune::samples_of_others(
        records_, kernels, options_.model.target, options_.threads, tasks_.size());
    if (!samples.empty()) cost_model_.learn(samples);
    report_.learnt_before = samples.size();
  }

  /// Goes on from what the records know.
  void start() {
    learn_from_others();
    double whole = 0;
    for (const ModelTask& t : tasks_) whole += t.seconds;
    report_.before_ms = whole * 1e3;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const ModelTask& t = tasks_[i];
      tuners_.emplace_back(t.task, report_.no_model.empty() ? &cost_model_ : nullptr,
                           options_.seed + i, i);
      TuneReport::Kernel& kernel = report_.kernels.emplace_back();
      kernel.name = t.task->name;
      kernel.share = t.seconds / whole;
      kernel.roof = t.seconds > 0 ? t.roof_seconds / t.seconds : 0;
      for (const Record& r : known(t)) {
        count(kernel, r.measurement);
        tuners_[i].report(r.point, r.measurement);
      }
      if (kernel.trials == 0) suggest_near(i);
      states_.push_back({.name = kernel.name,
                         .start_seconds = t.seconds,
                         .roof_seconds = t.roof_seconds,
                         .best = {}});
      if (kernel.trials > 0) states_[i].best = {kernel.best.median * t.seconds};
    }
  }

  /// The best is what is certain: of many medians the least is also the luckiest.
  static void count(TuneReport::Kernel& kernel, const Measurement& m) {
    ++kernel.trials;
    if (!m.ok()) ++kernel.failed;
    if (m.ok() && m.ratio.high < kernel.best.high) kernel.best = m.ratio;
  }

  /// Measures candidates of a task. When it returns, what became of them is on the disk.
  std::vector<Measurement> try_out(size_t i, const std::vector<Proposal>& proposals,
                                   tune::LocalRunner& runner, const tune::MeasureOptions& how) {
    std::vector<tune::Candidate> candidates;
    for (const Proposal& p : proposals) candidates.push_back(p.candidate);
    std::vector<Measurement> all = runner.measure(candidates);
    std::vector<Record> records;
    for (size_t c = 0; c < all.size(); ++c) {
      const Measurement& m = all[c];
      if (m.verdict == tune::Verdict::Failed) continue;  // says nothing of the candidate
      records.push_back({.workload = tasks_[i].task->workload,
                         .target = target_,
                         .trace = schedule::print(candidates[c].trace),
                         .point = proposals[c].point,
                         .measurement = m,
                         .threads = options_.threads,
                         .config = str("at most ", how.repeats,
                                       " pairs with the default schedule in ", how.sample_seconds,
                                       " s, four times that where it may be faster, shortest "
                                       "eighths, 1 % for places, seed ",
                                       how.seed),
                         .compiler = compiler_,
                         .time = static_cast<int64_t>(std::time(nullptr)),
                         .name = tasks_[i].task->name});
      count(report_.kernels[i], m);
      report_.kernels[i].curve.push_back(report_.kernels[i].best.median);
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

  /// How well the cost model knew what has been measured now.
  void rank(const std::vector<Proposal>& proposals, const std::vector<Measurement>& all) {
    if (!report_.no_model.empty()) return;
    TuneReport::Ranked& to = report_.ranked.emplace_back();
    for (size_t a = 0; a < all.size(); ++a)
      for (size_t b = 0; b < all.size(); ++b) {
        if (!all[b].ok() || !all[a].beats(all[b])) continue;
        ++to.pairs;
        to.right += proposals[a].score > proposals[b].score;
      }
  }

  /// What is faster for one kernel may be for others: most models have several that are alike.
  void share(size_t i, const std::vector<Proposal>& proposals,
             const std::vector<Measurement>& all) {
    std::optional<size_t> best;
    for (size_t c = 0; c < all.size(); ++c)
      if (all[c].beats_default() && (!best || all[c].ratio.high < all[*best].ratio.high)) best = c;
    if (!best) return;
    for (size_t j = 0; j < tuners_.size(); ++j)
      if (j != i) tuners_[j].suggest(proposals[*best].point);
  }

  void search() {
    const tune::MeasureOptions how{.threads = options_.threads};
    tune::LocalRunner runner(how);
    runner.stop = options_.stop;
    while (!stopped() && since_start() < kSearchShare * options_.seconds) {
      const std::optional<size_t> next = tune::next_task(states_);
      size_t batch = kBatch;
      if (options_.trials > 0)
        batch = static_cast<size_t>(
            std::clamp<int64_t>(options_.trials - report_.trials, 0, static_cast<int64_t>(kBatch)));
      if (!next || batch == 0) break;
      const size_t i = *next;
      const double begin = since_start();
      const std::vector<Proposal> proposals = tuners_[i].propose(batch);
      const std::vector<Measurement> all = try_out(i, proposals, runner, how);
      for (size_t c = 0; c < all.size(); ++c)
        if (all[c].verdict != tune::Verdict::Failed) tuners_[i].report(proposals[c].point, all[c]);
      const TuneReport::Kernel& kernel = report_.kernels[i];
      share(i, proposals, all);
      rank(proposals, all);
      states_[i].best.push_back(kernel.best.median * states_[i].start_seconds);
      states_[i].batch_seconds = since_start() - begin;
      states_[i].done = tuners_[i].done() || !kernel.outcome.empty();
      show(i);
    }
  }

  /// The fastest of a kernel so far, each schedule once. By what is certain: of many medians the
  /// least is also the luckiest.
  std::vector<driver::Candidate> fastest(const ModelTask& task) {
    std::vector<Record> fast = known(task);
    std::erase_if(fast, [](const Record& r) {
      return !r.measurement.ok() || r.measurement.ratio.median >= 1;
    });
    std::ranges::sort(fast, {}, [](const Record& r) { return r.measurement.ratio.high; });
    std::vector<driver::Candidate> out;
    for (const Record& r : fast) {
      if (out.size() == kInModel) break;
      if (std::ranges::count(out, r.trace, &driver::Candidate::trace) > 0) continue;
      try {
        tune::scheduled(*task.task, schedule::parse_trace(r.trace, "record"));
      } catch (const Error&) {
        continue;  // of a version with other steps
      }
      out.push_back({r.trace, r.measurement.beats_default()});
    }
    return out;
  }

  /// Compiles the model with what was found, and takes back what does not help there.
  void keep_what_helps(TimedModel& before) {
    Candidates candidates;
    for (const ModelTask& t : tasks_)
      if (std::vector<driver::Candidate> fast = fastest(t); !fast.empty())
        candidates[t.task->workload] = std::move(fast);
    // A budget of trials has no seconds: the search says how many are worth it.
    const double all = options_.trials > 0 ? since_start() / kSearchShare : options_.seconds;
    const double left = std::max(all - since_start(), 0.1 * all);
    const ContextResult result = in_context(model_, options_, before, tasks_, candidates, left);
    if (stopped()) return;  // half of it says nothing
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
      else if (candidates.contains(workload))
        kernel.outcome = result.problem.empty() ? "faster alone, not in the model" : result.problem;
      else if (kernel.outcome.empty())
        kernel.outcome = kernel.trials == 0 ? "not tried" : "nothing beats it";
      if (kernel.trials == 0) continue;
      int64_t id = 0;
      if (kernel.tuned)
        for (const Record& r : known(tasks_[i]))
          if (r.trace == kept->second) id = r.id;
      records_.choose(workload, target_, id, kernel.outcome);
    }
  }

  const graph::Graph& model_;
  const TuneOptions options_;
  tune::Records records_;
  std::string target_, compiler_;
  Clock::time_point start_ = Clock::now();
  std::vector<ModelTask> tasks_;
  tune::CostModel cost_model_;  // of all tasks
  std::vector<TaskTuner> tuners_;
  std::vector<tune::TaskState> states_;
  TuneReport report_;
};

}  // namespace

TuneReport tune_model(const graph::Graph& model, const TuneOptions& options) {
  return Tuner(model, options).run();
}

}  // namespace tilewright::driver
