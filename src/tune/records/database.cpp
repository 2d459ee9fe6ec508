// SPDX-License-Identifier: Apache-2.0
#include "tune/records/database.h"

#include <sqlite3.h>
#include <unistd.h>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::tune {
namespace {

/// Waits a moment for another process to unlock the file; gives up after about 20 seconds. SQLite's
/// own handler waits up to 0.1 s at a time, and a process that writes without pause keeps the
/// others out for ever.
int wait_for_lock(void*, int waited) {
  constexpr int kTimes = 10'000;
  constexpr int kShortest = 500, kSpread = 3'000;  // microseconds, by turns
  usleep(static_cast<useconds_t>(kShortest + waited * 617 % kSpread));
  return waited < kTimes ? 1 : 0;
}

struct Words {
  std::string_view code;
  const char *what, *help;
};

Words words_for(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return {.code = "tune.records.foreign",
              .what = "the file is not one of records",
              .help = "name another file; this one is left as it is"};
    case SQLITE_CORRUPT:
      return {.code = "tune.records.corrupt",
              .what = "the file is damaged",
              .help = "keep it; `tilewright records export` writes what can still be read"};
    case SQLITE_FULL:
      return {.code = "tune.records.full",
              .what = "the disk is full; nothing that was written before is lost",
              .help = "make room and go on; what is not yet written is measured again"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {.code = "tune.records.busy",
              .what = "another process is writing for too long",
              .help = "wait for it, or end it; nothing is lost"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {.code = "tune.records.read_only",
              .what = "the file or its folder cannot be written",
              .help = "name a file that can be written"};
    case SQLITE_CANTOPEN:
      return {.code = "tune.records.open",
              .what = "the file cannot be opened",
              .help = "check that the folder is there and may be used"};
    default:
      return {.code = "tune.records.io",
              .what = "the file cannot be read or written",
              .help = "check the disk; nothing that was written before is lost"};
  }
}

}  // namespace

void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }
void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Database::Database(const std::filesystem::path& path, Mode mode) : path_(path) {
  if (mode == Mode::Existing && !std::filesystem::exists(path))
    throw Error({.code = "tune.records.missing",
                 .at = {},
                 .message = str("there is no file of records `", path.string(), "`"),
                 .notes = {},
                 .help = "name one that `tilewright tune --records` or `records import` has made"});
  sqlite3* db = nullptr;
  // To write even for reading: what a writer that died has left is taken back first.
  const int flags = SQLITE_OPEN_READWRITE | (mode == Mode::Create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  db_.reset(db);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_handler(db, wait_for_lock, nullptr);
  sqlite3_extended_result_codes(db, 1);
}

void Database::fail(int code) const {
  const auto [name, what, help] = words_for(code);
  std::vector<std::string> notes;
  if (db_ && sqlite3_errcode(db_.get()) != SQLITE_OK)
    notes.push_back(str("SQLite: ", sqlite3_errmsg(db_.get())));
  throw Error({.code = name,
               .at = {},
               .message = str("records `", path_.string(), "`: ", what),
               .notes = std::move(notes),
               .help = help});
}

void Database::run(const char* sql) {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) fail(code);
  return Statement(*this, statement);
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(db_.get()); }

int64_t Database::changes() const { return sqlite3_changes64(db_.get()); }

int64_t Database::number(const char* sql) {
  Statement s = prepare(sql);
  return s.step() ? s.integer(0) : 0;
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_->fail(code);
}
Statement& Statement::bind(int place, int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), place, value));
  return *this;
}
Statement& Statement::bind(int place, double value) {
  check(sqlite3_bind_double(statement_.get(), place, value));
  return *this;
}
Statement& Statement::bind(int place, std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), place, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}
Statement& Statement::bind_bytes(int place, std::string_view bytes) {
  const char* data = bytes.data() ? bytes.data() : "";  // no pointer would mean NULL
  check(sqlite3_bind_blob64(statement_.get(), place, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}
Statement& Statement::bind_null(int place) {
  check(sqlite3_bind_null(statement_.get(), place));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  return false;
}
void Statement::run() {
  while (step()) {
  }
  reset();
}
void Statement::reset() { sqlite3_reset(statement_.get()); }

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes ? std::string(static_cast<const char*>(bytes), static_cast<size_t>(size))
               : std::string();
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const Error&) {  // SQLite has rolled it back itself, as after a full disk
  }
}

}  // namespace tilewright::tune
