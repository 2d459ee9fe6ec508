// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {

/// What is known about panels of a factor's operand along one iterator.
struct Panels {
  bool possible = false;    // it is a single load, which the iterator indexes in one dimension
  bool contiguous = false;  // it lies that way already
  bool constant = false;
  bool wanted = false;  // the copy pays
  double elements = 0;
};
Panels panels_for(const Stage& stage, const ir::Expr& factor, size_t lane,
                  const std::vector<std::string>& constants, const Sizes& sizes);

/// Copies the factor's operand into panels of `width` neighbours along iterator `lane`, where that
/// pays: the operand is a constant, or does not lie that way and is used often.
///   (k, n) -> [n / 32, k, n % 32]
void pack_panels(schedule::Schedule& s, const Stage& stage, const ir::Expr& factor, size_t lane,
                 int64_t width, const std::vector<std::string>& constants,
                 const ir::TargetSpec& spec);

}  // namespace tilewright::tune
