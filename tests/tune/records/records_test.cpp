// SPDX-License-Identifier: Apache-2.0
#include "tune/records/records.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>
#include <thread>

#include "common/errors.h"
#include "support/process.h"
#include "tune/records/kill.h"

namespace tilewright::tune {
namespace {

using Mode = Database::Mode;

class RecordsFile : public testing::Test {
 protected:
  TempFolder folder_;
  std::string path_ = (folder_.path() / "records.db").string();

  std::string file(const std::string& name, const std::string& content) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string error_of_open(const std::string& path, Mode mode = Mode::Create) {
    return std::string(diagnostic_of([&] { Records records(path, mode); }).code);
  }
};

Record record_of(double ratio, double high, int64_t number = 0) {
  Record r = numbered_record(number * 5);
  r.measurement.ratio = {ratio, ratio * 0.99, high};
  return r;
}

/// The same, twice as fast as the default schedule, of a kernel with this text.
Record near_record(Record r, std::string workload) {
  r.workload = std::move(workload);
  r.measurement.ratio = {0.5, 0.49, 0.51};
  return r;
}

TEST_F(RecordsFile, KeepsEveryFieldOfARecord) {
  Record r = numbered_record(3);
  r.point = "tile=4x4";
  r.measurement.error = "none";
  r.threads = 7;
  {
    Records records(path_, Mode::Create);
    EXPECT_EQ(records.add(std::span(&r, 1)), 1u);
    EXPECT_EQ(records.add(std::span(&r, 1)), 0u);  // the same twice is one
  }
  Records records(path_, Mode::Existing);
  const std::vector<Record> all = records.of(r.workload, r.target);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].identity(), r.identity());
  EXPECT_EQ(all[0].name, r.name);
  EXPECT_EQ(all[0].point, "tile=4x4");
  EXPECT_EQ(all[0].threads, 7);
}

TEST_F(RecordsFile, KeepsFailuresThatHaveNoTimes) {
  Record r = numbered_record(3);
  r.measurement = {.verdict = Verdict::Crashed, .error = "it crashed"};
  Records records(path_, Mode::Create);
  EXPECT_EQ(records.add(std::span(&r, 1)), 1u);
  const std::vector<Record> all = records.of(r.workload, r.target);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].identity(), r.identity());
  EXPECT_FALSE(records.best(r.workload, r.target));
}

TEST_F(RecordsFile, OtherKernelsAreThoseOfTheMachineTheMostAlikeFirst) {
  Records records(path_, Mode::Create);
  const auto add = [&](const std::string& workload, const std::string& target, int threads = 1) {
    Record r = numbered_record(1);
    r.workload = workload;
    r.target = target;
    r.threads = threads;
    records.add(std::span(&r, 1));
  };
  for (const char* text : {"product 64 32", "sum 8", "scan 9", "product 128 32"}) add(text, "here");
  add("product 32 32", "there");
  add("product 16 32", "here", 2);
  const auto names = [&](size_t most) {
    std::vector<std::string> out;
    for (const auto& p : records.others({"product 128 32"}, "here", 1, most, 9)) {
      out.push_back(p.workload);
      EXPECT_EQ(p.measured.size(), 1u);
    }
    return out;
  };
  EXPECT_EQ(names(9), (std::vector<std::string>{"product 64 32", "scan 9", "sum 8"}));
  EXPECT_EQ(names(2), (std::vector<std::string>{"product 64 32", "scan 9"}));
  EXPECT_TRUE(records.others({}, "nowhere", 1, 9, 9).empty());
}

TEST_F(RecordsFile, ProgramsOfOtherKernelsGoFromTheFastestToTheSlowest) {
  Records records(path_, Mode::Create);
  const auto add = [&](double ratio, const std::string& compiler, Verdict verdict = Verdict::Ok) {
    Record r = numbered_record(5);
    r.trace = std::to_string(ratio);
    r.compiler = compiler;
    r.measurement.verdict = verdict;
    r.measurement.ratio = {ratio, ratio, ratio};
    records.add(std::span(&r, 1));
  };
  add(0.5, "older");  // than another default schedule, maybe
  for (int i = 0; i < 61; ++i) add(1.5 + 0.25 * i, "newest");
  add(0.25, "newest", Verdict::Crashed);
  add(1e300, "newest");
  add(0, "newest");
  const auto all = records.others({}, "machine", 1, 9, 4);
  ASSERT_EQ(all.size(), 1u);
  std::vector<double> ratios;
  for (const auto& m : all[0].measured) {
    EXPECT_EQ(m.trace, std::to_string(m.ratio));
    ratios.push_back(m.ratio);
  }
  EXPECT_EQ(ratios, (std::vector<double>{1.5, 6.5, 11.5, 16.5}));
}

