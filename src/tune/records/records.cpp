// SPDX-License-Identifier: Apache-2.0
#include "tune/records/records.h"

#include <algorithm>
#include <cstring>
#include <sqlite3.h>
#include <sys/stat.h>
#include <tuple>

#include "support/diagnostic.h"
#include "support/sha256.h"
#include "support/str.h"
#include "tune/records/core.h"

namespace tilewright::tune {
namespace {

constexpr int kApplication = 0x54577263;  // "TWrc", so that other programs' files are told apart

/// What brings a file from version i to i + 1. Measurements are never rewritten.
constexpr const char* kMigrations[Records::kVersion] = {
    // A text is found by its hash; equal texts are stored once.
    R"(CREATE TABLE workload (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text TEXT NOT NULL,
                              name TEXT NOT NULL);
       CREATE TABLE target (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text TEXT NOT NULL);
       CREATE TABLE record (id INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE,
                            workload INTEGER NOT NULL REFERENCES workload(id),
                            target INTEGER NOT NULL REFERENCES target(id),
                            trace TEXT NOT NULL, point TEXT NOT NULL,
                            verdict INTEGER NOT NULL, error TEXT NOT NULL, seconds BLOB NOT NULL,
                            median REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
                            ratio REAL NOT NULL, ratio_low REAL NOT NULL, ratio_high REAL NOT NULL,
                            threads INTEGER NOT NULL, config TEXT NOT NULL, compiler TEXT NOT NULL,
                            time INTEGER NOT NULL);
       CREATE INDEX record_of ON record (workload, target);
       CREATE INDEX record_best ON record (workload, target, ratio) WHERE verdict = 0;)",
    // What tuning decided in the context of a model.
    R"(CREATE TABLE choice (workload INTEGER NOT NULL REFERENCES workload(id),
                            target INTEGER NOT NULL REFERENCES target(id),
                            record INTEGER REFERENCES record(id), reason TEXT NOT NULL,
                            PRIMARY KEY (workload, target));)",
    // Kernels that differ in sizes alone are found by the hash of Kind::text.
    R"(ALTER TABLE workload ADD COLUMN kind BLOB;
       CREATE INDEX workload_kind ON workload (kind);)",
    // Kinds have no values of constants any more.
    R"(UPDATE workload SET kind = NULL;)",
    // Kernels whose greatest reductions are alike are found by the hash of Core's kind.
    R"(ALTER TABLE workload ADD COLUMN core BLOB;
       CREATE INDEX workload_core ON workload (core);)",
};

constexpr const char* kColumns =
    "SELECT w.text, t.text, r.trace, r.point, r.verdict, r.error, r.seconds, r.median, r.low, "
    "r.high, r.ratio, r.ratio_low, r.ratio_high, r.threads, r.config, r.compiler, r.time, w.name, "
    "r.id FROM record r JOIN workload w ON w.id = r.workload JOIN target t ON t.id = r.target ";

/// A row of kColumns. What is in the file may be anything: it is not trusted.
Record read(const Statement& s) {
  Record out{.workload = s.text(0), .target = s.text(1), .trace = s.text(2), .point = s.text(3)};
  Measurement& m = out.measurement;
  const int64_t verdict = s.integer(4);
  m.verdict = verdict < 0 || verdict > static_cast<int64_t>(Verdict::Failed)
                  ? Verdict::Failed
                  : static_cast<Verdict>(verdict);
  m.error = s.text(5);
  const std::string seconds = s.text(6);
  m.seconds.resize(seconds.size() / sizeof(double));
  std::memcpy(m.seconds.data(), seconds.data(), m.seconds.size() * sizeof(double));
  m.time = {s.real(7), s.real(8), s.real(9)};
  m.ratio = {s.real(10), s.real(11), s.real(12)};
  out.threads = static_cast<int>(s.integer(13));
  out.config = s.text(14);
  out.compiler = s.text(15);
  out.time = s.integer(16);
  out.name = s.text(17);
  out.id = s.integer(18);
  return out;
}

