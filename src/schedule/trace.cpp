// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <set>

#include "support/str.h"

namespace tilewright::schedule {
namespace {

/// How many names a line gives must be how many results its step has, or none.
void check_results(const TraceLine& line, size_t results) {
  if (line.results.empty() || line.results.size() == results) return;
  throw Error(
      {.code = "schedule.trace.results",
       .message = str("the step gives ", results, " results, the line names ", line.results.size()),
       .notes = {str("the line is `", print(line), "`")},
       .help = "name all results, or none"});
}

/// The same error, at the place of the trace's line.
[[noreturn]] void rethrow_at(const Error& e, const TraceLine& line) {
  Diagnostic d = e.diagnostic;
  if (d.at.line == 0) d.at = line.at;
  d.notes.push_back(str("in the step `", print(line), "`"));
  throw Error(std::move(d));
}

}  // namespace

void apply(Program& program, const TraceLine& line) {
  Program next = program;
  try {
    const Results results =
        std::visit([&](const auto& step) { return step.apply(next); }, line.step);
    next.drop_lost_prefetches();
    check_results(line, results.size());
    for (size_t i = 0; i < line.results.size(); ++i) next.name(line.results[i], results[i]);
  } catch (const Error& e) {
    rethrow_at(e, line);
  }
  program = std::move(next);
}

ir::LoopFunc apply(const Trace& trace, const ir::LoopFunc& func,
                   const std::vector<ir::Instruction>& instructions) {
  Program program(func, instructions);
  for (const Decision& d : trace.decisions) program.decide(d.name, d.value);
  for (const TraceLine& line : trace.lines) apply(program, line);
  ir::LoopFunc out = program.func();
  if (!trace.lines.empty()) out.stage = ir::Stage::Scheduled;
  return out;
}

Trace with_decisions(Trace trace, const std::map<std::string, int64_t>& values) {
  std::set<std::string> used;
  for (Decision& d : trace.decisions) {
    const auto found = values.find(d.name);
    if (found == values.end()) continue;
    d.value = found->second;
    used.insert(d.name);
  }
  for (const auto& [name, value] : values)
    if (!used.contains(name))
      throw Error({.code = "schedule.decision.unknown",
                   .message = str("trace `", trace.name, "` has no decision `", name, "`"),
                   .notes = {},
                   .help = "name one of the trace's `decide` lines"});
  return trace;
}

}  // namespace tilewright::schedule