TEST_F(RecordsFile, BestIsTheFastestThatWorks) {
  Records records(path_, Mode::Create);
  std::vector<Record> all = {record_of(0.9, 0.95, 1), record_of(0.7, 0.72, 2),
                             record_of(0.8, 0.85, 3), record_of(0.1, 0.2, 4)};
  all[3].measurement.verdict = Verdict::Wrong;
  records.add(all);
  const auto best = records.best(all[0].workload, all[0].target);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->measurement.ratio.median, 0.7);
  EXPECT_FALSE(records.best(all[0].workload, "another machine"));
  EXPECT_FALSE(records.best("another kernel", all[0].target));
}

TEST_F(RecordsFile, ATieIsNotUsed) {
  Records records(path_, Mode::Create);
  const Record tie = record_of(0.97, 1.01);
  records.add(std::span(&tie, 1));
  auto use = records.to_use(tie.workload, tie.target);
  ASSERT_TRUE(use);
  EXPECT_FALSE(use->record);
  const Record win = record_of(0.9, 0.95, 1);
  records.add(std::span(&win, 1));
  use = records.to_use(win.workload, win.target);
  ASSERT_TRUE(use && use->record);
  EXPECT_EQ(use->record->identity(), win.identity());
}

TEST_F(RecordsFile, WhatTuningHasChosenGoesBeforeTheBest) {
  Records records(path_, Mode::Create);
  const Record a = record_of(0.9, 0.95, 1), b = record_of(0.8, 0.85, 2);
  records.add(std::vector{a, b});
  const std::vector<Record> all = records.of(a.workload, a.target);
  records.choose(a.workload, a.target, all[0].id, "best in the model");
  EXPECT_EQ(records.to_use(a.workload, a.target)->record->identity(), a.identity());
  records.choose(a.workload, a.target, 0, "does not help in the model");
  const auto use = records.to_use(a.workload, a.target);
  ASSERT_TRUE(use);
  EXPECT_FALSE(use->record);
  EXPECT_EQ(use->reason, "does not help in the model");
}

TEST_F(RecordsFile, LinesThereAndBackGiveTheSame) {
  Records records(path_, Mode::Create);
  std::vector<Record> all;
  for (int64_t i = 0; i < 40; ++i) all.push_back(numbered_record(i));
  all[7].measurement.verdict = Verdict::TimedOut;
  all[8].trace = "quotes \" and \n lines";
  records.add(all);
  records.choose(all[0].workload, all[0].target, records.of(all[0].workload, "machine")[1].id,
                 "yes");
  records.choose(all[1].workload, all[1].target, 0, "no");
  std::stringstream lines;
  export_lines(records, lines);

  Records other((folder_.path() / "other.db").string(), Mode::Create);
  const Imported result = import_lines(other, lines);
  EXPECT_EQ(result.added, 40u);
  EXPECT_TRUE(result.problems.empty()) << result.problems[0];
  std::vector<std::string> want, got;
  records.each([&](const Record& r) { want.push_back(r.identity() + r.name); });
  other.each([&](const Record& r) { got.push_back(r.identity() + r.name); });
  EXPECT_EQ(want, got);
  EXPECT_EQ(other.chosen(all[0].workload, "machine")->record->identity(), all[5].identity());
  EXPECT_FALSE(other.chosen(all[1].workload, "machine")->record);
  lines.clear();
  lines.seekg(0);
  EXPECT_EQ(import_lines(other, lines).known, 40u);
}

TEST_F(RecordsFile, BrokenLinesAreLeftOutAndNamed) {
  Records records(path_, Mode::Create);
  const std::vector<Record> all = {numbered_record(0), numbered_record(5), numbered_record(10)};
  records.add(all);
  std::stringstream lines;
  export_lines(records, lines);
  std::vector<std::string> text;
  for (std::string l; std::getline(lines, l);) text.push_back(l);
  ASSERT_EQ(text.size(), 5u);  // kernel, machine, three records
  text[3] = text[3].substr(0, text[3].size() / 2);
  text.insert(text.begin() + 1, "nonsense");
  text.push_back(R"({"record": {"workload": "00", "target": "00"}})");
  text.push_back(R"({"target": "00", "text": "not its hash"})");
  std::string negative = text[5];
  negative.replace(negative.find("\"seconds\":["), 11, "\"seconds\":[-1,");
  text.push_back(negative);
  std::stringstream broken;
  for (const std::string& l : text) broken << l << "\n";
  Records other((folder_.path() / "other.db").string(), Mode::Create);
  const Imported result = import_lines(other, broken);
  EXPECT_EQ(result.added, 2u);
  ASSERT_EQ(result.problems.size(), 5u);
  EXPECT_EQ(result.problems[0].substr(0, 7), "line 2:");
  EXPECT_EQ(result.problems[1].substr(0, 7), "line 5:");
}

