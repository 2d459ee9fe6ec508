// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tune/chosen.h"
#include "tune/space/space.h"

namespace tilewright::tune {

/// What is wrong with a point of the space; empty when its schedule is legal and, lowered, gives
/// what the plain loops give.
inline std::string wrong_point(const ir::LoopFunc& blocks, const Space& space, const Point& point,
                               const ir::TargetSpec& spec) {
  std::string text = space.encode(point) + "\n";
  try {
    if (!space.legal(point)) return "illegal: " + text;
    const schedule::Schedule s = space.apply(point);
    text += schedule::print(s.trace());
    const std::string wrong = wrong_schedule(blocks, s.func(), spec);
    return wrong.empty() ? "" : wrong + text;
  } catch (const std::exception& e) {
    return std::string(e.what()) + "\n" + text;
  }
}

}  // namespace tilewright::tune
