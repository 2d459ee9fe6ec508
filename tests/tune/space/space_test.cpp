// SPDX-License-Identifier: Apache-2.0
#include "tune/space/space.h"

#include <gtest/gtest.h>
#include <set>

#include "common/errors.h"
#include "ir/print.h"
#include "lower/to_blocks.h"
#include "te/parse.h"

namespace tilewright::tune {
namespace {

using schedule::kOpen;
using schedule::Schedule;

ir::LoopFunc matmul() {
  return lower::to_blocks(
      te::parse_program("te mm(A: f32[12, 8], B: f32[8, 16]) {\n"
                        "  C[y in 12, x in 16] = sum(k in 8) A[y, k] * B[k, x]\n  return C\n}"));
}

void tiled(Schedule& s, Knobs& k) {
  const auto [y, x, r] = s.loops<3>("C");
  const Value rows = k.split("rows", 12, {.parts = 1, .most = 6});
  const Value columns = k.split("columns", 16, {.parts = 2});
  const Value order = k.order("order", 2);
  const bool unroll = k.boolean("unroll");
  k.require("rows * columns <= 16", {"rows", "columns"},
            [](const Values& v) { return (*v[0])[0] * (*v[1])[1] <= 16; });
  const auto [y0, y1] = s.split<2>(y, {kOpen, rows[0]});
  const auto [x0, x1, x2] = s.split<3>(x, {kOpen, columns[0], columns[1]});
  s.reorder(order[0] == 0 ? std::vector{y0, x0} : std::vector{x0, y0});
  if (unroll) s.unroll(y1);
}

std::set<std::string> all_points(const Space& space) {
  std::set<std::string> out;
  for (auto p = space.first(); p; p = space.next(*p)) out.insert(space.encode(*p));
  return out;
}

TEST(Space, CountsItsLegalPoints) {
  const Space space(matmul(), {"tiled", tiled});
  // rows: 1 2 3 4 6; columns: every (b, c) with b * c | 16; order: 2; unroll: 2.
  size_t pairs = 0;
  for (const int64_t rows : {1, 2, 3, 4, 6})
    for (int64_t c = 1; c <= 16; c *= 2)
      for (int64_t b = 1; b * c <= 16; b *= 2) pairs += rows * c <= 16;
  EXPECT_TRUE(space.size().exact);
  EXPECT_EQ(space.size().points, static_cast<double>(pairs * 4));
  EXPECT_EQ(all_points(space).size(), pairs * 4);
  EXPECT_NE(space.print().find("where rows * columns <= 16"), std::string::npos);
}

TEST(Space, GivesLegalPointsOnly) {
  const Space space(matmul(), {"tiled", tiled});
  const std::set<std::string> all = all_points(space);
  ir::Random random(5);
  std::set<std::string> seen;
  for (int i = 0; i < 400; ++i) {
    const auto p = space.random(random);
    ASSERT_TRUE(p && space.legal(*p));
    seen.insert(space.encode(*p));
    const Point near = space.neighbour(*p, random);
    ASSERT_TRUE(all.contains(space.encode(near)));
    EXPECT_NE(near, *p);
  }
  EXPECT_GT(seen.size(), all.size() / 2);
}

TEST(Space, AppliesWhatThePointSays) {
  const Space space(matmul(), {"tiled", tiled});
  const Point p = space.decode("rows=4 columns=2x4 order=1.0 unroll=yes");
  EXPECT_EQ(space.encode(p), "rows=4 columns=2x4 order=1.0 unroll=yes");
  const std::string text = schedule::print(space.apply(p).trace());
  EXPECT_NE(text.find("[?, 4]"), std::string::npos);
  EXPECT_NE(text.find("[?, 2, 4]"), std::string::npos);
  EXPECT_NE(text.find("unroll"), std::string::npos);
}

TEST(Space, RepairsPointsThatDoNotFit) {
  const Space space(matmul(), {"tiled", tiled});
  ir::Random random(1);
  Point p = space.decode("rows=6 columns=1x1 order=0.1 unroll=no");
  p.choice[1] = 1000;  // of a space with more candidates
  const auto fixed = space.repaired(p, random);
  ASSERT_TRUE(fixed);
  EXPECT_TRUE(space.legal(*fixed));
  EXPECT_EQ(fixed->choice[2], p.choice[2]);
}

TEST(Space, SaysWhatIsWrongWithAPoint) {
  const Space space(matmul(), {"tiled", tiled});
  const auto wrong = [&](const char* text) {
    const Diagnostic d = diagnostic_of([&] { space.decode(text); });
    EXPECT_EQ(d.code, "tune.space.point");
    return d.message + " " + d.notes[0];
  };
  EXPECT_NE(wrong("rows=4").find("`columns`"), std::string::npos);
  EXPECT_NE(wrong("rows=5 columns=1x1 order=0.1 unroll=no").find("`5`"), std::string::npos);
  EXPECT_NE(wrong("lines=5").find("`lines`"), std::string::npos);
  EXPECT_NE(wrong("rows=4 rows=4").find("twice"), std::string::npos);
  EXPECT_NE(wrong("rows=6 columns=1x16 order=0.1 unroll=no").find("breaks: rows"),
            std::string::npos);
}

TEST(Space, CanBeEmpty) {
  const Space none(matmul(), {"none", [](Schedule&, Knobs& k) {
                                k.number("n", {1, 2, 3});
                                k.require("n > 3", {"n"},
                                          [](const Values& v) { return v[0]->front() > 3; });
                              }});
  EXPECT_EQ(none.size().points, 0);
  EXPECT_NE(none.why_empty().find("n > 3"), std::string::npos);
  ir::Random random(1);
  EXPECT_FALSE(none.random(random));
  EXPECT_FALSE(none.first());
  const Space no_candidate(matmul(), {"none", [](Schedule&, Knobs& k) { k.number("n", {}); }});
  EXPECT_EQ(no_candidate.size().points, 0);
  EXPECT_NE(no_candidate.why_empty().find("`n`"), std::string::npos);
}

TEST(Space, CanBeHuge) {
  const Space space(matmul(), {"huge", [](Schedule&, Knobs& k) {
                                 for (int i = 0; i < 9; ++i)
                                   k.split("s" + std::to_string(i), 5040, {.parts = 2});
                                 k.require("the first two differ", {"s0", "s1"},
                                           [](const Values& v) { return *v[0] != *v[1]; });
                               }});
  EXPECT_GT(space.size().points, 1e18);
  ir::Random random(1);
  const auto p = space.random(random);
  ASSERT_TRUE(p);
  EXPECT_TRUE(space.legal(*p));
  EXPECT_TRUE(space.legal(space.neighbour(*p, random)));
  EXPECT_TRUE(space.next(*space.first()));
}

TEST(Space, NamesTheTemplateThatFails) {
  const Diagnostic thrown = diagnostic_of([] {
    Space(matmul(), {"broken", [](Schedule&, Knobs&) { throw std::runtime_error("no luck"); }});
  });
  EXPECT_EQ(thrown.code, "tune.space.template");
  EXPECT_NE(thrown.message.find("`broken`"), std::string::npos);
  EXPECT_EQ(thrown.notes[0], "no luck");
  const Diagnostic refused = diagnostic_of(
      [] { Space(matmul(), {"broken", [](Schedule& s, Knobs&) { s.block("nothing"); }}); });
  EXPECT_EQ(refused.code, "tune.space.template");
  const Diagnostic twice = diagnostic_of([] {
    Space(matmul(), {"broken", [](Schedule&, Knobs& k) {
                       k.boolean("a");
                       k.boolean("a");
                     }});
  });
  EXPECT_EQ(twice.code, "tune.space.knob");
}

TEST(Space, RefusesKnobsThatDependOnValues) {
  const Space space(matmul(), {"fickle", [](Schedule&, Knobs& k) {
                                 if (!k.boolean("a")) k.boolean("b");
                               }});
  const Point p{{1, 0}};
  const Diagnostic d = diagnostic_of([&] { space.apply(p); });
  EXPECT_EQ(d.code, "tune.space.changed");
}

TEST(Space, LetsStepsRefuse) {
  const Space space(matmul(), {"sometimes", [](Schedule& s, Knobs& k) {
                                 if (k.boolean("wrong")) s.parallel(s.loops("C").back());
                               }});
  EXPECT_NO_THROW(space.apply({{0}}));
  EXPECT_EQ(diagnostic_of([&] { space.apply({{1}}); }).code, "schedule.loop.dependence");
}

TEST(Space, NeighboursExchangeInnermostSizes) {
  const Space space(matmul(), {"tiled", tiled});
  const Point p = space.decode("rows=4 columns=2x2 order=0.1 unroll=no");
  const Point wanted = space.decode("rows=2 columns=2x4 order=0.1 unroll=no");
  ir::Random random(2);
  int found = 0;
  for (int i = 0; i < 400; ++i) found += space.neighbour(p, random) == wanted;
  EXPECT_GT(found, 4);
}

}  // namespace
}  // namespace tilewright::tune