TEST_F(RecordsFile, MergeAddsWhatIsMissing) {
  Records a(path_, Mode::Create), b((folder_.path() / "b.db").string(), Mode::Create);
  a.add(std::vector{numbered_record(0), numbered_record(1)});
  b.add(std::vector{numbered_record(1), numbered_record(2)});
  b.choose(numbered_record(2).workload, "machine",
           b.of(numbered_record(2).workload, "machine")[0].id, "best");
  const Imported result = merge(a, b);
  EXPECT_EQ(result.added, 1u);
  EXPECT_EQ(result.known, 1u);
  EXPECT_EQ(a.count(), 3);
  EXPECT_TRUE(a.chosen(numbered_record(2).workload, "machine")->record);
}

TEST_F(RecordsFile, PruneKeepsTheBestAndTheChosen) {
  Records records(path_, Mode::Create);
  std::vector<Record> all;
  for (int64_t i = 0; i < 6; ++i)
    all.push_back(record_of(1.0 - 0.1 * static_cast<double>(i), 1.2, i));
  records.add(all);
  records.choose(all[0].workload, "machine", records.of(all[0].workload, "machine")[0].id, "so");
  EXPECT_EQ(records.prune(2), 3);
  const std::vector<Record> left = records.of(all[0].workload, "machine");
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(left[0].identity(), all[0].identity());
  EXPECT_EQ(left[1].identity(), all[4].identity());
  EXPECT_EQ(left[2].identity(), all[5].identity());
}

TEST_F(RecordsFile, OfAnotherKindIsRefusedAndLeftAsItIs) {
  const std::string text = file("notes.txt", "these are my notes, and not a database at all");
  EXPECT_EQ(error_of_open(text), "tune.records.foreign");
  std::ifstream in(text);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "these are my notes, and not a database at all");
  const std::string other = (folder_.path() / "other.db").string();
  Database(other, Mode::Create).run("CREATE TABLE address (name TEXT)");
  EXPECT_EQ(error_of_open(other), "tune.records.foreign");
  EXPECT_EQ(error_of_open((folder_.path() / "none.db").string(), Mode::Existing),
            "tune.records.missing");
  EXPECT_EQ(error_of_open("/nowhere/at/all.db"), "tune.records.open");
  EXPECT_EQ(error_of_open(file("empty.db", ""), Mode::Existing), "tune.records.foreign");
}

