// SPDX-License-Identifier: Apache-2.0
#include "module/verify_call.h"

#include <algorithm>

#include "module/plan_ops.h"
#include "module/shape.h"

namespace tilewright {
namespace {

using Storage = PlanValue::Storage;

/// Where a value lies for all runs, in one of the spaces that never overlap.
struct Place {
  enum class Space : uint8_t { Input, Output, Constant, Arena };
  Space space;
  uint32_t index = 0;
  int64_t begin = 0, end = 0;  // in the arena
};

/// False when only a run can tell.
bool place_of(const PlanView& plan, const PlanFacts& facts, ValueId id, Place& place) {
  const PlanValue& v = plan.values[id];
  if (facts.at_entry[id] == 0) return false;
  switch (v.storage) {
    case Storage::Input: place = {Place::Space::Input, v.index}; return true;
    case Storage::Output: place = {Place::Space::Output, v.index}; return true;
    case Storage::Constant: place = {Place::Space::Constant, v.index}; return true;
    case Storage::Arena: break;
    default: return false;
  }
  const auto constant = [&](Reg r) { return r < plan.constants.size(); };
  int64_t dims[kMaxRank];
  for (uint32_t i = 0; i < v.rank; ++i) {
    const Reg r = plan.dims[v.dims + i];
    if (!constant(r)) return false;
    dims[i] = plan.constants[r];
  }
  if (!constant(v.offset)) return false;
  const int64_t begin = plan.constants[v.offset];
  place = {Place::Space::Arena, 0, begin, begin + tensor_bytes(v.type.elem, {dims, v.rank})};
  return true;
}

bool apart(const Place& a, const Place& b) {
  using Space = Place::Space;
  if (a.space == Space::Arena && b.space == Space::Arena)
    return a.end <= b.begin || b.end <= a.begin;
  return a.space != b.space || a.index != b.index;
}

/// Memory that the runtime allocates and constants are aligned to 64 bytes.
bool aligned(const ModuleView& module, const Place& place, const KernelParam& param) {
  using Space = Place::Space;
  const int64_t alignment = int64_t{1} << param.log2_alignment;
  switch (place.space) {
    case Space::Input: return module.inputs[place.index].alignment >= alignment;
    case Space::Output: return module.outputs[place.index].alignment >= alignment;
    case Space::Constant: return true;
    case Space::Arena: return place.begin % alignment == 0;
  }
  return false;
}

}  // namespace

ValueId root_of(const PlanView& plan, ValueId id) {
  while (plan.values[id].storage == Storage::View) id = plan.values[id].index;
  return id;
}

bool may_write(const PlanView& plan, ValueId id) {
  const Storage storage = plan.values[root_of(plan, id)].storage;
  return storage != Storage::Input && storage != Storage::Constant;
}

bool verify_call(const CallChecks& checks, PlanOp op, std::span<const uint32_t> words) {
  const PlanView& plan = checks.variant.plan;
  const ModuleView& module = checks.module;
  const auto bad = [&](const char* what, const char* kernel) {
    return checks.error.set("the module's plan is broken: in a call of kernel `%s`, %s", kernel,
                            what);
  };
  if (words[1] >= checks.variant.kernels.size()) return bad("there is no such kernel", "");
  const format::KernelRecord& kernel = checks.variant.kernels[words[1]];
  const char* name = module.name(kernel.name);
  const uint64_t buffers = words[4], scalars = words[5];
  if (buffers != kernel.params || scalars != kernel.scalars ||
      words.size() != kCallHead + buffers + scalars)
    return bad("the number of parameters is not that of the kernel", name);
  const std::span<const uint32_t> values = words.subspan(kCallHead, buffers);
  for (const uint32_t r : words.subspan(kCallHead + buffers))
    if (r >= plan.registers) return bad("a scalar is in no register", name);

  for (size_t i = 0; i < buffers; ++i) {
    const KernelParam& param = checks.variant.params[kernel.first_param + i];
    if (values[i] >= plan.values.size() || !plan.values[values[i]].type.is_tensor())
      return bad("a parameter is no tensor", name);
    const bool writes = param.access != KernelParam::Access::Read;
    if (writes && !may_write(plan, values[i]))
      return bad("an input or a constant is written", name);
    if (op == PlanOp::CallChecked) continue;
    Place place;
    if (!place_of(plan, checks.facts, values[i], place))
      return bad("it is not certain where a parameter lies", name);
    if (!aligned(module, place, param))
      return bad("a parameter is not aligned as the kernel needs", name);
    for (size_t k = 0; writes && k < buffers; ++k) {
      Place other;
      if (k != i && values[k] < plan.values.size() &&
          place_of(plan, checks.facts, values[k], other) && !apart(place, other))
        return bad("two parameters overlap", name);
    }
  }
  for (const int which : {2, 3}) {
    if (words[which] >= plan.constants.size()) continue;
    const int64_t bytes = plan.constants[words[which]];
    if (bytes < 0 || bytes > int64_t{1} << 46)
      return bad("its workspace is too large for any machine", name);
    int64_t& most = which == 2 ? checks.facts.workspace_bytes : checks.facts.scratch_bytes;
    most = std::max(most, bytes);
  }
  return true;
}

}  // namespace tilewright
