// SPDX-License-Identifier: Apache-2.0
// How many trials a search needs, on the whole space of the template for CPUs, without an analytic
// start: learned, annealed without a model, random. Speed is that of the default schedule over the
// candidate's, from calls that alternate.
//   tune --results FILE [--only PART-OF-NAME] [--trials N] [--seeds N] [--strategies A,B]
// FILE is lines of JSON, one for each measured point and one for each finished run. A point that it
// holds is not measured again, whoever proposes it; a run that it holds is not repeated.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "lower/to_blocks.h"
#include "runtime/thread_pool.h"
#include "support/str.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/measure/local_runner.h"
#include "tune/model/cost_model.h"
#include "tune/search/search.h"
#include "tune/space/master.h"

using namespace tilewright;
using nlohmann::json;

namespace {

constexpr size_t kBatch = 8;
constexpr double kConfirmed = 1.2;  // the interval of a time that counts as the best known

struct Case {
  std::string name, text;
};

/// A convolution of ResNet-18 with its channels in pieces of 16, as layouts are assigned.
Case conv(int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  const int64_t pad = kernel / 2, result = (size + 2 * pad - kernel) / stride + 1;
  const int64_t padded = size + 2 * pad, ci = in / 16, co = out / 16;
  std::string text =
      str("te conv(X: f32[", ci, ", ", size, ", ", size, ", 16], W: f32[", co, ", 16, ", ci,
          ", 16, ", kernel, ", ", kernel, "], wb: f32[", co, ", 16]) {\n");
  if (pad > 0)
    text += str("  P[c in ", ci, ", y in ", padded, ", x in ", padded, ", d in 16] = guard(", pad,
                " <= y && y < ", size + pad, " && ", pad, " <= x && x < ", size + pad,
                ", X[c, y - ", pad, ", x - ", pad, ", d], 0.0)\n");
  text += str("  C[m in ", co, ", y in ", result, ", x in ", result, ", e in 16] = sum(c in ", ci,
              ", r in ", kernel, ", s in ", kernel, ", d in 16) ", pad > 0 ? "P" : "X", "[c, y * ",
              stride, " + r, x * ", stride, " + s, d] * W[m, e, c, d, r, s]\n");
  text += str("  D[m in ", co, ", y in ", result, ", x in ", result,
              ", e in 16] = max(C[m, y, x, e] + wb[m, e], 0.0)\n  return D\n}");
  return {str("conv ", size, ",", in, ",", out, " ", kernel, "x", kernel, "/", stride), text};
}

Case gemm(int64_t m, int64_t n, int64_t k) {
  return {
      str("gemm ", m, ",", n, ",", k),
      str("te gemm(A: f32[", m, ", ", k, "], W: f32[", k, ", ", n, "], wb: f32[", n,
          "]) {\n  C[y in ", m, ", x in ", n, "] = sum(k in ", k, ") A[y, k] * W[k, x]\n  D[y in ",
          m, ", x in ", n, "] = C[y, x] + wb[x]\n  return D\n}")};
}

std::vector<Case> all_cases() {
  return {conv(56, 64, 64, 3, 1),   conv(56, 64, 128, 3, 2),  conv(56, 64, 128, 1, 2),
          conv(28, 128, 128, 3, 1), conv(28, 128, 256, 3, 2), conv(28, 128, 256, 1, 2),
          conv(14, 256, 256, 3, 1), conv(14, 256, 512, 3, 2), conv(14, 256, 512, 1, 2),
          conv(7, 512, 512, 3, 1),  gemm(128, 768, 768),      gemm(128, 3072, 768),
          gemm(128, 768, 3072)};
}

/// A measured point: its time over the default's, and the interval of that. Failed: infinite.
struct Known {
  double ratio = INFINITY, low = INFINITY, high = INFINITY;
};

double read_number(const json& j) { return j.is_number() ? j.get<double>() : INFINITY; }

/// The file, and what it says.
class Results {
 public:
  explicit Results(std::string path) : path_(std::move(path)) {
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) {
      const json j = json::parse(line, nullptr, false);
      if (j.is_discarded()) continue;  // the last line of a run that was killed
      if (j.contains("point"))
        points[j["task"]][j["point"]] = {read_number(j["ratio"]), read_number(j["low"]),
                                         read_number(j["high"])};
      else if (j.contains("curve"))
        for (auto& curve = runs[{j["task"], j["strategy"], j["seed"]}] = {};
             const json& v : j["curve"])
          curve.push_back(read_number(v));
    }
  }
  void add(const json& j) const { std::ofstream(path_, std::ios::app) << j.dump() << "\n"; }

