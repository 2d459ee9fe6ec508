// SPDX-License-Identifier: Apache-2.0
#include "driver/transfer.h"

#include "support/str.h"
#include "tune/records/core.h"
#include "tune/space/fit.h"
#include "tune/space/master.h"
#include "tune/space/nearby.h"

namespace tilewright::driver {
namespace {

using tune::Space;
using tune::Task;

Space nearby_of(const Task& t) { return tune::nearby_space(t.func, t.target, t.constants); }

/// A record's point in the spaces of the task.
std::optional<Transferred> fitted(const Task& task, const tune::Records::Near& from) {
  std::string text = from.record->point;
  std::optional<Space> to;
  std::string_view prefix;
  if (text.starts_with(kNearbyPrefix)) {
    prefix = kNearbyPrefix;
    to = nearby_of(task);
  } else if (text.starts_with(kMasterPrefix)) {
    prefix = kMasterPrefix;
    to = tune::cpu_space(task.func, task.target, task.constants);
  } else {
    return {};
  }
  text.erase(0, prefix.size());
  // What the model of another machine would have answered is not known here.
  if (prefix == kNearbyPrefix && !from.same_kernel)
    text = tune::decided(nearby_of(tune::task_from(from.record->workload, task.target)), text);
  if (!from.same_kind) {
    const auto its = tune::core_of(from.record->workload), mine = tune::core_of(task.workload);
    if (!its || !mine || its->kind.text != mine->kind.text) return {};
    text = tune::for_core(text, *its, *mine);
  }
  const auto point = tune::fitted(*to, text);
  if (!point) return {};
  return Transferred{to->apply(*point).trace(), str(prefix, to->encode(*point))};
}

}  // namespace

std::optional<Transferred> transferred(const Task& task, const tune::Records::Near& from) {
  try {
    if (!from.record) return {};
    std::optional<Transferred> out = fitted(task, from);
    if (!out && from.same_kernel)
      out = Transferred{schedule::parse_trace(from.record->trace, "record"), {}};
    if (!out) return {};
    tune::scheduled(task, out->trace);  // an Error when a step may not be done here
    if (schedule::print(out->trace) == schedule::print(tune::default_trace(task))) return {};
    return out;
  } catch (const Error&) {
    return {};  // of another version, or for sizes or a machine that are too different
  }
}

}  // namespace tilewright::driver
