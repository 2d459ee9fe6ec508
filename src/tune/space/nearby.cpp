// SPDX-License-Identifier: Apache-2.0
#include "tune/space/nearby.h"

#include <algorithm>
#include <memory>

#include "tune/choose/choose.h"

namespace tilewright::tune {

Space nearby_space(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                   const std::vector<std::string>& constants) {
  const schedule::Schedule start(func, spec.instructions);
  schedule::Schedule s = start;
  Choices by_model;
  schedule_stages(s, spec, constants, by_model);
  const auto questions = std::make_shared<const std::vector<Choices::Question>>(by_model.asked());
  return Space(start, {"nearby", [=](schedule::Schedule& schedule, Knobs& knobs) {
                         Choices choices;
                         for (const Choices::Question& q : *questions)
                           choices.answer(q.name, q.options[knobs.choice(q.name, q.options)]);
                         schedule_stages(schedule, spec, constants, choices);
                       }});
}

std::vector<Point> next_best(const Space& nearby) {
  std::vector<Point> out;
  const std::vector<Knob>& knobs = nearby.knobs();
  size_t most = 0;
  for (const Knob& k : knobs) most = std::max(most, k.candidates.size());
  for (uint32_t rank = 1; rank < most; ++rank)
    for (size_t k = 0; k < knobs.size(); ++k) {
      if (rank >= knobs[k].candidates.size()) continue;
      Point& p = out.emplace_back(std::vector<uint32_t>(knobs.size()));
      p.choice[k] = rank;
    }
  return out;
}

}  // namespace tilewright::tune
