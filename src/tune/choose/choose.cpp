// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/choose.h"

#include "tune/choose/canonical.h"
#include "tune/choose/chain.h"
#include "tune/choose/contraction.h"
#include "tune/choose/imperative.h"
#include "tune/choose/inline.h"
#include "tune/choose/lanes.h"
#include "tune/choose/rows.h"
#include "tune/choose/scan_steps.h"
#include "tune/choose/stage.h"
#include "tune/choose/winograd.h"

namespace tilewright::tune {

schedule::Schedule choose_schedule(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                                   const std::vector<std::string>& constants) {
  schedule::Schedule s(canonical(blocks), spec.instructions);
  schedule_stages(s, spec, constants);
  return s;
}

void schedule_stages(schedule::Schedule& s, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants) {
  Choices by_model;
  schedule_stages(s, spec, constants, by_model);
}

void schedule_stages(schedule::Schedule& s, const ir::TargetSpec& spec,
                     const std::vector<std::string>& given, Choices& choices) {
  if (!only_blocks(s.func())) return;
  inline_stages(s, given, choices);
  const std::vector<std::string> constants = with_derived(s.func(), given);
  schedule_winograd(s, spec, constants, choices);
  std::vector<std::pair<std::string, StageKind>> stages;
  for (const Stage& stage : stages_of(s.func())) stages.push_back({stage.name(), stage.kind});
  // Stages that run together first, from the last one up; then each of the others by itself.
  const auto still = [&](const std::string& name, StageKind kind) {
    const ir::LoopFunc now = s.func();
    const auto stage = find_stage(now, name);
    return stage && stage->kind == kind;
  };
  for (auto it = stages.rbegin(); it != stages.rend(); ++it)
    if (still(it->first, StageKind::Reduce)) schedule_chain(s, it->first, spec, choices);
  for (auto it = stages.rbegin(); it != stages.rend(); ++it)
    if (still(it->first, StageKind::Map)) schedule_rows(s, it->first, spec, choices);
  // Reductions take the stage that follows along.
  for (const auto& [name, kind] : stages)
    if (kind == StageKind::Reduce && still(name, kind) &&
        !schedule_contraction(s, name, spec, constants, choices))
      schedule_reduction(s, name, spec, constants, choices);
  for (const auto& [name, kind] : stages)
    if (kind == StageKind::Map && still(name, kind)) schedule_map(s, name, spec, choices);
}

ir::LoopFunc choose(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                    const std::vector<std::string>& constants, const ir::LoopFunc* variant_of) {
  Choices choices;
  if (variant_of) {
    schedule::Schedule general(canonical(*variant_of), spec.instructions);
    schedule_stages(general, spec, constants, choices);
  }
  schedule::Schedule s(canonical(blocks), spec.instructions);
  schedule_stages(s, spec, constants, choices);
  return with_rows_in_vectors(with_scheduled_steps(s.func(), spec, constants), spec);
}

}  // namespace tilewright::tune
