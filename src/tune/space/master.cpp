// SPDX-License-Identifier: Apache-2.0
#include "tune/space/master.h"

#include <algorithm>
#include <memory>
#include <set>

#include "support/diagnostic.h"
#include "support/str.h"
#include "tune/choose/canonical.h"
#include "tune/choose/chain.h"
#include "tune/choose/inline.h"
#include "tune/choose/lanes.h"
#include "tune/choose/rows.h"
#include "tune/choose/stage.h"
#include "tune/choose/winograd.h"
#include "tune/space/terms.h"
#include "tune/space/tiled.h"

namespace tilewright::tune {
namespace {

/// What a kernel consists of, as its template schedules it.
struct Parts {
  std::vector<std::string> constants;
  std::vector<std::string> chains, rows;  // last stages of groups that run together
  std::vector<Choices::Question> of_chains;
  std::vector<Tiled> tiled;
  std::vector<Terms> terms;
  std::vector<std::string> maps;
};

Parts parts_of(const schedule::Schedule& start, const ir::TargetSpec& spec,
               const std::vector<std::string>& constants) {
  Parts out{.constants = with_derived(start.func(), constants)};
  // Groups are found by trying; what is left are stages by themselves.
  schedule::Schedule s = start;
  Choices by_model;
  std::vector<std::pair<std::string, StageKind>> stages;
  for (const Stage& stage : stages_of(s.func())) stages.push_back({stage.name(), stage.kind});
  const auto still = [&](const std::string& name, StageKind kind) {
    const ir::LoopFunc now = s.func();
    const auto stage = find_stage(now, name);
    return stage && stage->kind == kind;
  };
  for (auto it = stages.rbegin(); it != stages.rend(); ++it)
    if (Choices asks;
        still(it->first, StageKind::Reduce) && schedule_chain(s, it->first, spec, asks)) {
      out.chains.push_back(it->first);
      out.of_chains.insert(out.of_chains.end(), asks.asked().begin(), asks.asked().end());
    }
  for (auto it = stages.rbegin(); it != stages.rend(); ++it)
    if (still(it->first, StageKind::Map) && schedule_rows(s, it->first, spec, by_model))
      out.rows.push_back(it->first);
  const ir::LoopFunc rest = s.func();
  std::set<std::string> taken;
  for (const Stage& stage : stages_of(rest)) {
    if (stage.kind != StageKind::Reduce) continue;
    if (auto terms = as_terms(rest, stage, spec)) {
      out.terms.push_back(std::move(*terms));
    } else if (auto tiled = as_tiled(rest, stage, spec, out.constants)) {
      if (tiled->after && !taken.insert(tiled->after->name()).second) tiled->after.reset();
      std::erase_if(tiled->producers,
                    [&](const std::string& p) { return !taken.insert(p).second; });
      out.tiled.push_back(std::move(*tiled));
    }
  }
  // What follows a reduction runs in its tiles, and has no knob of its own.
  const auto follows = [&](const Stage& stage) {
    return std::ranges::any_of(
        out.tiled, [&](const Tiled& t) { return t.after && t.after->block == stage.block; });
  };
  for (const Stage& stage : stages_of(rest))
    if (stage.kind == StageKind::Map && !stage.loops.empty() && !follows(stage))
      out.maps.push_back(stage.name());
  return out;
}

void run(schedule::Schedule& s, Knobs& k, const Parts& parts, const ir::TargetSpec& spec) {
  Choices choices;
  for (const Choices::Question& q : parts.of_chains)
    choices.answer(q.name, q.options[k.choice(q.name, q.options)]);
  for (const std::string& last : parts.chains)
    if (!schedule_chain(s, last, spec, choices))
      throw Error({.code = "tune.space.chain",
                   .at = {},
                   .message = str("the stages before `", last, "` cannot run together in this way"),
                   .notes = {},
                   .help = "other values of its knobs can: see `space.print()`"});
  for (const std::string& last : parts.rows) {
    choices.answer(last + ".rows", std::to_string(k.number(last + ".rows", {4, 1, 2, 8})));
    schedule_rows(s, last, spec, choices);
  }
  std::vector<TiledValues> tiled;
  for (const Tiled& t : parts.tiled) tiled.push_back(declare_tiled(k, t, spec));
  std::vector<TermsValues> terms;
  for (const Terms& t : parts.terms) terms.push_back(declare_terms(k, t));
  std::set<std::string> maps(parts.maps.begin(), parts.maps.end());
  for (const std::string& name : parts.maps)
    choices.answer(name + ".vectors", std::to_string(k.number(name + ".vectors", {1, 2, 4})));
  for (size_t i = 0; i < parts.tiled.size(); ++i)
    schedule_tiled(s, parts.tiled[i], tiled[i], spec, parts.constants);
  for (size_t i = 0; i < parts.terms.size(); ++i) schedule_terms(s, parts.terms[i], terms[i], spec);
  // A stage after a reduction that could not run in its tiles is one by itself.
  for (const Tiled& t : parts.tiled)
    if (t.after) maps.insert(t.after->name());
  for (const std::string& name : maps) {
    const ir::LoopFunc now = s.func();
    const auto stage = find_stage(now, name);
    if (stage && stage->kind == StageKind::Map) schedule_map(s, name, spec, choices);
  }
}

}  // namespace

Space cpu_space(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                const std::vector<std::string>& constants) {
  schedule::Schedule start(canonical(blocks), spec.instructions);
  auto parts = std::make_shared<Parts>();
  if (only_blocks(start.func())) {
    Choices by_model;
    inline_stages(start, constants, by_model);
    schedule_winograd(start, spec, with_derived(start.func(), constants), by_model);
    *parts = parts_of(start, spec, constants);
  }
  return Space(std::move(start), {"cpu", [parts, spec](schedule::Schedule& s, Knobs& k) {
                                    run(s, k, *parts, spec);
                                  }});
}

}  // namespace tilewright::tune