  std::map<std::string, std::map<std::string, Known>> points;
  std::map<std::tuple<std::string, std::string, uint64_t>, std::vector<double>> runs;

 private:
  std::string path_;
};

json number(double v) { return std::isfinite(v) ? json(v) : json(); }

struct Bench {
  std::shared_ptr<const tune::Task> task;
  tune::Space space;
  tune::LocalRunner& runner;
  Results& results;

  std::vector<tune::Trial> measure(const std::vector<tune::Point>& points) {
    auto& known = results.points[task->name];
    std::vector<tune::Candidate> fresh;
    std::vector<std::string> names;
    for (const tune::Point& p : points)
      if (!known.contains(space.encode(p))) {
        fresh.push_back({task, space.apply(p).trace()});
        names.push_back(space.encode(p));
      }
    const std::vector<tune::Measurement> measured = runner.measure(fresh);
    for (size_t i = 0; i < fresh.size(); ++i) {
      const tune::Measurement& m = measured[i];
      Known& k = known[names[i]];
      if (m.ok()) k = {m.ratio.median, m.ratio.low, m.ratio.high};
      results.add({{"task", task->name},
                   {"point", names[i]},
                   {"verdict", name(m.verdict)},
                   {"ratio", number(k.ratio)},
                   {"low", number(k.low)},
                   {"high", number(k.high)}});
    }
    std::vector<tune::Trial> out;
    for (const tune::Point& p : points) out.push_back({p, known[space.encode(p)].ratio});
    return out;
  }

  /// The best ratio after each trial.
  std::vector<double> run(tune::Strategy strategy, uint64_t seed, size_t trials) {
    tune::CostModel model;
    const int cores = runtime::available_cpus();
    tune::Search search(space, {.strategy = strategy, .seed = seed, .threads = cores, .cold = true},
                        {.model = &model, .spec = &task->target, .constants = task->constants});
    std::vector<double> curve;
    double best = INFINITY;
    while (curve.size() < trials && !search.done()) {
      const auto batch = search.propose(std::min(kBatch, trials - curve.size()));
      if (batch.empty()) break;
      const auto measured = measure(batch);
      for (const tune::Trial& t : measured) curve.push_back(best = std::min(best, t.seconds));
      search.report(measured);
    }
    return curve;
  }
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v.empty() ? NAN : v[v.size() / 2];
}

/// Trials until 90 % of the best known speed; infinite when it was not reached.
double trials_to(const std::vector<double>& curve, double best) {
  for (size_t i = 0; i < curve.size(); ++i)
    if (curve[i] * 0.9 <= best) return static_cast<double>(i + 1);
  return INFINITY;
}

/// A measured point as the model sees it, with its interval.
struct Judged {
  tune::Sample sample;
  Known known;
};

