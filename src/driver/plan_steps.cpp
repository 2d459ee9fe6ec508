// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_steps.h"

#include <algorithm>

#include "module/plan_ops.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using Registers = std::vector<std::optional<int64_t>>;

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::optional<int64_t> compute(PlanOp op, std::span<const int64_t> in) {
  const int64_t a = in[0], b = in.size() > 1 ? in[1] : 0;
  switch (op) {
    case PlanOp::Set: return a;
    case PlanOp::Add: return a + b;
    case PlanOp::Sub: return a - b;
    case PlanOp::Mul: return a * b;
    case PlanOp::FloorDiv: return b == 0 ? std::nullopt : std::optional(floor_div(a, b));
    case PlanOp::FloorMod: return b == 0 ? std::nullopt : std::optional(a - floor_div(a, b) * b);
    case PlanOp::Min: return std::min(a, b);
    case PlanOp::Max: return std::max(a, b);
    case PlanOp::Equal: return a == b;
    case PlanOp::Less: return a < b;
    case PlanOp::LessEqual: return a <= b;
    case PlanOp::And: return a != 0 && b != 0;
    case PlanOp::Or: return a != 0 || b != 0;
    case PlanOp::Not: return a == 0;
    case PlanOp::Select: return a != 0 ? b : in[2];
    default: return {};
  }
}

/// What the prologue computes. Nothing for a register that the body sets, or that a computation
/// without a result would have set.
Registers after_prologue(const PlanView& plan,
                         const std::vector<std::vector<int64_t>>& input_shapes) {
  Registers regs(plan.registers);
  for (size_t i = 0; i < plan.constants.size(); ++i) regs[i] = plan.constants[i];
  for (const DimBinding& b : plan.bindings)
    if (b.input < input_shapes.size() && b.axis < input_shapes[b.input].size())
      regs[b.reg] = input_shapes[b.input][b.axis];
  for (uint32_t at = 0; at < plan.prologue_words;) {
    const std::span<const uint32_t> words = plan.code.subspan(at, words_of(plan.code[at]));
    const auto op = static_cast<PlanOp>(op_number(words[0]));
    at += static_cast<uint32_t>(words.size());
    if (op == PlanOp::Jump || (op == PlanOp::JumpIfZero && regs[words[1]] == 0)) at = words.back();
    if (op > PlanOp::Select) continue;
    std::vector<int64_t> in;
    for (const uint32_t reg : words.subspan(2))
      if (regs[reg]) in.push_back(*regs[reg]);
    regs[words[1]] = in.size() == words.size() - 2 ? compute(op, in) : std::nullopt;
  }
  return regs;
}

/// Registers that the body writes have no one value.
void forget_written(const PlanView& plan, Registers& regs) {
  for (uint32_t at = plan.prologue_words; at < plan.code.size(); at += words_of(plan.code[at])) {
    const char* kinds = info_of(static_cast<PlanOp>(op_number(plan.code[at]))).operands;
    for (uint32_t i = 0; kinds[i] != '\0'; ++i)
      if (kinds[i] == 'd') regs[plan.code[at + 1 + i]] = std::nullopt;
  }
}

PlannedValue describe(const PlanView& plan, const PlanValue& v, const Registers& regs,
                      const std::vector<std::vector<int64_t>>& input_shapes) {
  PlannedValue out{.storage = v.storage, .index = v.index};
  Registers dims;
  if (v.storage == PlanValue::Storage::Input && v.index < input_shapes.size())
    for (const int64_t d : input_shapes[v.index]) dims.emplace_back(d);
  else
    for (uint32_t d = 0; d < v.rank; ++d)
      dims.push_back(v.own_shape ? std::nullopt : regs[plan.dims[v.dims + d]]);
  out.type = v.type.is_tensor() ? name_of(v.type.elem) : "";
  int64_t bits = v.type.is_tensor() ? bits_of(v.type.elem) : 0;
  bool known = v.type.is_tensor();
  for (size_t d = 0; d < dims.size(); ++d) {
    out.type += str(d ? ", " : "[", dims[d] ? str(*dims[d]) : "?");
    known = known && dims[d];
    bits *= dims[d].value_or(0);
  }
  out.type += dims.empty() ? "[]" : "]";
  if (known) out.bytes = (bits + 7) / 8;
  if (v.storage == PlanValue::Storage::Arena) out.offset = regs[v.offset];
  return out;
}

