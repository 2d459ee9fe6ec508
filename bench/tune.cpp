// SPDX-License-Identifier: Apache-2.0
// How good searches are on the whole space of the template for CPUs, without an analytic start.
//   tune trials --results FILE [--only PART-OF-NAME] [--trials N] [--seeds N] [--strategies A,B]
//     how many trials each strategy needs to 90 % of the best known speed, and how well the learned
//     model ranks what it has not seen
//   tune template --results FILE [--only PART-OF-NAME] [--trials N]
//     what the learned search finds for one operator of each kind, against its default schedule;
//     for operators that nobody has written a schedule for, also against a plain schedule
// Times are relative to the default schedule's, from calls that alternate. A point that FILE holds
// is not measured again, whoever proposes it, and a search that it holds is not repeated.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <sstream>

#include "lower/to_blocks.h"
#include "runtime/thread_pool.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/choose/stage.h"
#include "tune/measure/local_runner.h"
#include "tune/model/cost_model.h"
#include "tune/search/search.h"
#include "tune/space/master.h"
#include "tune_cases.h"
#include "tune_results.h"

using namespace tilewright;
using bench::KnownPoint;
using bench::Ratio;
using bench::TuneCase;
using bench::TuneResults;

namespace {

constexpr size_t kBatch = 8;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A case with its space and what is known of it.
struct Bench {
  std::shared_ptr<const tune::Task> task;
  tune::Space space;
  TuneResults& results;
  tune::LocalRunner& runner;
  tune::LocalRunner& longer;
  double measured = 0, seconds = 0;  // trials, and how long they took with the search for them

  const std::string& name() const { return task->name; }

  std::vector<tune::Trial> measure(const std::vector<tune::Point>& points) {
    auto& known = results.points(name());
    std::vector<tune::Candidate> fresh;
    std::vector<std::string> names;
    for (const tune::Point& p : points)
      if (!known.contains(space.encode(p))) {
        fresh.push_back({task, space.apply(p).trace()});
        names.push_back(space.encode(p));
      }
    const std::vector<tune::Measurement> all = runner.measure(fresh);
    for (size_t i = 0; i < fresh.size(); ++i) results.add(name(), names[i], all[i]);
    std::vector<tune::Trial> out;
    for (const tune::Point& p : points) out.push_back({p, known[space.encode(p)].first.median});
    return out;
  }

  void run(tune::Strategy strategy, uint64_t seed, size_t trials) {
    const TuneResults::Run run = {name(), std::string(tune::name(strategy)), seed};
    if (results.run(run).trials >= trials) return;
    tune::CostModel model;
    tune::Search search(
        space,
        {.strategy = strategy, .seed = seed, .threads = runtime::available_cpus(), .cold = true},
        {.model = &model, .spec = &task->target, .constants = task->constants});
    std::vector<std::string> points;
    while (points.size() < trials && !search.done()) {
      const Clock::time_point start = Clock::now();
      const size_t before = results.points(name()).size();
      // Nothing tells more than the first measurements: 1, 1, 2, 4, then whole batches.
      const size_t wanted = std::clamp<size_t>(points.size(), 1, kBatch);
      const auto batch = search.propose(std::min(wanted, trials - points.size()));
      if (batch.empty()) break;
      search.report(measure(batch));
      if (results.points(name()).size() == before + batch.size()) {  // none was known
        measured += static_cast<double>(batch.size());
        seconds += seconds_since(start);
      }
      for (const tune::Point& p : batch) points.push_back(space.encode(p));
    }
    results.finish(run, {std::move(points), trials});
  }

  /// The time of the best of these points, which stays the best when it is measured again: of many,
  /// the best is also the luckiest. Infinite when every point has failed.
  double best(const std::vector<std::string>& among) {
    auto& known = results.points(name());
    while (true) {
      const auto at = std::ranges::min_element(
          among, {}, [&](const std::string& p) { return known[p].ratio().median; });
      if (at == among.end()) return INFINITY;
      const KnownPoint& point = known[*at];
      if (point.confirmed || !std::isfinite(point.first.median)) return point.ratio().median;
      const tune::Candidate again{task, space.apply(space.decode(*at)).trace()};
      results.confirm(name(), *at, longer.measure({&again, 1}).front());
    }
  }

  std::vector<std::string> all_points() {
    std::vector<std::string> out;
    for (const auto& [point, known] : results.points(name())) out.push_back(point);
    return out;
  }

  /// Forgets what the space does not have any more.
  void forget_others() {
    std::erase_if(results.points(name()), [&](const auto& known) {
      try {
        space.decode(known.first);
        return false;
      } catch (const Error&) {
        return true;
      }
    });
  }

  bool reaches(const std::string& point, double best) {
    return results.points(name())[point].ratio().median * 0.9 <= best;
  }

