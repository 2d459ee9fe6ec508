// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {

struct Plan;

/// What is known about panels of a factor's operands along one iterator: those that it moves, such
/// as weights and their scales.
struct Panels {
  bool possible = false;    // it indexes each of them in one dimension
  bool contiguous = false;  // they lie that way already
  bool constant = false;    // all of them
  bool wanted = false;      // the copy pays
  double elements = 0, bytes = 0;
};
Panels panels_for(const Stage& stage, const ir::Expr& factor, size_t lane,
                  const std::vector<std::string>& constants, const Sizes& sizes);

/// Copies the factor's operands into panels of the plan's width along its lanes, where that pays:
/// they are constants, or do not lie that way and are used often. The dimensions that are summed
/// over follow in the order of the plan.
///   (k, n) -> [n / 32, k, n % 32]
///   (m0, m1, c0, c1, k) with lanes m1 -> [m0 / 2, c0, k, c1, m0 % 2, m1]
/// Gives the buffer of the largest panels when they are constants.
std::string pack_panels(schedule::Schedule& s, const Stage& stage, const ir::Expr& factor,
                        const Plan& plan, const std::vector<std::string>& constants,
                        const ir::TargetSpec& spec);

/// Does the factor that the plan reads for rows lie in panels of them? It does where it is
/// constant.
bool constant_rows(const Stage& stage, const ir::Expr& factor, const Plan& plan,
                   const std::vector<std::string>& constants, const Sizes& sizes);

/// Copies that factor into those panels, in the order in which one tile reads it.
///   (k, m) with tiles of 3 rows m -> [m / 3, k, m % 3]
void pack_constant_rows(schedule::Schedule& s, const Stage& stage, const ir::Expr& factor,
                        const Plan& plan, const std::vector<std::string>& constants,
                        const ir::TargetSpec& spec);

}  // namespace tilewright::tune