/// Did the last writer not get to its end? Then its journal is still there.
bool closed_unclean(const std::filesystem::path& path) {
  struct stat info;
  for (const char* suffix : {"-journal", "-wal"})
    if (stat((path.string() + suffix).c_str(), &info) == 0 && info.st_size > 0) return true;
  return false;
}

}  // namespace

Records::Records(const std::filesystem::path& path, Database::Mode mode) : database_(path, mode) {
  const bool unclean = closed_unclean(path);
  prepare(mode);
  if (unclean) {
    Statement check = database_.prepare("PRAGMA quick_check(1)");
    if (check.step() && check.text(0) != "ok") database_.fail(SQLITE_CORRUPT);
  }
}

void Records::prepare(Database::Mode mode) {
  database_.run("PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF");
  // All of one moment: another process may be making the file.
  database_.run("BEGIN");
  const int64_t application = database_.number("PRAGMA application_id");
  const int64_t version = database_.number("PRAGMA user_version");
  const int64_t tables = database_.number("SELECT count(*) FROM sqlite_schema");
  database_.run("COMMIT");
  if (application != kApplication && (tables > 0 || mode == Database::Mode::Existing))
    database_.fail(SQLITE_NOTADB);
  if (version > kVersion)
    throw Error(
        {.code = "tune.records.newer",
         .at = {},
         .message = str("records `", path().string(), "` are of a newer Tilewright"),
         .notes = {str("the file has version ", version, ", this program knows ", kVersion)},
         .help = "use that Tilewright, or export the records with it and import them here"});
  // Before 3.51.3 two writers could damage a file with a write-ahead log.
  database_.run(sqlite3_libversion_number() >= 3051003 ? "PRAGMA journal_mode = WAL"
                                                       : "PRAGMA journal_mode = TRUNCATE");
  database_.run("PRAGMA synchronous = FULL");
  if (version == kVersion) return;
  Transaction all(database_);
  for (int64_t v = database_.number("PRAGMA user_version"); v < kVersion; ++v)
    database_.run(kMigrations[v]);
  fill_kinds();
  database_.run(
      str("PRAGMA application_id = ", kApplication, "; PRAGMA user_version = ", kVersion).c_str());
  all.commit();
}

/// For kernels of a file that had no kinds or cores.
void Records::fill_kinds() {
  Statement missing =
      database_.prepare("SELECT id, text FROM workload WHERE kind IS NULL OR core IS NULL");
  Statement update = database_.prepare("UPDATE workload SET kind = ?, core = ? WHERE id = ?");
  while (missing.step()) {
    const std::string text = missing.text(1);
    update.bind_bytes(1, sha256(kind_of(text).text)).bind_bytes(2, core_hash(text));
    update.bind(3, missing.integer(0)).run();
  }
}

std::optional<int64_t> Records::find(const char* table, const std::string& text) {
  Statement s = database_.prepare(str("SELECT id, text FROM ", table, " WHERE hash = ?"));
  s.bind_bytes(1, sha256(text));
  if (!s.step()) return {};
  if (s.text(1) != text) database_.fail(SQLITE_CORRUPT);
  return s.integer(0);
}

int64_t Records::id_of(const char* table, const std::string& text, const std::string& name) {
  if (const auto found = find(table, text)) return *found;
  const bool named = std::string_view(table) == "workload";
  Statement s = database_.prepare(str("INSERT INTO ", table, " (hash, text",
                                      named ? ", name, kind, core" : "", ") VALUES (?, ?",
                                      named ? ", ?, ?, ?" : "", ")"));
  s.bind_bytes(1, sha256(text)).bind(2, text);
  if (named)
    s.bind(3, name).bind_bytes(4, sha256(kind_of(text).text)).bind_bytes(5, core_hash(text));
  s.run();
  return database_.last_id();
}

