// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/choices.h"

namespace tilewright::tune {

/// Runs a product whose one factor is made row by row from another product, as attention does,
/// for some rows at a time: the scores of those rows stay in the second cache and are never
/// stored as a whole.
///   for h, s, t { S = sum Q K }  for h, s { softmax of S, P }  for h, s, i { O = sum P V }
///   ->  for h, s0 { S  softmax  O, of the rows s0 * 32 … s0 * 32 + 31 }
/// False, and nothing done, when `last` is no such product.
bool schedule_chain(schedule::Schedule& s, const std::string& last, const ir::TargetSpec& spec,
                    Choices& choices);

}  // namespace tilewright::tune
