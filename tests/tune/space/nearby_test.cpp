// SPDX-License-Identifier: Apache-2.0
#include "tune/space/nearby.h"

#include <gtest/gtest.h>

#include "te/parse.h"
#include "tune/choose/canonical.h"
#include "tune/space/operators.h"
#include "tune/space/wrong_point.h"

namespace tilewright::tune {
namespace {

const std::vector<std::string> kConstants = {"W", "wb"};

class Nearby : public testing::TestWithParam<Operator> {
 protected:
  ir::LoopFunc blocks() const { return lower::to_blocks(te::parse_program(GetParam().text)); }
};

TEST_P(Nearby, StartsAtTheDefaultSchedule) {
  for (const ir::TargetSpec& spec : {small_machine(), wide_machine()}) {
    const Space space = nearby_space(canonical(blocks()), spec, kConstants);
    EXPECT_EQ(schedule::print(space.apply(*space.first()).trace()),
              schedule::print(choose_schedule(blocks(), spec, kConstants).trace()))
        << space.print();
  }
}

TEST_P(Nearby, EveryPointIsLegalAndRight) {
  for (const ir::TargetSpec& spec : {small_machine(), wide_machine()}) {
    const Space space = nearby_space(canonical(blocks()), spec, kConstants);
    ir::Random random(5);
    for (int i = 0; i < 8; ++i) {
      const auto point = space.random(random);
      ASSERT_TRUE(point);
      ASSERT_EQ(wrong_point(blocks(), space, *point, spec), "") << space.print();
      EXPECT_EQ(space.decode(space.encode(*point)), *point);
    }
    for (const Point& p : next_best(space))
      ASSERT_EQ(wrong_point(blocks(), space, p, spec), "") << space.print();
  }
}

INSTANTIATE_TEST_SUITE_P(Invented, Nearby, testing::ValuesIn(kInvented),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Common, Nearby, testing::ValuesIn(kCommon),
                         [](const auto& info) { return info.param.name; });

TEST(Nearby, AnswersChangeTheScheduleAndTheConstantsWithIt) {
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(kCommon[0].text));
  const Space space = nearby_space(canonical(blocks), small_machine(), kConstants);
  Point p = *space.first();
  const auto knob = std::ranges::find(space.knobs(), "C.tile", &Knob::name);
  ASSERT_NE(knob, space.knobs().end()) << space.print();
  // Another width: the panels of the weights have it, too.
  const auto k = static_cast<size_t>(knob - space.knobs().begin());
  for (p.choice[k] = 0; knob->text(p.choice[k]) != "3x4"; ++p.choice[k])
    ASSERT_LT(p.choice[k] + 1, knob->candidates.size()) << space.print();
  const std::string trace = schedule::print(space.apply(p).trace());
  EXPECT_NE(trace.find("/ 16"), std::string::npos) << trace;
  EXPECT_NE(trace.find("[?, 16]"), std::string::npos) << trace;
  EXPECT_NE(trace.find("[?, 3]"), std::string::npos) << trace;
}

TEST(Nearby, TriesTheSecondAnswersFirst) {
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(kCommon[0].text));
  const Space space = nearby_space(canonical(blocks), small_machine(), kConstants);
  const std::vector<Point> points = next_best(space);
  size_t others = 0;
  for (const Knob& k : space.knobs()) others += k.candidates.size() - 1;
  EXPECT_EQ(points.size(), others);
  for (size_t i = 0; i < space.knobs().size(); ++i)
    for (size_t k = 0; k < space.knobs().size(); ++k)
      EXPECT_EQ(points[i].choice[k], i == k ? 1u : 0u);
}

}  // namespace
}  // namespace tilewright::tune