size_t Records::add(std::span<const Record> records) {
  if (records.empty()) return 0;
  Transaction all(database_);
  Statement insert = database_.prepare(
      "INSERT INTO record (identity, workload, target, trace, point, verdict, error, "
      "seconds, median, low, high, ratio, ratio_low, ratio_high, threads, config, compiler, time) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (identity) DO "
      "NOTHING");
  std::map<std::string_view, int64_t> workloads, targets;  // of this call: texts are long
  const auto once = [&](auto& known, const char* table, const std::string& text,
                        const std::string& name) {
    const auto [place, is_new] = known.try_emplace(text, 0);
    if (is_new) place->second = id_of(table, text, name);
    return place->second;
  };
  size_t inserted = 0;
  for (const Record& r : records) {
    const Measurement& m = r.measurement;
    const int64_t workload = once(workloads, "workload", r.workload, r.name);
    const int64_t target = once(targets, "target", r.target, {});
    insert.bind_bytes(1, r.identity()).bind(2, workload).bind(3, target);
    insert.bind(4, r.trace).bind(5, r.point);
    insert.bind(6, static_cast<int>(m.verdict)).bind(7, m.error);
    insert.bind_bytes(
        8, {reinterpret_cast<const char*>(m.seconds.data()), m.seconds.size() * sizeof(double)});
    insert.bind(9, m.time.median).bind(10, m.time.low).bind(11, m.time.high);
    insert.bind(12, m.ratio.median).bind(13, m.ratio.low).bind(14, m.ratio.high);
    insert.bind(15, r.threads).bind(16, r.config).bind(17, r.compiler).bind(18, r.time);
    insert.run();
    inserted += static_cast<size_t>(database_.changes());
  }
  all.commit();
  return inserted;
}

std::optional<Record> Records::best(const std::string& workload, const std::string& target) {
  const auto w = find("workload", workload), t = find("target", target);
  if (!w || !t) return {};
  Statement s = database_.prepare(
      str(kColumns,
          "WHERE r.workload = ? AND r.target = ? AND r.verdict = 0 ORDER BY r.ratio LIMIT 1"));
  s.bind(1, *w).bind(2, *t);
  if (!s.step()) return {};
  return read(s);
}

std::vector<Record> Records::of(const std::string& workload, const std::string& target) {
  const auto w = find("workload", workload), t = find("target", target);
  std::vector<Record> out;
  if (!w || !t) return out;
  Statement s =
      database_.prepare(str(kColumns, "WHERE r.workload = ? AND r.target = ? ORDER BY r.id"));
  s.bind(1, *w).bind(2, *t);
  while (s.step()) out.push_back(read(s));
  return out;
}

void Records::each(const std::function<void(const Record&)>& use) {
  Statement s = database_.prepare(str(kColumns, "ORDER BY r.id"));
  while (s.step()) use(read(s));
}

void Records::choose(const std::string& workload, const std::string& target, int64_t record,
                     const std::string& reason) {
  Transaction all(database_);
  Statement s = database_.prepare(
      "INSERT INTO choice (workload, target, record, reason) VALUES (?, ?, ?, ?) "
      "ON CONFLICT (workload, target) DO UPDATE SET record = excluded.record, "
      "reason = excluded.reason");
  s.bind(1, id_of("workload", workload)).bind(2, id_of("target", target)).bind(4, reason);
  if (record > 0)
    s.bind(3, record);
  else
    s.bind_null(3);
  s.run();
  all.commit();
}

std::optional<Choice> Records::chosen(const std::string& workload, const std::string& target) {
  const auto w = find("workload", workload), t = find("target", target);
  if (!w || !t) return {};
  Statement s =
      database_.prepare("SELECT record, reason FROM choice WHERE workload = ? AND target = ?");
  s.bind(1, *w).bind(2, *t);
  if (!s.step()) return {};
  Choice out{.record = {}, .reason = s.text(1)};
  if (s.is_null(0)) return out;
  Statement r = database_.prepare(str(kColumns, "WHERE r.id = ?"));
  r.bind(1, s.integer(0));
  if (r.step()) out.record = read(r);
  return out;
}

