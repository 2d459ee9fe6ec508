// SPDX-License-Identifier: Apache-2.0
#include "module/plan_builder.h"

#include <bit>

#include "module/plan_ops.h"

namespace tilewright {
namespace {

// Constants come first in the finished plan, but nobody knows how many until then: while it is
// built, constant i is register kConstant + i.
constexpr Reg kConstant = 0x80000000;

void add_i64(std::vector<uint32_t>& words, int64_t value) {
  words.push_back(static_cast<uint32_t>(value));
  words.push_back(static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32));
}

struct AttributeWords {
  Module& module;
  std::vector<uint32_t>& words;

  void head(AttributeKind kind, size_t count, bool list) {
    words.push_back(static_cast<uint32_t>(kind) | (list ? kAttributeList : 0));
    words.push_back(static_cast<uint32_t>(count));
  }
  void one(int64_t v) { add_i64(words, v); }
  void one(double v) { add_i64(words, std::bit_cast<int64_t>(v)); }
  void one(const std::string& v) {
    words.push_back(module.names.add(v));
    words.push_back(static_cast<uint32_t>(v.size()));
  }
  static AttributeKind kind(int64_t) { return AttributeKind::Int; }
  static AttributeKind kind(double) { return AttributeKind::Float; }
  static AttributeKind kind(const std::string&) { return AttributeKind::String; }

  template <class T>
  void operator()(const T& v) {
    head(kind(v), 1, false);
    one(v);
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    head(kind(T{}), list.size(), true);
    for (const T& v : list) one(v);
  }
};

}  // namespace

Reg PlanBuilder::constant(int64_t value) {
  const auto [place, fresh] =
      constants_.try_emplace(value, kConstant + static_cast<Reg>(plan_.constants.size()));
  if (fresh) plan_.constants.push_back(value);
  return place->second;
}

bool PlanBuilder::is_constant(Reg r) const { return (r & kConstant) != 0; }

Reg PlanBuilder::fresh() { return plan_.registers++; }

Reg PlanBuilder::bind(uint32_t input, uint32_t axis, const Range& range) {
  const Reg reg = fresh();
  plan_.bindings.push_back(
      {.input = input,
       .axis = axis,
       .reg = reg,
       .symbol = range.symbol.empty() ? kNone : module_.names.add(range.symbol),
       .min = range.min,
       .max = range.max,
       .divisor = range.divisor});
  return reg;
}

void PlanBuilder::bind_to(uint32_t input, uint32_t axis, Reg reg) {
  plan_.bindings.push_back({.input = input, .axis = axis, .reg = reg});
}

void PlanBuilder::emit(PlanOp op, std::initializer_list<uint32_t> operands) {
  plan_.code.push_back(plan_word(op, static_cast<uint32_t>(operands.size()) + 1));
  plan_.code.insert(plan_.code.end(), operands);
}

Reg PlanBuilder::op(PlanOp op, Reg a) {
  const Reg d = fresh();
  emit(op, {d, a});
  return d;
}

Reg PlanBuilder::op(PlanOp op, Reg a, Reg b) {
  const Reg d = fresh();
  emit(op, {d, a, b});
  return d;
}

Reg PlanBuilder::select(Reg condition, Reg a, Reg b) {
  const Reg d = fresh();
  emit(PlanOp::Select, {d, condition, a, b});
  return d;
}

void PlanBuilder::op_to(Reg d, PlanOp op, Reg a, Reg b) { emit(op, {d, a, b}); }
void PlanBuilder::set(Reg d, Reg a) { emit(PlanOp::Set, {d, a}); }

void PlanBuilder::check(Reg r, std::string_view message) {
  emit(PlanOp::Check, {r, module_.names.add(message)});
}

void PlanBuilder::check_indices(ValueId v, Reg extent, uint32_t column, uint32_t columns,
                                std::string_view message) {
  emit(PlanOp::CheckIndices, {v, extent, column, columns, module_.names.add(message)});
}

PlanBuilder::Label PlanBuilder::label() {
  label_places_.push_back(kNone);
  return {static_cast<uint32_t>(label_places_.size() - 1)};
}

void PlanBuilder::place(Label label) {
  label_places_[label.id] = static_cast<uint32_t>(plan_.code.size());
}

void PlanBuilder::jump(Label label) {
  emit(PlanOp::Jump, {0});
  label_uses_.emplace_back(plan_.code.size() - 1, label.id);
}

