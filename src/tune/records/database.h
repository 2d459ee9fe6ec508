// SPDX-License-Identifier: Apache-2.0
// SQLite with our errors: what went wrong with which file, and what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tilewright::tune {

class Statement;

class Database {
 public:
  enum class Mode : uint8_t { Existing, Create };
  /// Opens the file, or makes it.
  Database(const std::filesystem::path& path, Mode mode);

  void run(const char* sql);
  Statement prepare(std::string_view sql);
  int64_t last_id() const;
  /// Rows that the last statement changed.
  int64_t changes() const;
  int64_t number(const char* sql);
  const std::filesystem::path& path() const { return path_; }

  /// Throws the Error for SQLite's code of the last call.
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> db_;
};

/// One statement; values are bound by their place, from 1, and read by theirs, from 0.
class Statement {
 public:
  Statement(Database& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  Statement& bind(int place, int64_t value);
  Statement& bind(int place, int value) { return bind(place, int64_t{value}); }
  Statement& bind(int place, double value);
  Statement& bind(int place, std::string_view text);
  Statement& bind_bytes(int place, std::string_view bytes);
  Statement& bind_null(int place);

  /// The next row, if there is one.
  bool step();
  /// Steps to the end, and is ready for other values.
  void run();
  void reset();

  int64_t integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;
  std::string text(int column) const;  // or bytes

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// All or nothing: rolled back unless `commit` was reached.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {
    database_.run("BEGIN IMMEDIATE");
  }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    database_.run("COMMIT");
    open_ = false;
  }

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace tilewright::tune
