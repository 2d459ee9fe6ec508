// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_task.h"

#include <cmath>

#include "runtime/thread_pool.h"
#include "support/str.h"
#include "tune/space/master.h"
#include "tune/space/nearby.h"

namespace tilewright::driver {
namespace {

constexpr std::string_view kPrefixes[] = {kNearbyPrefix, kMasterPrefix};
// Trials without a gain after which a space is left.
constexpr size_t kPatience[] = {32, 64};
// Answers of the analytic model that may be tried first, and how many of them are: the best by what
// was learnt of other kernels.
constexpr size_t kNextBest = 24, kTried = 12;

}  // namespace

TaskTuner::TaskTuner(std::shared_ptr<const tune::Task> task, tune::CostModel* model, uint64_t seed,
                     uint64_t number)
    : task_(std::move(task)), model_(model), seed_(seed), number_(number) {}

TaskTuner::Part& TaskTuner::open(size_t which) {
  std::unique_ptr<Part>& part = parts_[which];
  if (part) return *part;
  tune::SearchOptions options{
      .strategy = model_ ? tune::Strategy::Learned : tune::Strategy::Annealing,
      .seed = seed_,
      .threads = runtime::available_cpus(),
      .small = 64,
      .patience = kPatience[which]};
  const tune::Guide guide{
      .model = model_, .spec = &task_->target, .constants = task_->constants, .task = number_};
  if (which == Master) {
    part = std::make_unique<Part>(tune::cpu_space(task_->func, task_->target, task_->constants),
                                  options, guide);
    return *part;
  }
  tune::Space space = tune::nearby_space(task_->func, task_->target, task_->constants);
  options.start = tune::next_best(space);
  if (options.start.size() > kNextBest) options.start.resize(kNextBest);
  options.start_trials = kTried;
  part = std::make_unique<Part>(std::move(space), options, guide);
  // Where it starts from: the default schedule itself, which all times are relative to.
  if (const auto first = part->space.first()) part->search.report({{*first, 1.0}});
  return *part;
}

double TaskTuner::score_of(const ir::LoopFunc& scheduled) const {
  if (!model_) return 0;
  return model_->score(tune::features_of(scheduled, task_->target, task_->constants));
}

void TaskTuner::suggest(const Transferred& start) {
  const std::string text = schedule::print(start.trace);
  for (const Proposal& p : suggested_)
    if (schedule::print(p.candidate.trace) == text) return;
  suggested_.push_back(
      {.candidate = {task_, start.trace},
       .point = start.point,
       .score = score_of(schedule::apply(start.trace, task_->func, task_->target.instructions))});
}

void TaskTuner::tell(size_t which) {
  Part& part = open(which);
  std::vector<tune::Trial> trials;
  for (const Report& r : untold_[which]) try {
      trials.push_back({part.space.decode(r.point), r.ratio});
    } catch (const Error&) {
      continue;  // a record of another version
    }
  untold_[which].clear();
  if (!trials.empty()) part.search.report(trials);
  for (const std::string& point : hints_) try {
      if (point.starts_with(kPrefixes[which]))
        part.search.suggest(part.space.decode(point.substr(kPrefixes[which].size())));
    } catch (const Error&) {
      continue;  // a kernel with other knobs
    }
  std::erase_if(hints_, [&](const std::string& p) { return p.starts_with(kPrefixes[which]); });
}

std::vector<TaskTuner::Proposal> TaskTuner::propose(size_t count) {
  std::vector<Proposal> out;
  while (!suggested_.empty() && out.size() < count) {
    out.push_back(std::move(suggested_.front()));
    suggested_.erase(suggested_.begin());
  }
  if (!out.empty()) return out;
  for (const size_t which : {Nearby, Master}) {
    Part& part = open(which);
    tell(which);
    if (!part.search.done())
      for (const tune::Point& p : part.search.propose(count))
        out.push_back({.candidate = {task_, part.search.trace(p)},
                       .point = str(kPrefixes[which], part.space.encode(p)),
                       .score = part.search.score(p)});
    if (!out.empty()) return out;
  }
  done_ = true;
  return out;
}

void TaskTuner::report(const std::string& point, const tune::Measurement& m) {
  for (const size_t which : {Nearby, Master})
    if (point.starts_with(kPrefixes[which]))
      untold_[which].push_back(
          {point.substr(kPrefixes[which].size()), m.ok() ? m.ratio.median : INFINITY});
}

}  // namespace tilewright::driver