std::vector<Judged> judged_of(const Bench& bench, uint64_t number) {
  std::vector<Judged> out;
  for (const auto& [text, known] : bench.results.points[bench.task->name])
    out.push_back({{tune::features_of(bench.space.apply(bench.space.decode(text)).func(),
                                      bench.task->target, bench.task->constants),
                    known.ratio, number},
                   known});
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
      if (points[i].known.high < points[j].known.low && std::isfinite(points[j].known.ratio)) {
        ++all;
        right += scores[i] > scores[j];
      }
  return all > 0 ? right / all : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options = {{"--trials", "128"},
                                                {"--seeds", "10"},
                                                {"--strategies", "learned,annealing,random"},
                                                {"--only", ""},
                                                {"--results", ""}};
  for (int i = 1; i + 1 < argc; i += 2)
    if (options.contains(argv[i])) options[argv[i]] = argv[i + 1];
  if (options["--results"].empty()) {
    std::fprintf(stderr,
                 "tune --results FILE [--only NAME] [--trials N] [--seeds N] "
                 "[--strategies A,B]\n");
    return 1;
  }
  std::vector<tune::Strategy> strategies;
  std::istringstream list(options["--strategies"]);
  for (std::string each; std::getline(list, each, ',');)
    strategies.push_back(tune::strategy_from_name(each));
  const auto trials = std::stoul(options["--trials"]);
  const uint64_t seeds = std::stoul(options["--seeds"]);

  Results results(options["--results"]);
  tune::LocalRunner runner;
  std::vector<Bench> benches;
  for (const Case& c : all_cases()) {
    if (c.name.find(options["--only"]) == std::string::npos) continue;
    const auto task = std::make_shared<tune::Task>(tune::make_task(
        c.name, lower::to_blocks(te::parse_program(c.text)), {"W", "wb"}, target::host_target()));
    benches.push_back(
        {task, tune::cpu_space(task->func, task->target, task->constants), runner, results});
  }
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    for (Bench& bench : benches)
      for (const tune::Strategy strategy : strategies) {
        auto& curve = results.runs[{bench.task->name, std::string(name(strategy)), seed}];
        if (curve.size() >= trials) continue;
        curve = bench.run(strategy, seed, trials);
        json numbers = json::array();
        for (const double v : curve) numbers.push_back(number(v));
        results.add({{"task", bench.task->name},
                     {"strategy", name(strategy)},
                     {"seed", seed},
                     {"curve", numbers}});
      }

  std::printf("%-24s %10s %12s", "task", "points", "best speed");
  for (const tune::Strategy s : strategies) std::printf(" %10s", std::string(name(s)).c_str());
  std::printf("   trials to 90 %%, median of %lu seeds\n", static_cast<unsigned long>(seeds));
  std::vector<std::vector<Judged>> all;
  for (size_t i = 0; i < benches.size(); ++i) {
    const Bench& bench = benches[i];
    // Confirmed: a point whose interval is wide was disturbed.
    double best = INFINITY;
    for (const auto& [point, known] : results.points[bench.task->name])
      if (known.high < kConfirmed * known.low) best = std::min(best, known.ratio);
    std::printf("%-24s %10.2g %11.2fx", bench.task->name.c_str(), bench.space.size().points,
                1 / best);
    for (const tune::Strategy s : strategies) {
      std::vector<double> counts;
      for (uint64_t seed = 1; seed <= seeds; ++seed)
        counts.push_back(
            trials_to(results.runs[{bench.task->name, std::string(name(s)), seed}], best));
      std::printf(" %10.0f", median(counts));
    }
    std::printf("\n");
    all.push_back(judged_of(bench, i));
  }
  // Each task in turn is the one that the model has not seen.
  double sum = 0, guess = 0;
  for (size_t i = 0; i < benches.size(); ++i) {
    std::vector<tune::Sample> others;
    for (size_t j = 0; j < all.size(); ++j)
      for (const Judged& p : all[j])
        if (j != i) others.push_back(p.sample);
    tune::CostModel model;
    guess += accuracy(model, all[i]) / static_cast<double>(benches.size());
    model.learn(others);
    sum += accuracy(model, all[i]) / static_cast<double>(benches.size());
  }
  std::printf("pairwise accuracy on unseen operators: %.3f learned, %.3f analytic\n", sum, guess);
}
