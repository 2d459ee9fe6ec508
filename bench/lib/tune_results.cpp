// SPDX-License-Identifier: Apache-2.0
#include "tune_results.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace bench {

using nlohmann::json;
using tilewright::tune::Measurement;

static json number(double v) { return std::isfinite(v) ? json(v) : json(); }
static double read_number(const json& j) { return j.is_number() ? j.get<double>() : INFINITY; }

static Ratio ratio_of(const Measurement& m) {
  return m.ok() ? Ratio{m.ratio.median, m.ratio.low, m.ratio.high} : Ratio{};
}

static Ratio read_ratio(const json& j) {
  return {read_number(j["ratio"]), read_number(j["low"]), read_number(j["high"])};
}

static json line_of(const std::string& task, const char* key, const std::string& point,
                    const Measurement& m) {
  const Ratio r = ratio_of(m);
  return {{"task", task},
          {key, point},
          {"verdict", name(m.verdict)},
          {"ratio", number(r.median)},
          {"low", number(r.low)},
          {"high", number(r.high)}};
}

TuneResults::TuneResults(std::string path, const std::string& machine) : path_(std::move(path)) {
  std::ifstream in(path_);
  bool fresh = true;
  for (std::string line; std::getline(in, line);) {
    const json j = json::parse(line, nullptr, false);
    if (j.is_discarded()) continue;  // the last line of a run that was killed
    if (j.contains("machine")) {
      fresh = false;
      if (j["machine"] != machine)
        throw std::runtime_error("`" + path_ + "` is of another machine: name another file");
    } else if (j.contains("point")) {
      points_[j["task"]][j["point"]].first = read_ratio(j);
    } else if (j.contains("confirm")) {
      points_[j["task"]][j["confirm"]].confirmed = read_ratio(j);
    } else if (j.contains("points")) {
      runs_[{j["task"], j["strategy"], j["seed"]}] = {j["points"], j["trials"]};
    }
  }
  if (fresh) write(json{{"machine", machine}}.dump());
}

void TuneResults::write(const std::string& line) const {
  std::ofstream out(path_, std::ios::app);
  out << line << "\n";
  out.close();
  if (!out) throw std::runtime_error("cannot write to `" + path_ + "`");
}

void TuneResults::add(const std::string& task, const std::string& point, const Measurement& m) {
  points_[task][point].first = ratio_of(m);
  // Failed says nothing of the point: the next benchmark tries it again.
  if (m.verdict != tilewright::tune::Verdict::Failed)
    write(line_of(task, "point", point, m).dump());
}

void TuneResults::confirm(const std::string& task, const std::string& point, const Measurement& m) {
  points_[task][point].confirmed = ratio_of(m);
  if (m.verdict != tilewright::tune::Verdict::Failed)
    write(line_of(task, "confirm", point, m).dump());
}

void TuneResults::finish(const Run& run, Proposed proposed) {
  const auto& [task, strategy, seed] = run;
  write(json{{"task", task},
             {"strategy", strategy},
             {"seed", seed},
             {"trials", proposed.trials},
             {"points", proposed.points}}
            .dump());
  runs_[run] = std::move(proposed);
}

}  // namespace bench