void PlanBuilder::jump_if_zero(Reg r, Label label) {
  emit(PlanOp::JumpIfZero, {r, 0});
  label_uses_.emplace_back(plan_.code.size() - 1, label.id);
}

ValueId PlanBuilder::add(const PlanValue& value, std::span<const Reg> dims) {
  PlanValue v = value;
  if (v.own_shape == 0) {
    v.rank = static_cast<uint8_t>(dims.size());
    v.dims = static_cast<uint32_t>(plan_.dims.size());
    plan_.dims.insert(plan_.dims.end(), dims.begin(), dims.end());
  }
  plan_.values.push_back(v);
  return static_cast<ValueId>(plan_.values.size() - 1);
}

ValueId PlanBuilder::input(uint32_t index) {
  const Port& port = module_.inputs[index];
  return add({.storage = PlanValue::Storage::Input,
              .rank = static_cast<uint8_t>(port.dims.size()),
              .own_shape = 1,
              .type = port.type,
              .index = index,
              .offset = constant(0)},
             {});
}

ValueId PlanBuilder::output(uint32_t index, std::span<const Reg> dims) {
  return add({.storage = PlanValue::Storage::Output,
              .type = module_.outputs[index].type,
              .index = index,
              .offset = constant(0)},
             dims);
}

ValueId PlanBuilder::output(uint32_t index) {
  const Port& port = module_.outputs[index];
  return add({.storage = PlanValue::Storage::Output,
              .rank = static_cast<uint8_t>(port.dims.size()),
              .own_shape = 1,
              .type = port.type,
              .index = index,
              .offset = constant(0)},
             {});
}

ValueId PlanBuilder::constant_value(uint32_t index, ElemType elem, std::span<const Reg> dims) {
  return add({.storage = PlanValue::Storage::Constant,
              .type = {elem},
              .index = index,
              .offset = constant(0)},
             dims);
}

ValueId PlanBuilder::arena(Reg offset, ElemType elem, std::span<const Reg> dims) {
  return add({.storage = PlanValue::Storage::Arena, .type = {elem}, .offset = offset}, dims);
}

ValueId PlanBuilder::view(ValueId of, Reg offset, ElemType elem, std::span<const Reg> dims) {
  return add({.storage = PlanValue::Storage::View, .type = {elem}, .index = of, .offset = offset},
             dims);
}

ValueId PlanBuilder::dynamic(ElemType elem, std::span<const Reg> dims, std::string_view name) {
  return add({.storage = PlanValue::Storage::Dynamic,
              .type = {elem},
              .index = name.empty() ? kNone : module_.names.add(name),
              .offset = constant(0)},
             dims);
}

ValueId PlanBuilder::dynamic(ValueType type, uint32_t rank, std::string_view name) {
  return add({.storage = PlanValue::Storage::Dynamic,
              .rank = static_cast<uint8_t>(rank),
              .own_shape = 1,
              .type = type,
              .index = name.empty() ? kNone : module_.names.add(name),
              .offset = constant(0)},
             {});
}

void PlanBuilder::store_element(ValueId v, Reg index, Reg r) {
  emit(PlanOp::StoreElement, {v, index, r});
}

Reg PlanBuilder::load_element(ValueId v, Reg index) {
  const Reg d = fresh();
  emit(PlanOp::LoadElement, {d, v, index});
  return d;
}

Reg PlanBuilder::load_dim(ValueId v, uint32_t axis) {
  const Reg d = fresh();
  emit(PlanOp::LoadDim, {d, v, axis});
  return d;
}

void PlanBuilder::define(ValueId v) { emit(PlanOp::Define, {v}); }
void PlanBuilder::alloc(ValueId v) { emit(PlanOp::Alloc, {v}); }
void PlanBuilder::resize(ValueId v) { emit(PlanOp::Resize, {v}); }
void PlanBuilder::free(ValueId v) { emit(PlanOp::Free, {v}); }
void PlanBuilder::share(ValueId v, ValueId from) { emit(PlanOp::Share, {v, from}); }
void PlanBuilder::copy(ValueId v, ValueId from) { emit(PlanOp::Copy, {v, from}); }

/// Is it certain at load time where the value lies: an address that no other value shares, set
/// before the body runs?
bool PlanBuilder::fixed(const PlanValue& v) const {
  using Storage = PlanValue::Storage;
  if (v.storage == Storage::Input || v.storage == Storage::Constant) return true;
  if (v.own_shape != 0) return false;
  for (uint32_t i = 0; i < v.rank; ++i)
    if (!is_constant(plan_.dims[v.dims + i])) return false;
  return v.storage == Storage::Output || (v.storage == Storage::Arena && is_constant(v.offset));
}