std::optional<Choice> Records::to_use(const std::string& workload, const std::string& target) {
  if (auto choice = chosen(workload, target)) return choice;
  std::optional<Record> found = best(workload, target);
  if (!found) return {};
  if (!found->measurement.beats_default()) return Choice{{}, "nothing measured beats it"};
  return Choice{std::move(found), "the best measured"};
}

std::vector<Records::Near> Records::near(const std::string& workload, const std::string& target,
                                         size_t most) {
  constexpr double kOtherKind = 0.5;  // doublings that whatever else is fused to it counts
  struct Place {
    std::string workload, target;
    bool same_kernel, same_kind;
    double distance;
  };
  const Kind kind = kind_of(workload);
  const std::optional<Core> core = core_of(workload);
  std::vector<Place> places;
  Statement s = database_.prepare(
      "SELECT DISTINCT w.text, t.text FROM workload w JOIN record r ON r.workload = w.id JOIN "
      "target t ON t.id = r.target WHERE w.kind = ? OR w.core = ?");
  s.bind_bytes(1, sha256(kind.text)).bind_bytes(2, core ? sha256(core->kind.text) : "none");
  while (s.step()) {
    Place place{s.text(0), s.text(1), false, false, 0};
    place.same_kernel = place.workload == workload;
    if (place.same_kernel == (place.target == target)) continue;
    const Kind other = kind_of(place.workload);
    place.same_kind = other.text == kind.text;
    if (place.same_kind) {
      place.distance = distance(kind, other);
    } else {
      const std::optional<Core> its = core ? core_of(place.workload) : std::nullopt;
      if (!its || its->kind.text != core->kind.text) continue;  // of a version that saw another one
      place.distance = distance(core->kind, its->kind) + kOtherKind;
    }
    places.push_back(std::move(place));
  }
  std::ranges::sort(places, {}, [](const Place& p) { return std::tie(p.distance, p.workload); });
  std::vector<Near> out;
  size_t found = 0;
  for (const Place& p : places) {
    if (found == most) break;
    std::optional<Choice> choice = to_use(p.workload, p.target);
    if (!choice || (!choice->record && !chosen(p.workload, p.target))) continue;
    found += choice->record.has_value();
    out.push_back({std::move(choice->record), p.same_kernel, p.same_kind, p.distance});
  }
  return out;
}

std::vector<Records::Summary> Records::summaries() {
  std::vector<Summary> out;
  Statement s = database_.prepare(
      "SELECT w.name, t.text, w.text, count(*), sum(r.verdict <> 0) FROM record r JOIN workload w "
      "ON w.id = r.workload JOIN target t ON t.id = r.target GROUP BY r.workload, r.target "
      "ORDER BY min(r.id)");
  while (s.step())
    out.push_back({.name = s.text(0),
                   .target = s.text(1),
                   .workload = s.text(2),
                   .trials = s.integer(3),
                   .failed = s.integer(4),
                   .best = {},
                   .choice = {}});
  for (Summary& one : out) {
    one.best = best(one.workload, one.target);
    one.choice = chosen(one.workload, one.target);
  }
  return out;
}

int64_t Records::prune(int64_t keep) {
  Transaction all(database_);
  Statement s = database_.prepare(
      "DELETE FROM record WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY "
      "workload, target ORDER BY verdict <> 0, ratio, id) AS place FROM record) WHERE place > ?) "
      "AND id NOT IN (SELECT record FROM choice WHERE record IS NOT NULL)");
  s.bind(1, keep);
  const int64_t before = count();
  s.run();
  const int64_t gone = before - count();
  database_.run(
      "DELETE FROM workload WHERE id NOT IN (SELECT workload FROM record) AND id NOT IN (SELECT "
      "workload FROM choice);"
      "DELETE FROM target WHERE id NOT IN (SELECT target FROM record) AND id NOT IN (SELECT target "
      "FROM choice)");
  all.commit();
  database_.run("VACUUM");
  return gone;
}

int64_t Records::count() { return database_.number("SELECT count(*) FROM record"); }

}  // namespace tilewright::tune