  /// Trials until 90 % of the best known speed; infinite when it was not reached.
  double trials_to(const std::vector<std::string>& run, double best) {
    for (size_t i = 0; i < run.size(); ++i)
      if (reaches(run[i], best)) return static_cast<double>(i + 1);
    return INFINITY;
  }
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v.empty() ? NAN : v[v.size() / 2];
}

double mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

/// A measured point as the model sees it, with its interval.
struct Judged {
  tune::Sample sample;
  Ratio ratio;
};

/// Adds the seconds that the features took, without the schedules, to `seconds`.
std::vector<Judged> judged_of(const Bench& bench, uint64_t number, double& seconds) {
  std::vector<Judged> out;
  for (const auto& [text, known] : bench.results.points(bench.name())) {
    const ir::LoopFunc scheduled = bench.space.apply(bench.space.decode(text)).func();
    const Clock::time_point start = Clock::now();
    tune::Features features =
        tune::features_of(scheduled, bench.task->target, bench.task->constants);
    seconds += seconds_since(start);
    const Ratio& r = known.ratio();
    out.push_back({{std::move(features), r.median, number}, r});
  }
  return out;
}

/// Of the pairs whose intervals do not overlap, the share in the right order.
double accuracy(const tune::CostModel& model, const std::vector<Judged>& points) {
  std::vector<tune::Features> rows;
  for (const Judged& p : points) rows.push_back(p.sample.features);
  const std::vector<double> scores = model.scores(rows);
  double right = 0, all = 0;
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t j = 0; j < points.size(); ++j)
      if (points[i].ratio.high < points[j].ratio.low && std::isfinite(points[j].ratio.median)) {
        ++all;
        right += scores[i] > scores[j];
      }
  return all > 0 ? right / all : 1;
}

double seconds_to_score(const tune::CostModel& model, const std::vector<Judged>& points) {
  std::vector<tune::Features> rows;
  for (const Judged& p : points) rows.push_back(p.sample.features);
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < rows.size(); i += kBatch)
    model.guesses(std::span(rows).subspan(i, std::min(kBatch, rows.size() - i)));
  return seconds_since(start);
}

void print_accuracy(const std::vector<Bench>& benches) {
  std::vector<std::vector<Judged>> all;
  double features = 0, scores = 0, points = 0;
  for (size_t i = 0; i < benches.size(); ++i) {
    all.push_back(judged_of(benches[i], i, features));
    points += static_cast<double>(all.back().size());
  }
  std::printf("pairs in the right order, by a model that has not seen the operator\n");
  std::vector<double> learned_all, analytic_all;
  for (size_t i = 0; i < benches.size(); ++i) {
    if (all[i].empty()) continue;
    std::vector<tune::Sample> others;
    for (size_t j = 0; j < all.size(); ++j)
      for (const Judged& p : all[j])
        if (j != i) others.push_back(p.sample);
    tune::CostModel model;
    const double analytic = accuracy(model, all[i]);
    model.learn(others);
    const double learned = accuracy(model, all[i]);
    scores += seconds_to_score(model, all[i]);
    std::printf("%-24s %6.3f learned %6.3f analytic, %zu points\n", benches[i].name().c_str(),
                learned, analytic, all[i].size());
    learned_all.push_back(learned);
    analytic_all.push_back(analytic);
  }
  std::printf("mean %.3f learned, %.3f analytic\n", mean(learned_all), mean(analytic_all));
  std::printf("features of a candidate %.0f us, its score %.0f us\n", 1e6 * features / points,
              1e6 * scores / points);
}

void print_trials(std::vector<Bench>& benches, const std::vector<tune::Strategy>& strategies,
                  uint64_t seeds) {
  std::printf("%-24s %10s %12s", "task", "points", "best speed");
  for (const tune::Strategy s : strategies) std::printf(" %10s", std::string(name(s)).c_str());
  std::printf("   trials to 90 %%, median of %lu seeds\n", static_cast<unsigned long>(seeds));
  for (Bench& bench : benches) {
    const double ratio = bench.best(bench.all_points());
    std::printf("%-24s %10.2g %11.2fx", bench.name().c_str(), bench.space.size().points, 1 / ratio);
    for (const tune::Strategy s : strategies) {
      std::vector<double> counts;
      size_t all = 0, hits = 0;
      for (uint64_t seed = 1; seed <= seeds; ++seed) {
        const std::vector<std::string>& run =
            bench.results.run({bench.name(), std::string(name(s)), seed}).points;
        if (run.empty()) continue;
        counts.push_back(bench.trials_to(run, ratio));
        all += run.size();
        hits += static_cast<size_t>(std::ranges::count_if(
            run, [&](const std::string& p) { return bench.reaches(p, ratio); }));
      }
      std::printf(" %10.0f", median(counts));
      if (s == tune::Strategy::Random) std::printf(" (%zu of %zu points)", hits, all);
    }
    std::printf("\n");
  }
}

