// SPDX-License-Identifier: Apache-2.0
#include "tune/records/records.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "commands.h"
#include "files.h"
#include "support/diagnostic.h"
#include "support/write_file.h"

namespace tilewright::cli {
namespace {

using tune::Database;
using tune::Records;

std::string line(const char* format, auto... values) {
  char text[300];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// `1.213x (1.180 … 1.242)`: how much faster than the default schedule.
std::string gain_of(const tune::Record& r) {
  const tune::Estimate& e = r.measurement.ratio;
  return line("%.3fx (%.3f … %.3f)", 1 / e.median, 1 / e.high, 1 / e.low);
}

void list(Records& records) {
  std::cout << line("%6s %6s  %-26s %-9s %s\n", "trials", "failed", "gain of the best, 95 %", "use",
                    "kernel");
  for (const Records::Summary& s : records.summaries())
    std::cout << line("%6lld %6lld  %-26s %-9s %s\n", static_cast<long long>(s.trials),
                      static_cast<long long>(s.failed), s.best ? gain_of(*s.best).c_str() : "none",
                      !s.choice          ? "-"
                      : s.choice->record ? "tuned"
                                         : "default",
                      s.name.c_str());
}

void best(Records& records) {
  for (const Records::Summary& s : records.summaries()) {
    const tune::Record* r = s.choice && s.choice->record ? &*s.choice->record
                            : s.best                     ? &*s.best
                                                         : nullptr;
    if (!r) continue;
    std::cout << "// " << s.name << ": " << line("%.1f us, ", r->measurement.time.median * 1e6)
              << gain_of(*r);
    if (s.choice) std::cout << "; " << s.choice->reason;
    std::cout << "\n" << r->trace << "\n";
  }
}

/// Of an import or a merge; broken lines are no failure of the command.
int report(const tune::Imported& result) {
  std::cout << result.added << " records added, " << result.known << " were there\n";
  for (const std::string& problem : result.problems)
    std::cerr << "warning: left out " << problem << "\n";
  return 0;
}

struct State {
  std::string database, file, output;
  int64_t keep = 1;
  bool chosen = false;
};

int import(const State& s) {
  std::ifstream in(s.file, std::ios::binary);
  if (!in)
    throw Error({.code = "driver.file.read",
                 .at = {},
                 .message = "cannot read `" + s.file + "`",
                 .notes = {},
                 .help = "check its name and its rights"});
  Records records(s.database, Database::Mode::Create);
  return report(tune::import_lines(records, in));
}

void write_lines(const State& s) {
  Records records(s.database, Database::Mode::Existing);
  const tune::Exported which = s.chosen ? tune::Exported::Chosen : tune::Exported::All;
  if (s.output.empty()) return tune::export_lines(records, std::cout, which);
  std::ostringstream lines;
  tune::export_lines(records, lines, which);
  write_file(s.output, lines.view());
}

}  // namespace

Action add_records(CLI::App& app) {
  CLI::App* c =
      app.add_subcommand("records", "Look at tuning records, and move them between files");
  c->require_subcommand(1);
  const auto s = std::make_shared<State>();
  const auto action = std::make_shared<Action>();
  const auto add = [&](const char* name, const char* what, std::function<int(const State&)> run,
                       bool adds = false) {
    CLI::App* sub = c->add_subcommand(name, what);
    Files files(*sub);
    const char* const help = "the file of records";
    (adds ? files.output("DB", s->database, help) : files.input("DB", s->database, help))
        ->required();
    sub->callback([=] { *action = [s, run] { return run(*s); }; });
    return std::pair(sub, files);
  };
  const auto existing = [](void (*use)(Records&)) {
    return [use](const State& s) {
      Records records(s.database, Database::Mode::Existing);
      use(records);
      return 0;
    };
  };
  add("list", "One line for each kernel and machine", existing(list));
  add("best", "The best schedule of each kernel, as text", existing(best));
  auto [lines, exported] = add("export", "Write records as lines of JSON", [](const State& s) {
    write_lines(s);
    return 0;
  });
  exported.output("-o", s->output, "the file to write; standard output without it");
  lines->add_flag("--chosen", s->chosen, "only those that tuning has kept, without single times");
  add("import", "Add the records of lines of JSON; broken lines are left out", import, true)
      .second.input("FILE", s->file, "the lines")
      ->required();
  add(
      "merge", "Add the records of another file",
      [](const State& s) {
        Records into(s.database, Database::Mode::Create), from(s.file, Database::Mode::Existing);
        return report(tune::merge(into, from));
      },
      true)
      .second.input("OTHER", s->file, "the file to take them from")
      ->required();
  add("prune", "Keep only the best of each kernel and machine",
      [](const State& s) {
        Records records(s.database, Database::Mode::Existing);
        std::cout << records.prune(s.keep) << " records removed, " << records.count() << " left\n";
        return 0;
      })
      .first->add_option("--keep", s->keep, "how many to keep of each, beside the chosen one")
      ->check(CLI::NonNegativeNumber);
  return [action] { return (*action)(); };
}

}  // namespace tilewright::cli
