// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/choices.h"
#include "tune/choose/row_stages.h"

namespace tilewright::tune {

/// Runs a stage together with the stages that lead to it, some rows at a time, when reductions
/// along its rows are among them: softmax, layer norm, means, products of a matrix and a vector.
/// What the stages hand on stays in registers or in the first cache.
///   for i { M[i] = max … }  for i { E[i] = exp … }  for i { S[i] = sum … }  for i { R[i] = E / S }
///   ->  for i0 { M  E  S  R, of four rows each }
/// False, and nothing done, when there is no such reduction.
bool schedule_rows(schedule::Schedule& s, const std::string& last, const ir::TargetSpec& spec,
                   Choices& choices);

}  // namespace tilewright::tune
