// SPDX-License-Identifier: Apache-2.0
// A file of records: what was ever measured, and what was made of it. SQLite keeps it whole through
// crashes, power cuts and full disks; several processes may use it at once.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tune/records/database.h"
#include "tune/records/record.h"

namespace tilewright::tune {

/// Which schedule a kernel is compiled with, as tuning has decided in the context of a model.
struct Choice {
  std::optional<Record> record;  // none: the default schedule, because nothing helps
  std::string reason;            // for people
};

class Records {
 public:
  /// A file of another program, a damaged one, or one of a newer Tilewright is refused with an
  /// Error, and left as it is. An older one is brought up to date.
  Records(const std::filesystem::path& path, Database::Mode mode);

  /// All of them or, with an Error, none. When it returns they are on the disk. Gives how many were
  /// not there before.
  size_t add(std::span<const Record> records);

  /// The successful record with the least time relative to the default schedule.
  std::optional<Record> best(const std::string& workload, const std::string& target);
  /// All records of a kernel on a machine, in the order they came.
  std::vector<Record> of(const std::string& workload, const std::string& target);
  /// Any record at all, in the order they came.
  void each(const std::function<void(const Record&)>& use);

  /// `record` is an id, or 0 for the default schedule.
  void choose(const std::string& workload, const std::string& target, int64_t record,
              const std::string& reason);
  std::optional<Choice> chosen(const std::string& workload, const std::string& target);
  /// What to compile a kernel with: what was chosen, or else the best if it beats the default
  /// schedule beyond doubt.
  std::optional<Choice> to_use(const std::string& workload, const std::string& target);

  /// Where to start with a kernel that has no record on this machine: what is used for this very
  /// kernel on others, and for kernels of the same kind or with the same core on this one, the
  /// nearest in size first. At most so many records; kernels for which tuning has chosen the
  /// default schedule stand between them.
  struct Near {
    std::optional<Record> record;  // none: the default schedule
    bool same_kernel = false, same_kind = true;
    double distance = 0;  // of sizes, as Kind has it, and more for another kind
  };
  std::vector<Near> near(const std::string& workload, const std::string& target, size_t most);

  /// Programs of one kernel, with times over that of one default schedule.
  struct Programs {
    std::string workload;
    struct Measured {
      std::string trace;
      double ratio;
    };
    std::vector<Measured> measured;  // from the fastest to the slowest, in even steps
  };
  /// So many kernels that were measured on a machine with so many threads, and so many programs of
  /// each, but for the kernels given: first those of the same kind as one of them, then those with
  /// the same core, then the rest; the newest first.
  std::vector<Programs> others(const std::vector<std::string>& workloads, const std::string& target,
                               int threads, size_t kernels, size_t of_each);

  /// One line for each kernel and machine.
  struct Summary {
    std::string name, target, workload;
    int64_t trials = 0, failed = 0;
    std::optional<Record> best;
    std::optional<Choice> choice;
  };
  std::vector<Summary> summaries();

  /// Leaves the best `keep` of each kernel and machine, and what is chosen. Gives how many went.
  int64_t prune(int64_t keep);

  int64_t count();
  const std::filesystem::path& path() const { return database_.path(); }

  static constexpr int kVersion = 5;  // of the tables

 private:
  void prepare(Database::Mode mode);
  void fill_kinds();
  int64_t id_of(const char* table, const std::string& text, const std::string& name = {});
  std::optional<int64_t> find(const char* table, const std::string& text);

  Database database_;
};

enum class Exported : uint8_t {
  All,
  Chosen,  // what tuning kept in the context of a model, without its single times: to hand on
};
/// Records as lines of JSON, each kernel and machine described once, before its first record.
void export_lines(Records& records, std::ostream& out, Exported which = Exported::All);

struct Imported {
  size_t added = 0, known = 0;
  std::vector<std::string> problems;  // a line that could not be read, and why; it is left out
};
/// Reads such lines. A broken one is reported, never fatal.
Imported import_lines(Records& records, std::istream& in);

/// The records and choices of another file that are not in this one.
Imported merge(Records& into, Records& from);

}  // namespace tilewright::tune