/// Marks what lies inside of another value. A concat or split of values that lie in place is no
/// step: its whole, or its parts, are read and never written.
///   step 0 writes %a, step 1 writes %b, step 2 reads %c     a and b are parts of c
///   step 0 writes %c, step 1 reads %a, step 2 reads %b      likewise
/// All of them live as long as the whole.
class PartFinder {
 public:
  /// `written` are values that other instructions than steps write.
  PartFinder(PlanSteps& plan, std::vector<bool> written)
      : values_(plan.values), written_(std::move(written)) {
    for (const PlanStep& step : plan.steps)
      for (const uint32_t v : step.writes) written_[v] = true;
    for (const PlanStep& step : plan.steps) {
      for (const uint32_t v : step.reads) read(v);
      for (const uint32_t v : step.writes) write(v);
    }
    // A whole may be a part itself, and what is found last is the outermost.
    for (PlannedValue& v : values_) {
      if (v.whole == kNone) continue;
      while (values_[v.whole].whole != kNone) v.whole = values_[v.whole].whole;
      values_[v.whole].first = std::min(values_[v.whole].first, v.first);
      values_[v.whole].last = std::max(values_[v.whole].last, v.last);
    }
    for (PlannedValue& v : values_)
      if (v.whole != kNone) v.first = values_[v.whole].first, v.last = values_[v.whole].last;
  }

 private:
  bool is_placed(uint32_t v) const {
    return values_[v].offset && values_[v].bytes && *values_[v].bytes > 0;
  }
  int64_t begin(uint32_t v) const { return *values_[v].offset; }
  int64_t end(uint32_t v) const { return begin(v) + *values_[v].bytes; }
  bool overlap(uint32_t a, uint32_t b) const { return begin(a) < end(b) && begin(b) < end(a); }
  bool contains(uint32_t whole, uint32_t part) const {
    return begin(whole) <= begin(part) && end(part) <= end(whole);
  }

  void write(uint32_t v) {
    if (!is_placed(v)) return;
    std::erase_if(there_, [&](uint32_t other) { return overlap(v, other); });
    there_.push_back(v);
  }

  void read(uint32_t v) {
    if (written_[v] || !is_placed(v)) return;
    written_[v] = true;  // looked at, and there from now on
    for (const uint32_t other : there_) {
      if (!overlap(v, other)) continue;
      if (contains(other, v)) {
        if (values_[v].whole == kNone) values_[v].whole = other;
      } else if (contains(v, other) && values_[other].whole == kNone) {
        values_[other].whole = v;
      }
    }
    if (values_[v].whole == kNone) there_.push_back(v);
  }

  std::vector<PlannedValue>& values_;
  std::vector<bool> written_;
  std::vector<uint32_t> there_;  // what lies in the arena now, nothing over another but as a part
};

}  // namespace

PlanSteps plan_steps(const ModuleView& module, const VariantView& variant,
                     const std::vector<std::vector<int64_t>>& input_shapes) {
  const PlanView& plan = variant.plan;
  Registers regs = after_prologue(plan, input_shapes);
  PlanSteps out;
  out.arena_bytes = regs[plan.arena_bytes].value_or(0);
  forget_written(plan, regs);
  for (const PlanValue& v : plan.values)
    out.values.push_back(describe(plan, v, regs, input_shapes));

  std::vector<bool> stored(plan.values.size());    // element by element
  std::vector<uint32_t> same(plan.values.size());  // what the value is another name of
  for (uint32_t v = 0; v < same.size(); ++v)       // a view looks at a value before it
    same[v] = plan.values[v].storage == PlanValue::Storage::View ? same[plan.values[v].index] : v;
  for (uint32_t at = plan.prologue_words; at < plan.code.size(); at += words_of(plan.code[at])) {
    const uint32_t* w = &plan.code[at];
    const auto op = static_cast<PlanOp>(op_number(w[0]));
    if (op == PlanOp::Share || op == PlanOp::Copy) same[w[1]] = same[w[2]];
    if (op == PlanOp::StoreElement) stored[w[1]] = true;
    PlanStep step{.instruction = at};
    const auto use = [&](uint32_t value, bool reads, bool writes) {
      if (value == kNone) return;
      if (reads) step.reads.push_back(same[value]);
      if (writes) step.writes.push_back(same[value]);
    };
    if (op == PlanOp::Call || op == PlanOp::CallChecked) {
      const format::KernelRecord& kernel = variant.kernels[w[1]];
      step.kernel = w[1];
      step.name = module.name(kernel.name);
      for (uint32_t i = 0; i < w[4]; ++i) {
        const auto access = variant.params[kernel.first_param + i].access;
        use(w[kCallHead + i], access != KernelParam::Access::Write,
            access != KernelParam::Access::Read);
      }
      for (uint32_t i = 0; i < w[5]; ++i) step.scalars.push_back(regs[w[kCallHead + w[4] + i]]);
    } else if (op == PlanOp::HostCall) {
      step.name = module.name(module.host_ops[w[1]]);
      for (uint32_t i = 0; i < w[3] + w[4]; ++i) use(w[kHostCallHead + i], i < w[3], i >= w[3]);
    } else {
      continue;
    }
    const int number = static_cast<int>(out.steps.size());
    for (const auto* ids : {&step.reads, &step.writes})
      for (const uint32_t v : *ids) {
        PlannedValue& value = out.values[v];
        if (value.first < 0) value.first = number;
        value.last = number;
      }
    out.steps.push_back(std::move(step));
  }
  PartFinder(out, std::move(stored));
  return out;
}

}  // namespace tilewright::driver