/// What anybody would write: the last loop of each result as vectors, inside of what is summed
/// over; the others in parallel.
schedule::Trace plain_trace(const tune::Task& task) {
  schedule::Schedule s(task.func, task.target.instructions);
  std::vector<std::pair<std::string, std::vector<bool>>> blocks;  // name, which loops are spatial
  for (const tune::Stage& stage : tune::stages_of(task.func)) {
    auto& [name, spatial] = blocks.emplace_back(stage.name(), std::vector<bool>{});
    for (const ir::BlockIter& i : stage.block->iters)
      spatial.push_back(i.kind == ir::IterKind::Spatial);
  }
  for (const auto& [name, spatial] : blocks) {
    const std::vector<schedule::LoopRef> loops = s.loops(name);
    std::vector<schedule::LoopRef> outer, inner;
    for (size_t i = 0; i < loops.size(); ++i) (spatial[i] ? outer : inner).push_back(loops[i]);
    const auto [across, lanes] = s.split<2>(outer.back(), {schedule::kOpen, task.target.lanes(32)});
    outer.back() = across;
    std::vector<schedule::LoopRef> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(lanes);
    s.reorder(order);
    s.vectorize(lanes);
    s.parallel(outer.size() > 1 ? s.fuse({outer.begin(), outer.end() - 1}) : outer.front());
  }
  return s.trace();
}

void print_template(Bench& bench, bool invented) {
  const double ratio = bench.best(bench.results.run({bench.name(), "learned", 1}).points);
  std::printf("%-24s %10.2g points %6.2fx over the default schedule", bench.name().c_str(),
              bench.space.size().points, 1 / ratio);
  if (invented) {
    const tune::Candidate plain{bench.task, plain_trace(*bench.task)};
    const tune::Measurement m = bench.longer.measure({&plain, 1}).front();
    if (m.ok())
      std::printf(" %6.2fx over a plain one", m.ratio.median / ratio);
    else
      std::printf("; the plain one: %s", m.error.c_str());
  }
  std::printf("\n");
}

int usage() {
  std::fprintf(stderr,
               "tune trials|template --results FILE [--only NAME] [--trials N] [--seeds N] "
               "[--strategies A,B]\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string part = argc > 1 ? argv[1] : "";
  std::map<std::string, std::string> options = {{"--trials", part == "template" ? "256" : "128"},
                                                {"--seeds", "10"},
                                                {"--strategies", "learned,annealing,random"},
                                                {"--only", ""},
                                                {"--results", ""}};
  for (int i = 2; i + 1 < argc; i += 2) {
    if (!options.contains(argv[i])) return usage();
    options[argv[i]] = argv[i + 1];
  }
  if (options["--results"].empty() || (part != "trials" && part != "template")) return usage();
  const auto trials = std::stoul(options["--trials"]);
  const uint64_t seeds = std::stoul(options["--seeds"]);

  const ir::TargetSpec target = target::host_target();
  const int64_t block = target.lanes(32);  // as layouts are assigned
  TuneResults results(options["--results"], tune::target_text(target));
  tune::LocalRunner runner;
  tune::LocalRunner longer({.sample_seconds = 0.3, .repeats = 61});
  std::vector<Bench> benches;
  const auto add = [&](const std::vector<TuneCase>& cases) {
    for (const TuneCase& c : cases) {
      if (c.name.find(options["--only"]) == std::string::npos) continue;
      const auto task = std::make_shared<tune::Task>(tune::make_task(
          c.name, lower::to_blocks(te::parse_program(c.text)), {"W", "wb"}, target));
      benches.push_back({task, tune::cpu_space(task->func, task->target, task->constants), results,
                         runner, longer});
      benches.back().forget_others();
    }
  };
  if (part == "template") {
    add(bench::common_cases(block));
    const size_t common = benches.size();
    add(bench::invented_cases());
    for (size_t i = 0; i < benches.size(); ++i) {
      benches[i].run(tune::Strategy::Learned, 1, trials);
      print_template(benches[i], i >= common);
      std::fflush(stdout);
    }
    return 0;
  }
  std::vector<tune::Strategy> strategies;
  std::istringstream list(options["--strategies"]);
  for (std::string each; std::getline(list, each, ',');)
    strategies.push_back(tune::strategy_from_name(each));
  add(bench::model_cases(block));
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    for (Bench& bench : benches)
      for (const tune::Strategy strategy : strategies) bench.run(strategy, seed, trials);
  print_trials(benches, strategies, seeds);
  print_accuracy(benches);
  double measured = 0, seconds = 0;
  for (const Bench& bench : benches) measured += bench.measured, seconds += bench.seconds;
  if (measured > 0)
    std::printf("%.0f trials measured in %.0f s: %.1f a second\n", measured, seconds,
                measured / seconds);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
