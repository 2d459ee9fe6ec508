// SPDX-License-Identifier: Apache-2.0
// Records as lines of JSON, for other programs, version control and mail:
//   {"workload":"<sha-256>","name":"conv_relu","text":"…"}
//   {"target":"<sha-256>","text":"…"}
//   {"record":{"workload":"<sha-256>","target":"<sha-256>","trace":"…","seconds":[…],…}}
//   {"choice":{"workload":…,"target":…,"record":<identity or null>,"reason":"…"}}
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "support/diagnostic.h"
#include "support/sha256.h"
#include "support/str.h"
#include "tune/records/records.h"

namespace tilewright::tune {
namespace {

using nlohmann::json;

constexpr size_t kMostProblems = 100;
constexpr size_t kBatch = 1000;
constexpr size_t kLongestLine = size_t{16} << 20;

json three(const Estimate& e) { return {e.median, e.low, e.high}; }

json encoded(const Record& r) {
  const Measurement& m = r.measurement;
  return {{"workload", hex(sha256(r.workload))},
          {"target", hex(sha256(r.target))},
          {"trace", r.trace},
          {"point", r.point},
          {"verdict", name(m.verdict)},
          {"error", m.error},
          {"seconds", m.seconds},
          {"time", three(m.time)},
          {"ratio", three(m.ratio)},
          {"threads", r.threads},
          {"config", r.config},
          {"compiler", r.compiler},
          {"when", r.time}};
}

double number(const json& j) {
  const double x = j.get<double>();
  if (!std::isfinite(x) || x < 0) throw std::runtime_error("a time is negative or no number");
  return x;
}

Estimate estimate_of(const json& j) {
  const Estimate e{number(j.at(0)), number(j.at(1)), number(j.at(2))};
  if (!(e.low <= e.median && e.median <= e.high)) throw std::runtime_error("an interval is none");
  return e;
}

Verdict verdict_of(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(Verdict::Failed); ++i)
    if (name(static_cast<Verdict>(i)) == text) return static_cast<Verdict>(i);
  throw std::runtime_error(str("`", text, "` is no verdict"));
}

/// Lines from the first on; what they describe is known to those after.
class Reader {
 public:
  Reader(Records& records, Imported& result) : records_(records), result_(result) {}

  void line(const std::string& text) {
    if (text.size() > kLongestLine) throw std::runtime_error("the line is too long");
    const json from = json::parse(text);
    if (from.contains("record"))
      record(from["record"]);
    else if (from.contains("choice"))
      choice(from["choice"]);
    else if (from.contains("workload"))
      describe(workloads_, from.at("workload"), from, from.at("name"));
    else
      describe(targets_, from.at("target"), from, {});
  }

  void flush() {
    const size_t added = records_.add(batch_);
    result_.added += added;
    result_.known += batch_.size() - added;
    batch_.clear();
  }

 private:
  struct Text {
    std::string text, name;
  };
  using Texts = std::map<std::string, Text>;

  static void describe(Texts& texts, const std::string& hash, const json& from,
                       const std::string& name) {
    const std::string text = from.at("text");
    if (hex(sha256(text)) != hash) throw std::runtime_error("its text is not what its hash says");
    texts[hash] = {text, name};
  }
  static const Text& find(const Texts& texts, const std::string& hash) {
    const auto found = texts.find(hash);
    if (found == texts.end())
      throw std::runtime_error(str("no line before describes ", hash.substr(0, 12)));
    return found->second;
  }

  void record(const json& from) {
    const Text& workload = find(workloads_, from.at("workload"));
    Record r{.workload = workload.text,
             .target = find(targets_, from.at("target")).text,
             .trace = from.at("trace"),
             .point = from.at("point"),
             .measurement = {.verdict = verdict_of(from.at("verdict")),
                             .error = from.at("error"),
                             .seconds = {},
                             .time = estimate_of(from.at("time")),
                             .ratio = estimate_of(from.at("ratio"))},
             .threads = from.at("threads"),
             .config = from.at("config"),
             .compiler = from.at("compiler"),
             .time = from.at("when"),
             .name = workload.name};
    for (const json& s : from.at("seconds")) r.measurement.seconds.push_back(number(s));
    batch_.push_back(std::move(r));
    if (batch_.size() == kBatch) flush();
  }

  /// What this file has decided itself stays.
  void choice(const json& from) {
    flush();
    const std::string& workload = find(workloads_, from.at("workload")).text;
    const std::string& target = find(targets_, from.at("target")).text;
    if (records_.chosen(workload, target)) return;
    int64_t id = 0;
    if (!from.at("record").is_null()) {
      for (const Record& r : records_.of(workload, target))
        if (from["record"] == hex(r.identity())) id = r.id;
      if (id == 0) throw std::runtime_error("the record that is chosen is not there");
    }
    records_.choose(workload, target, id, from.at("reason"));
  }

  Records& records_;
  Imported& result_;
  Texts workloads_, targets_;
  std::vector<Record> batch_;
};

}  // namespace

void export_lines(Records& records, std::ostream& out, Exported which) {
  std::set<std::string> described;
  const auto write = [&](const json& line) {
    out << line.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  };
  const auto write_record = [&](const Record& r) {
    if (described.insert("w" + r.workload).second)
      write({{"workload", hex(sha256(r.workload))}, {"name", r.name}, {"text", r.workload}});
    if (described.insert("t" + r.target).second)
      write({{"target", hex(sha256(r.target))}, {"text", r.target}});
    write({{"record", encoded(r)}});
  };
  if (which == Exported::All) records.each(write_record);
  for (Records::Summary& s : records.summaries()) {
    if (!s.choice) continue;
    if (which == Exported::Chosen) {
      if (!s.choice->record) continue;
      s.choice->record->measurement.seconds.clear();
      write_record(*s.choice->record);
    }
    json line{{"workload", hex(sha256(s.workload))},
              {"target", hex(sha256(s.target))},
              {"record", nullptr},
              {"reason", s.choice->reason}};
    if (s.choice->record) line["record"] = hex(s.choice->record->identity());
    write({{"choice", line}});
  }
}

Imported import_lines(Records& records, std::istream& in) {
  Imported out;
  Reader reader(records, out);
  std::string text;
  for (size_t number = 1; std::getline(in, text); ++number) {
    if (text.empty()) continue;
    try {
      reader.line(text);
    } catch (const Error&) {
      throw;  // of the file that is written to
    } catch (const std::exception& e) {
      if (out.problems.size() < kMostProblems)
        out.problems.push_back(str("line ", number, ": ", e.what()));
      else if (out.problems.size() == kMostProblems)
        out.problems.push_back("and more");
    }
  }
  reader.flush();
  return out;
}

Imported merge(Records& into, Records& from) {
  Imported out;
  std::vector<Record> batch;
  const auto flush = [&] {
    const size_t added = into.add(batch);
    out.added += added;
    out.known += batch.size() - added;
    batch.clear();
  };
  from.each([&](const Record& r) {
    batch.push_back(r);
    if (batch.size() == kBatch) flush();
  });
  flush();
  for (const Records::Summary& s : from.summaries()) {
    if (!s.choice || into.chosen(s.workload, s.target)) continue;
    int64_t id = 0;
    if (s.choice->record)
      for (const Record& r : into.of(s.workload, s.target))
        if (r.identity() == s.choice->record->identity()) id = r.id;
    into.choose(s.workload, s.target, id, s.choice->reason);
  }
  return out;
}

}  // namespace tilewright::tune
