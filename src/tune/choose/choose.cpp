// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/choose.h"

#include "tune/choose/inline.h"
#include "tune/choose/lanes.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {

schedule::Schedule choose_schedule(const ir::LoopFunc& blocks, const ir::TargetSpec& spec) {
  schedule::Schedule s(blocks, spec.instructions);
  if (!only_blocks(blocks)) return s;
  inline_stages(s);
  std::vector<std::pair<std::string, StageKind>> stages;
  for (const Stage& stage : stages_of(s.func())) stages.push_back({stage.name(), stage.kind});
  for (const auto& [name, kind] : stages) {
    if (kind == StageKind::Map) schedule_map(s, name, spec);
    if (kind == StageKind::Reduce) schedule_reduction(s, name, spec);
  }
  return s;
}

ir::LoopFunc choose(const ir::LoopFunc& blocks, const ir::TargetSpec& spec) {
  return choose_schedule(blocks, spec).func();
}

}  // namespace tilewright::tune