void PlanBuilder::call(uint32_t kernel, std::span<const ValueId> buffers,
                       std::span<const Reg> scalars, Work work) {
  PlanOp op = PlanOp::Call;
  for (const ValueId v : buffers)
    if (!fixed(plan_.values[v])) op = PlanOp::CallChecked;
  const Reg zero = constant(0);
  plan_.code.push_back(
      plan_word(op, kCallHead + static_cast<uint32_t>(buffers.size() + scalars.size())));
  plan_.code.push_back(kernel);
  plan_.code.push_back(work.shared == kNone ? zero : work.shared);
  plan_.code.push_back(work.per_worker == kNone ? zero : work.per_worker);
  plan_.code.push_back(static_cast<uint32_t>(buffers.size()));
  plan_.code.push_back(static_cast<uint32_t>(scalars.size()));
  plan_.code.insert(plan_.code.end(), buffers.begin(), buffers.end());
  plan_.code.insert(plan_.code.end(), scalars.begin(), scalars.end());
}

void PlanBuilder::host_call(std::string_view name, std::span<const HostAttribute> attributes,
                            std::span<const ValueId> inputs, std::span<const ValueId> outputs) {
  uint32_t op = 0;
  while (op < module_.host_ops.size() && module_.host_ops[op] != name) ++op;
  if (op == module_.host_ops.size()) module_.host_ops.emplace_back(name);
  plan_.code.push_back(plan_word(
      PlanOp::HostCall, kHostCallHead + static_cast<uint32_t>(inputs.size() + outputs.size())));
  plan_.code.push_back(op);
  plan_.code.push_back(static_cast<uint32_t>(plan_.attributes.size()));
  plan_.code.push_back(static_cast<uint32_t>(inputs.size()));
  plan_.code.push_back(static_cast<uint32_t>(outputs.size()));
  plan_.code.insert(plan_.code.end(), inputs.begin(), inputs.end());
  plan_.code.insert(plan_.code.end(), outputs.begin(), outputs.end());

  plan_.attributes.push_back(static_cast<uint32_t>(attributes.size()));
  for (const HostAttribute& a : attributes) {
    plan_.attributes.push_back(module_.names.add(a.name));
    std::visit(AttributeWords{module_, plan_.attributes}, a.value);
  }
}

void PlanBuilder::reserve(int64_t workspace, int64_t scratch) {
  plan_.workspace_max = workspace;
  plan_.scratch_max = scratch;
}

void PlanBuilder::set_live_bytes(int64_t laid_out, int64_t live) {
  plan_.laid_out_bytes = laid_out;
  plan_.live_bytes = live;
}

void PlanBuilder::end_prologue(Reg arena_bytes, int64_t arena_max) {
  plan_.prologue_words = static_cast<uint32_t>(plan_.code.size());
  plan_.arena_bytes = arena_bytes;
  plan_.arena_max = arena_max;
}

Plan PlanBuilder::finish() {
  for (const auto& [word, label] : label_uses_) plan_.code[word] = label_places_[label];
  const auto constants = static_cast<uint32_t>(plan_.constants.size());
  const auto final_reg = [&](Reg& r) { r = is_constant(r) ? r - kConstant : constants + r; };
  for (DimBinding& b : plan_.bindings) final_reg(b.reg);
  for (PlanValue& v : plan_.values) final_reg(v.offset);
  for (Reg& r : plan_.dims) final_reg(r);
  final_reg(plan_.arena_bytes);
  for (size_t at = 0; at < plan_.code.size(); at += words_of(plan_.code[at])) {
    const auto op = static_cast<PlanOp>(op_number(plan_.code[at]));
    uint32_t* word = &plan_.code[at + 1];
    for (const char* kind = info_of(op).operands; *kind != 0; ++kind, ++word)
      if (*kind == 'd' || *kind == 'r') final_reg(*word);
    if (op == PlanOp::Call || op == PlanOp::CallChecked) {
      const uint32_t buffers = plan_.code[at + 4], scalars = plan_.code[at + 5];
      for (uint32_t i = 0; i < scalars; ++i) final_reg(word[buffers + i]);
    }
  }
  plan_.registers += constants;
  return std::move(plan_);
}

}  // namespace tilewright
