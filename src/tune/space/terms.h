// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/target_spec.h"
#include "tune/choose/stage.h"
#include "tune/space/knobs.h"

namespace tilewright::tune {

/// A reduction along what is contiguous: its terms are the lanes.
struct Terms {
  ir::LoopFunc func;  // that `stage` is of
  Stage stage;
  size_t lane = 0;  // the reduced iterator
  int64_t lanes = 1;
  double work = 0;
};

std::optional<Terms> as_terms(const ir::LoopFunc& func, const Stage& stage,
                              const ir::TargetSpec& spec);

struct TermsValues {
  int64_t vectors = 1;  // of partial results
  int64_t rows = 1;     // results at a time
  bool unroll = false;  // two steps of the sum written out
};

TermsValues declare_terms(Knobs& k, const Terms& terms);

/// Partial results in lanes, for some results at a time:
///   for i { for k { S[i] sum= A[i, k] } }
///   ->  for i0 { for k0 { unrolled i1, k1 { vectorized k2 { S_rf sum= A } } }  S = sum of S_rf }
void schedule_terms(schedule::Schedule& s, const Terms& terms, const TermsValues& values,
                    const ir::TargetSpec& spec);

}  // namespace tilewright::tune
