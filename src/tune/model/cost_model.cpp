// SPDX-License-Identifier: Apache-2.0
#include "tune/model/cost_model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::tune {
namespace {

// Times that differ by less have the same rank: no pair of them is learnt.
constexpr double kTie = 0.03;
constexpr int kSets = 4;  // of trees

}  // namespace

void CostModel::learn(std::span<const Sample> samples) {
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  fit();
}

void CostModel::fit() {
  std::map<uint64_t, std::vector<const Sample*>> tasks;
  for (const Sample& s : samples_) tasks[s.task].push_back(&s);
  RankedRows data;
  bool pairs = false;
  for (const auto& [task, all] : tasks) {
    double slowest = 0;
    for (const Sample* s : all)
      if (std::isfinite(s->seconds)) slowest = std::max(slowest, s->seconds);
    const size_t first = data.ranks.size();
    for (const Sample* s : all) {
      data.rows.push_back(s->features);
      data.margins.push_back(-s->features[0]);
      const double gain = std::isfinite(s->seconds) && s->seconds > 0
                              ? 1 + std::round(std::log(slowest / s->seconds) / kTie)
                              : 0;
      data.ranks.push_back(static_cast<float>(gain));
      pairs = pairs || data.ranks.back() != data.ranks[first];
    }
    data.groups.push_back(static_cast<unsigned>(all.size()));
  }
  if (!pairs) return;
  trees_.clear();
  for (int seed = 1; seed <= kSets; ++seed) trees_.push_back(Trees::fit(data, seed));
}

std::vector<CostModel::Guess> CostModel::guesses(std::span<const Features> programs) const {
  std::vector<Guess> out(programs.size());
  const double each = 1.0 / static_cast<double>(std::max<size_t>(trees_.size(), 1));
  for (const Trees& trees : trees_) {
    const std::vector<float> learnt = trees.predict(programs);
    for (size_t i = 0; i < programs.size(); ++i) {
      const auto v = static_cast<double>(learnt[i]);
      out[i].score += each * v;
      out[i].doubt += each * v * v;
    }
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    Guess& g = out[i];
    g.doubt = std::sqrt(std::max(g.doubt - g.score * g.score, 0.0));
    g.score -= static_cast<double>(programs[i][0]);
  }
  return out;
}

std::vector<std::vector<float>> CostModel::leaves(std::span<const Features> programs) const {
  std::vector<std::vector<float>> out(programs.size());
  for (const Trees& trees : trees_) {
    const std::vector<float> all = trees.leaves(programs);
    const size_t each = all.size() / std::max<size_t>(programs.size(), 1);
    for (size_t i = 0; i < programs.size(); ++i)
      out[i].insert(out[i].end(), all.begin() + static_cast<std::ptrdiff_t>(i * each),
                    all.begin() + static_cast<std::ptrdiff_t>((i + 1) * each));
  }
  return out;
}

std::vector<double> CostModel::scores(std::span<const Features> programs) const {
  std::vector<double> out;
  for (const Guess& g : guesses(programs)) out.push_back(g.score);
  return out;
}

double pairwise_accuracy(const CostModel& model, std::span<const Sample> samples, double margin) {
  std::vector<Features> rows;
  for (const Sample& s : samples) rows.push_back(s.features);
  const std::vector<double> scores = model.scores(rows);
  double right = 0, all = 0;
  for (size_t i = 0; i < samples.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const double a = samples[i].seconds, b = samples[j].seconds;
      if (samples[i].task != samples[j].task || !std::isfinite(a) || !std::isfinite(b)) continue;
      if (std::max(a, b) < std::min(a, b) * (1 + margin)) continue;
      ++all;
      right += (a < b) == (scores[i] > scores[j]);
    }
  return all > 0 ? right / all : 1;
}

}  // namespace tilewright::tune
