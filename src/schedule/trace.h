// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/lex.h"
#include "schedule/steps.h"

namespace tilewright::schedule {

namespace detail {
template <class Tuple>
struct VariantOf;
template <class... T>
struct VariantOf<std::tuple<T...>> {
  using type = std::variant<T...>;
};
}  // namespace detail

/// One step of any kind.
using Step = detail::VariantOf<AllSteps>::type;

/// `%y0, %y1 = split %y [?, $rows]`
struct TraceLine {
  std::vector<std::string> results;  // names for what the step gives back
  Step step;
  Span at;
};

/// A number that the steps leave open to a tuner: `decide rows = 14 of [6, 8, 14]`.
struct Decision {
  std::string name;
  int64_t value = 0;
  std::vector<int64_t> candidates;  // empty: any
};

/// A schedule as data: the decisions, apart from the steps that use them.
struct Trace {
  std::string name;
  std::vector<Decision> decisions;
  std::vector<TraceLine> lines;
};

/// Runs one step: names its results. The program is left as it was when the step refuses.
void apply(Program& program, const TraceLine& line);
/// Runs all steps; every legality check runs again. An Error says at which line it stopped.
/// `instructions` are those that its steps may name.
ir::LoopFunc apply(const Trace& trace, const ir::LoopFunc& func,
                   const std::vector<ir::Instruction>& instructions = {});
/// The same steps with other decisions, by name.
Trace with_decisions(Trace trace, const std::map<std::string, int64_t>& values);

/// The text form; reads back to an equal trace:
///   trace NAME {
///     decide rows = 14 of [6, 8, 14]
///     %c = block "C"
///     %y, %x, %k = loops %c
///     %y0, %y1 = split %y [?, $rows]
///     vectorize %x
///   }
std::string print(const TraceLine& line);
std::string print(const Trace& trace);
/// Reads a trace item; the cursor stands at `trace`.
Trace parse_trace(ir::Cursor& cursor);
Trace parse_trace(std::string_view text, std::string source_name = "trace");

}  // namespace tilewright::schedule