TEST_F(RecordsFile, ADamagedOneIsRefused) {
  {
    Records records(path_, Mode::Create);
    std::vector<Record> all;
    for (int64_t i = 0; i < 200; ++i) all.push_back(numbered_record(i));
    records.add(all);
  }
  std::string bytes;
  {
    std::ifstream in(path_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  // Wherever the damage is: an Error of ours or an answer, never a crash.
  int refused = 0;
  for (size_t at = 0; at + 4096 < bytes.size(); at += 4096) {
    std::string broken = bytes;
    for (size_t i = 0; i < 600; ++i) broken[at + i] = static_cast<char>(0x5a + i);
    const std::string path = file("broken.db", broken);
    try {
      Records records(path, Mode::Existing);
      int64_t seen = 0;
      records.each([&](const Record&) { ++seen; });
      for (int64_t i = 0; i < 5; ++i) records.best(numbered_record(i).workload, "machine");
    } catch (const Error& e) {
      EXPECT_TRUE(e.diagnostic.code.starts_with("tune.records.")) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 3);
  const std::string half = file("half.db", bytes.substr(0, bytes.size() / 2));
  const auto use = [&] {
    Records records(half, Mode::Existing);
    records.each([](const Record&) {});
  };
  EXPECT_EQ(diagnostic_of(use).code, "tune.records.corrupt");
}

TEST_F(RecordsFile, OfANewerProgramIsRefused) {
  {
    Records records(path_, Mode::Create);
  }
  Database(path_, Mode::Existing).run("PRAGMA user_version = 99");
  EXPECT_EQ(error_of_open(path_), "tune.records.newer");
}

TEST_F(RecordsFile, OfAnOlderVersionIsBroughtUpToDate) {
  const Record r = numbered_record(1);
  {
    Records records(path_, Mode::Create);
    records.add(std::span(&r, 1));
  }
  const Record near = near_record(r, "kernel of 8");
  for (const char* older :
       {"PRAGMA user_version = 4", "UPDATE workload SET kind = x'00'; PRAGMA user_version = 3",
        "DROP INDEX workload_kind; ALTER TABLE workload DROP COLUMN kind; PRAGMA user_version = 2",
        "DROP INDEX workload_kind; ALTER TABLE workload DROP COLUMN kind; DROP TABLE choice; "
        "PRAGMA user_version = 1"}) {
    {
      Records(path_, Mode::Existing).add(std::span(&near, 1));
      Database database(path_, Mode::Existing);
      database.run("DROP INDEX workload_core; ALTER TABLE workload DROP COLUMN core");
      database.run(older);
    }
    Records records(path_, Mode::Existing);
    EXPECT_EQ(records.near("kernel of 16", r.target, 9).size(), 1u) << older;
  }
  Records records(path_, Mode::Existing);
  EXPECT_EQ(records.of(r.workload, r.target).at(0).identity(), r.identity());
  records.choose(r.workload, r.target, 1, "now it can");
  EXPECT_TRUE(records.chosen(r.workload, r.target)->record);
}

TEST_F(RecordsFile, KnowsWhatIsNear) {
  const auto add = [&](Records& records, const char* workload, const char* target, double ratio) {
    Record r = near_record(numbered_record(1), workload);
    r.target = target;
    r.trace = str(workload, target);
    r.measurement.ratio = {ratio, ratio, ratio};
    records.add(std::span(&r, 1));
    return records.of(workload, target).back().id;
  };
  Records records(path_, Mode::Create);
  add(records, "product 64 64", "here", 0.5);
  add(records, "product 256 64", "here", 0.5);
  add(records, "product 128 32", "elsewhere", 0.5);  // the very kernel
  add(records, "product 128 64", "elsewhere", 0.5);  // another one, and elsewhere
  add(records, "product 128 16", "here", 1.5);       // nothing beats the default schedule
  add(records, "sum 128 32", "here", 0.5);
  const int64_t reverted = add(records, "product 127 32", "here", 0.5);
  EXPECT_GT(reverted, 0);
  records.choose("product 127 32", "here", 0, "not in the model");

  const std::vector<Records::Near> near = records.near("product 128 32", "here", 9);
  ASSERT_EQ(near.size(), 4u);
  EXPECT_EQ(near[0].record->trace, "product 128 32elsewhere");
  EXPECT_TRUE(near[0].same_kernel);
  EXPECT_EQ(near[0].distance, 0);
  EXPECT_FALSE(near[1].record);  // by choice
  for (size_t i = 1; i < near.size(); ++i) {
    EXPECT_FALSE(near[i].same_kernel);
    EXPECT_LE(near[i - 1].distance, near[i].distance);
  }
  EXPECT_EQ(records.near("product 128 32", "here", 2).size(), 3u);  // two of them records
  EXPECT_TRUE(records.near("product 1 2 3", "here", 9).empty());
}

TEST_F(RecordsFile, TwoWritersLoseNothing) {
  const auto write = [&](int64_t first) {
    Records records(path_, Mode::Create);
    for (int64_t i = 0; i < 40; ++i) {
      const Record r = numbered_record(first + i);
      records.add(std::span(&r, 1));
    }
  };
  std::thread other([&] { write(1000); });
  write(0);
  other.join();
  EXPECT_EQ(Records(path_, Mode::Existing).count(), 80);
}

TEST_F(RecordsFile, WithoutRoomNothingAcknowledgedIsLost) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &small);
    try {
      Records records(path_, Mode::Create);
      for (int64_t i = 0; i < 10000; ++i) {
        const Record r = numbered_record(i);
        records.add(std::span(&r, 1));
        std::ofstream(folder_.path() / "count") << i + 1;
      }
    } catch (const Error& e) {
      _exit(e.diagnostic.code.starts_with("tune.records.") ? 0 : 2);
    } catch (...) {
      _exit(3);
    }
    _exit(4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  int64_t acknowledged = 0;
  std::ifstream(folder_.path() / "count") >> acknowledged;
  EXPECT_GT(acknowledged, 0);
  Records records(path_, Mode::Existing);
  EXPECT_GE(records.count(), acknowledged);
  const Record more = numbered_record(20000);
  EXPECT_EQ(records.add(std::span(&more, 1)), 1u);
}

TEST_F(RecordsFile, KilledWritersLoseNothingAcknowledged) {
  const Killed killed = kill_writers(folder_.path(), {.kills = 50});
  EXPECT_EQ(killed.wrong, "");
  EXPECT_GE(killed.kills, 50);
}

}  // namespace
}  // namespace tilewright::tune
