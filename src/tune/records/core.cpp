// SPDX-License-Identifier: Apache-2.0
#include "tune/records/core.h"

#include <algorithm>
#include <sstream>

#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/diagnostic.h"
#include "support/sha256.h"
#include "support/str.h"
#include "tune/choose/stage.h"
#include "tune/measure/task.h"

namespace tilewright::tune {
namespace {

/// The stage that reduces the most.
std::optional<Stage> heart_of(const ir::LoopFunc& func) {
  const Sizes sizes(func);
  std::optional<Stage> out;
  double most = 0;
  for (const Stage& stage : stages_of(func)) {
    if (stage.kind != StageKind::Reduce || stage.points(sizes) <= most) continue;
    most = stage.points(sizes);
    out = stage;
  }
  return out;
}

std::string renamed(const std::string& name, const std::vector<std::string>& from,
                    const std::vector<std::string>& to) {
  const auto at = std::ranges::find(from, name);
  if (at == from.end()) return {};
  return to[static_cast<size_t>(at - from.begin())];
}

}  // namespace

std::optional<Core> core_of(const std::string& workload) try {
  const Task task = task_from(workload, {});
  const std::optional<Stage> stage = heart_of(task.func);
  if (!stage) return {};
  const std::vector<std::string> constants = with_derived(task.func, task.constants);
  Core out{.kind = {}, .stage = stage->name(), .iters = {}, .buffers = {}};
  std::string text;
  ir::VarMap vars;
  for (const ir::BlockIter& it : stage->block->iters) {
    const ir::Var var(str("v", out.iters.size()));
    vars.emplace(it.var, var);
    out.iters.push_back(it.var.name());
    text += str(it.kind == ir::IterKind::Reduction ? "r " : "s ", ir::print(it.extent), " ");
  }
  ir::BufferMap buffers;
  for (const Use& use : uses_of(*stage->block)) {
    if (buffers.contains(use.buffer)) continue;
    const bool constant = std::ranges::count(constants, use.buffer->name) > 0;
    const std::string name = str(constant ? "c" : "x", out.buffers.size());
    buffers.emplace(use.buffer, ir::make_buffer(name, use.buffer->elem, use.buffer->shape));
    out.buffers.push_back(use.buffer->name);
    text += str(ir::name(use.buffer->elem), " ");
  }
  text += ir::print(ir::substitute_buffers(ir::substitute(stage->block->body, vars), buffers));
  out.kind = kind_of(text);
  return out;
} catch (const std::exception&) {
  return {};  // of a file: it may be anything
}

std::string core_hash(const std::string& workload) {
  const std::optional<Core> core = core_of(workload);
  return core ? sha256(core->kind.text) : std::string();
}

std::string for_core(const std::string& point, const Core& from, const Core& to) {
  constexpr std::string_view kOperand = "operand_", kPlace = "place_", kOuter = "instruction.";
  std::string out;
  std::istringstream words(point);
  for (std::string word; words >> word;) {
    const std::string_view outer = word.starts_with(kOuter) ? kOuter : "";
    word.erase(0, outer.size());
    const size_t dot = word.find('.'), equals = word.find('=');
    if (dot == std::string::npos || equals == std::string::npos || dot > equals ||
        word.substr(0, dot) != from.stage)
      continue;
    std::string knob = word.substr(dot + 1, equals - dot - 1), value = word.substr(equals + 1);
    if (knob.starts_with(kPlace)) continue;  // of another stage
    if (knob == "inner") value = renamed(value, from.iters, to.iters);
    if (const std::string iter = renamed(knob, from.iters, to.iters); !iter.empty())
      knob = iter;
    else if (knob.starts_with(kOperand))
      knob = str(kOperand, renamed(knob.substr(kOperand.size()), from.buffers, to.buffers));
    out += str(out.empty() ? "" : " ", outer, to.stage, ".", knob, "=", value);
  }
  return out;
}

}  // namespace tilewright::tune
