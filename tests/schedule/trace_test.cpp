// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <gtest/gtest.h>

#include "common/errors.h"

namespace tilewright::schedule {
namespace {

constexpr std::string_view kText =
    "trace matmul {\n"
    "  decide rows = 14 of [6, 8, 14]\n"
    "  decide cols = 32\n"
    "  %c = block \"C\"\n"
    "  %y, %x, %k = loops %c\n"
    "  %y0, %y1 = split %y [?, $rows]\n"
    "  %x0, %x1 = split %x [?, $cols]\n"
    "  reorder [%y0, %x0, %k, %y1, %x1]\n"
    "  %cc = cache_write %c \"C\" register\n"
    "  transform_layout %c \"C_register\" (i, j) -> [i / 4, j, i % 4]\n"
    "  set_layout %c \"C_register\" layout (i, j, k) -> [address: i, address: j ^ k] extents [4, "
    "8]\n"
    "  pad %c [4, $rows, 1]\n"
    "  %yes, %no = specialize %y0 \"n % 16 == 0\"\n"
    "  annotate %y0 \"depth\" $rows\n"
    "  annotate %c \"role\" \"load\"\n"
    "  bind %y0 block.x\n"
    "  vectorize %x1\n"
    "}\n";

TEST(TraceText, ReadsBackAsItWasPrinted) {
  const Trace trace = parse_trace(kText);
  EXPECT_EQ(trace.lines.size(), 14u);
  EXPECT_EQ(trace.decisions.size(), 2u);
  EXPECT_EQ(print(trace), kText);
}

TEST(TraceText, NamesAnUnknownStep) {
  const Diagnostic d = diagnostic_of([] { parse_trace("trace t {\n  splt %y [2]\n}"); });
  EXPECT_EQ(d.code, "schedule.trace.step");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_NE(d.message.find("`splt`"), std::string::npos);
}

TEST(TraceText, RefusesTextAfterTheTrace) { EXPECT_THROW(parse_trace("trace t { } x"), Error); }

TEST(WithDecisions, RefusesADecisionThatTheTraceDoesNotHave) {
  const Diagnostic d = diagnostic_of([] { with_decisions(parse_trace(kText), {{"depth", 3}}); });
  EXPECT_EQ(d.code, "schedule.decision.unknown");
}

}  // namespace
}  // namespace tilewright::schedule
