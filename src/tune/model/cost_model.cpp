// SPDX-License-Identifier: Apache-2.0
#include "tune/model/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "support/bare/checksum.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::tune {
namespace {

// Times that differ by less have the same rank: no pair of them is learnt.
constexpr double kTie = 0.03;
constexpr int kSets = 4;  // of trees

constexpr char kMagic[8] = {'T', 'W', 'C', 'O', 'S', 'T', '0', '1'};
// Changes with what features mean.
constexpr std::string_view kMeaning = "registers and windows counted";

/// Changes when a feature is added, removed or renamed, too.
uint64_t kind_of_features() {
  Checksum sum;
  sum.add(kMeaning.data(), kMeaning.size());
  for (size_t i = 0; i < kFeatures; ++i)
    sum.add(feature_name(i).c_str(), feature_name(i).size() + 1);
  return sum.value();
}

[[noreturn]] void bad_file(const std::filesystem::path& path, std::string note) {
  throw Error({.code = "tune.model.file",
               .at = {},
               .message = str("cannot read the cost model `", path.string(), "`"),
               .notes = {std::move(note)},
               .help = "delete it: a new one is learnt from the records"});
}

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

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

void CostModel::save(const std::filesystem::path& path) const {
  std::string bytes(kMagic, sizeof kMagic);
  put(bytes, kind_of_features());
  put(bytes, static_cast<uint64_t>(samples_.size()));
  for (const Sample& s : samples_) {
    put(bytes, s.task);
    put(bytes, s.seconds);
    put(bytes, s.features);
  }
  put(bytes, checksum(bytes.data(), bytes.size()));
  // A file is there whole or not at all.
  std::filesystem::path part = path;
  part += ".part";
  std::ofstream out(part, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(part, path, error);
  if (!out || error)
    throw Error({.code = "tune.model.write",
                 .at = {},
                 .message = str("cannot write the cost model `", path.string(), "`"),
                 .notes = {error ? error.message() : "the disk is full or the folder is read-only"},
                 .help = "name another file, or make room"});
}

CostModel CostModel::load(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) bad_file(path, "there is no such file, or it may not be read");
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  constexpr size_t kHead = sizeof kMagic + 16, kEach = 16 + sizeof(Features);
  const auto number = [&](size_t at) {
    uint64_t v = 0;
    std::memcpy(&v, bytes.data() + at, sizeof v);
    return v;
  };
  if (bytes.size() < kHead + 8 || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    bad_file(path, "it is no cost model");
  if (number(8) != kind_of_features()) bad_file(path, "it was made with other features");
  const uint64_t count = number(16);
  if ((bytes.size() - kHead - 8) / kEach != count || (bytes.size() - kHead - 8) % kEach != 0)
    bad_file(path, str("it should hold ", count, " samples and has ", bytes.size(), " bytes"));
  if (number(bytes.size() - 8) != checksum(bytes.data(), bytes.size() - 8))
    bad_file(path, "its checksum is wrong");
  CostModel out;
  out.samples_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const char* at = bytes.data() + kHead + i * kEach;
    Sample& s = out.samples_[i];
    std::memcpy(&s.task, at, 8);
    std::memcpy(&s.seconds, at + 8, 8);
    std::memcpy(s.features.data(), at + 16, sizeof(Features));
    if (!std::ranges::all_of(s.features, [](float f) { return std::isfinite(f); }))
      bad_file(path, str("sample ", i, " has a feature that is no number"));
  }
  out.fit();
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
