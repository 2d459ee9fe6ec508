// SPDX-License-Identifier: Apache-2.0
#include "module/verify.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "module/plan_ops.h"
#include "module/shape.h"
#include "module/verify_call.h"

namespace tilewright {
namespace {

using Storage = PlanValue::Storage;

class Verifier {
 public:
  Verifier(const ModuleView& module, const VariantView& variant, const Allocator& allocator,
           PlanFacts& facts, ErrorText& error)
      : module_(module),
        variant_(variant),
        plan_(variant.plan),
        allocator_(allocator),
        facts_(facts),
        error_(error) {}

  bool run() {
    return sizes() && bindings() && boundaries() && written_registers() && values() && code();
  }

 private:
  [[gnu::format(printf, 2, 3)]] bool bad(const char* format, ...);

  bool reg(Reg r) const { return r < plan_.registers; }
  bool constant(Reg r) const { return r < plan_.constants.size(); }
  bool name(uint32_t n) const { return n < module_.names.size(); }

  bool sizes();
  bool bindings();
  bool boundaries();
  bool written_registers();
  bool values();
  bool value(ValueId id);
  bool code();
  bool instruction(size_t at, PlanOp op, std::span<const uint32_t> words);
  bool operands(size_t at, PlanOp op, std::span<const uint32_t> words);
  bool value_operation(PlanOp op, std::span<const uint32_t> words);
  bool host_call(std::span<const uint32_t> words);
  bool attributes(uint32_t at);
  bool strings_constant(const PlanValue& v, int64_t count);

  const ModuleView& module_;
  const VariantView& variant_;
  const PlanView& plan_;
  const Allocator& allocator_;
  PlanFacts& facts_;
  ErrorText& error_;
  Array<uint8_t> starts_;  // of instructions: 1
  Array<uint8_t> view_depth_;
  Array<uint8_t> entry_;  // registers that hold their value from the end of the prologue on
};

bool Verifier::bad(const char* format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return error_.set("the module's plan is broken: %s", text);
}

bool Verifier::sizes() {
  // Every register is a constant, bound, or written by an instruction.
  if (plan_.registers > plan_.constants.size() + plan_.bindings.size() + plan_.code.size() ||
      plan_.constants.size() > plan_.registers)
    return bad("it has %u registers", plan_.registers);
  if (plan_.prologue_words > plan_.code.size()) return bad("its prologue is cut off");
  if (!reg(plan_.arena_bytes)) return bad("the size of the arena is in no register");
  for (const int64_t bytes : {plan_.arena_max, plan_.workspace_max, plan_.scratch_max})
    if (bytes < 0 || bytes > int64_t{1} << 46)
      return bad("it reserves %lld bytes", static_cast<long long>(bytes));
  if (!starts_.resize(allocator_, plan_.code.size() + 1) ||
      !entry_.resize(allocator_, plan_.registers) ||
      !facts_.at_entry.resize(allocator_, plan_.values.size()) ||
      !view_depth_.resize(allocator_, plan_.values.size()) ||
      !facts_.outputs.resize(allocator_, module_.outputs.size()))
    return error_.set("no memory to verify the module's plan");
  for (ValueId& id : facts_.outputs) id = kNone;
  return true;
}

bool Verifier::bindings() {
  for (size_t i = 0; i < plan_.constants.size(); ++i) entry_[i] = 1;
  Array<uint8_t> bound;  // for each dimension of an input
  if (!bound.resize(allocator_, module_.dims.size()))
    return error_.set("no memory to verify the module's plan");
  for (const DimBinding& b : plan_.bindings) {
    if (b.input >= module_.inputs.size() || b.axis >= module_.inputs[b.input].rank || !reg(b.reg) ||
        (b.symbol != kNone && !name(b.symbol)) || b.divisor < 1)
      return bad("it binds a dimension that is not there");
    entry_[b.reg] = 1;
    bound[module_.inputs[b.input].first_dim + b.axis] = 1;
  }
  for (const format::PortRecord& input : module_.inputs)
    for (uint32_t axis = 0; axis < input.rank; ++axis)
      if (bound[input.first_dim + axis] == 0)
        return bad("nothing checks dimension %u of input `%s`", axis, module_.name(input.name));
  return true;
}

bool Verifier::boundaries() {
  size_t at = 0;
  while (at < plan_.code.size()) {
    starts_[at] = 1;
    const uint32_t head = plan_.code[at], words = words_of(head);
    if (op_number(head) >= kPlanOpCount || words == 0 || words > plan_.code.size() - at)
      return bad("word %zu is no instruction", at);
    at += words;
  }
  starts_[at] = 1;
  return starts_[plan_.prologue_words] == 1 || bad("its prologue ends inside an instruction");
}

/// After the prologue, what it wrote stays: values that were defined from it stay valid, and a run
/// with the same input shapes need not compute it again.
bool Verifier::written_registers() {
  for (size_t at = 0; at < plan_.code.size(); at += words_of(plan_.code[at])) {
    const auto op = static_cast<PlanOp>(op_number(plan_.code[at]));
    if (info_of(op).operands[0] != 'd') continue;
    if (words_of(plan_.code[at]) < 2 || !reg(plan_.code[at + 1]))
      return bad("instruction %zu writes no register", at);
    const Reg d = plan_.code[at + 1];
    const bool prologue = at < plan_.prologue_words;
    if (entry_[d] == 1 || (entry_[d] == 2 && !prologue))
      return bad("instruction %zu writes a register that must keep its value", at);
    if (prologue) entry_[d] = 2;
  }
  return entry_[plan_.arena_bytes] != 0 || bad("the prologue does not compute the arena's size");
}

bool Verifier::values() {
  for (ValueId id = 0; id < plan_.values.size(); ++id)
    if (!value(id)) return false;
  for (size_t i = 0; i < module_.outputs.size(); ++i)
    if (facts_.outputs[i] == kNone)
      return bad("nothing sets output `%s`", module_.name(module_.outputs[i].name));
  return true;
}

bool Verifier::value(ValueId id) {
  const PlanValue& v = plan_.values[id];
  const bool array = v.type.is_tensor() || v.type.is_strings();
  const bool port = v.storage == Storage::Input || v.storage == Storage::Output;
  if (v.storage > Storage::Dynamic || v.own_shape > 1 || v.rank > kMaxRank || !reg(v.offset))
    return bad("value %u is of no known kind", id);
  if (!array && (v.own_shape == 0 || v.rank != 0 || (!port && v.storage != Storage::Dynamic)))
    return bad("value %u is a sequence or optional with a shape", id);
  if (v.storage == Storage::Input && v.own_shape == 0)
    return bad("value %u is an input with another shape than its own", id);
  if (port) {
    const auto& ports = v.storage == Storage::Input ? module_.inputs : module_.outputs;
    if (v.index >= ports.size() || ports[v.index].type != v.type ||
        (array && ports[v.index].rank != v.rank))
      return bad("value %u is no input or output of the module", id);
  }
  if (v.type.is_strings() && (v.storage == Storage::Arena || v.storage == Storage::View))
    return bad("value %u holds strings in a tensor's memory", id);
  if (v.storage == Storage::View) {
    if (v.index >= id || !plan_.values[v.index].type.is_tensor())
      return bad("value %u is a view of nothing", id);
    constexpr uint8_t kMaxDepth = 200;
    view_depth_[id] = static_cast<uint8_t>(view_depth_[v.index] + 1);
    if (view_depth_[id] > kMaxDepth) return bad("value %u is a view of too many views", id);
  }
  bool fixed = entry_[v.offset] != 0, constant_dims = true;
  int64_t dims[kMaxRank] = {};
  if (v.own_shape == 0) {
    if (v.dims > plan_.dims.size() || v.rank > plan_.dims.size() - v.dims)
      return bad("value %u has no dimensions", id);
    for (uint32_t i = 0; i < v.rank; ++i) {
      const Reg r = plan_.dims[v.dims + i];
      if (!reg(r)) return bad("value %u has dimensions in no register", id);
      fixed = fixed && entry_[r] != 0;
      constant_dims = constant_dims && constant(r);
      if (constant(r)) dims[i] = plan_.constants[r];
    }
  }
  const int64_t bytes = tensor_bytes(v.type.elem, {dims, v.rank});
  if (v.own_shape == 0 && constant_dims && bytes < 0) return bad("value %u is too large", id);

  switch (v.storage) {
    case Storage::Input:
      facts_.at_entry[id] = 1;
      for (const format::PortRecord& output : module_.outputs)
        if (output.source == v.index)
          return bad("value %u is an input whose storage output `%s` takes over", id,
                     module_.name(output.name));
      return true;
    case Storage::Output:
      facts_.at_entry[id] = fixed && v.own_shape == 0 && v.type.is_tensor();
      if (facts_.outputs[v.index] != kNone) return bad("output %u has two values", v.index);
      facts_.outputs[v.index] = id;
      return facts_.at_entry[id] != 0 || module_.outputs[v.index].source == kNone ||
             bad("output %u takes over an input, but its size is not known", v.index);
    case Storage::Arena:
      facts_.at_entry[id] = fixed && v.own_shape == 0;
      if (v.own_shape != 0) return bad("value %u of the arena has no shape", id);
      if (constant_dims && constant(v.offset) && constant(plan_.arena_bytes)) {
        const int64_t offset = plan_.constants[v.offset];
        const int64_t arena = plan_.constants[plan_.arena_bytes];
        if (offset < 0 || offset > arena || bytes > arena - offset)
          return bad("value %u lies outside of the arena", id);
      }
      return true;
    case Storage::View:
      // Once the plan comes to it: a way that the run does not take may have one that fits nowhere.
      facts_.at_entry[id] = 0;
      return v.own_shape == 0 || bad("view %u has no shape", id);
    case Storage::Constant: {
      facts_.at_entry[id] = 1;
      if (v.own_shape != 0 || !constant_dims || v.index >= module_.constants.size())
        return bad("value %u is no constant of the module", id);
      int64_t count = 1;
      for (uint32_t i = 0; i < v.rank; ++i)
        if (__builtin_mul_overflow(count, dims[i], &count)) return bad("value %u is too large", id);
      if (v.type.is_strings()) return strings_constant(v, count);
      return bytes <= static_cast<int64_t>(module_.constants[v.index].bytes) ||
             bad("value %u is larger than its constant", id);
    }
    case Storage::Dynamic:
      return v.index == kNone || name(v.index) || bad("value %u has no such name", id);
  }
  return false;
}

/// The only constants with structure: the offsets of strings lead into them.
bool Verifier::strings_constant(const PlanValue& v, int64_t count) {
  const format::ConstantRecord& c = module_.constants[v.index];
  if (count < 0 || static_cast<uint64_t>(count) >= c.bytes / 8)
    return bad("a constant of strings is cut off");
  const auto* offsets = reinterpret_cast<const uint64_t*>(module_.constant_bytes.data() + c.offset);
  const uint64_t characters = c.bytes - (static_cast<uint64_t>(count) + 1) * 8;
  for (int64_t i = 0; i < count; ++i)
    if (offsets[i] > offsets[i + 1]) return bad("a constant of strings is damaged");
  return (offsets[0] == 0 && offsets[count] <= characters) ||
         bad("a constant of strings is damaged");
}

bool Verifier::code() {
  for (size_t at = 0; at < plan_.code.size(); at += words_of(plan_.code[at])) {
    const auto op = static_cast<PlanOp>(op_number(plan_.code[at]));
    if (!instruction(at, op, plan_.code.subspan(at, words_of(plan_.code[at])))) return false;
  }
  return true;
}

bool Verifier::instruction(size_t at, PlanOp op, std::span<const uint32_t> words) {
  if (!operands(at, op, words)) return false;
  if (at < plan_.prologue_words && op > PlanOp::JumpIfZero)
    return bad("instruction %zu of the prologue does more than compute", at);
  if (op == PlanOp::Call || op == PlanOp::CallChecked) {
    if (!verify_call({module_, variant_, facts_, error_}, op, words)) return false;
    facts_.max_buffers = std::max(facts_.max_buffers, words[4]);
    facts_.max_scalars = std::max(facts_.max_scalars, words[5]);
    return true;
  }
  if (op == PlanOp::HostCall) return host_call(words);
  return value_operation(op, words);
}

bool Verifier::operands(size_t at, PlanOp op, std::span<const uint32_t> words) {
  const bool call = op == PlanOp::Call || op == PlanOp::CallChecked || op == PlanOp::HostCall;
  const char* kinds = info_of(op).operands;
  const size_t count = std::string_view(kinds).size();
  if (call ? words.size() < count + 1 : words.size() != count + 1)
    return bad("instruction %zu has %zu words", at, words.size());
  for (size_t i = 0; i < count; ++i) {
    const uint32_t w = words[i + 1];
    switch (kinds[i]) {
      case 'd':
      case 'r':
        if (!reg(w)) return bad("instruction %zu uses a register that is not there", at);
        break;
      case 'v':
      case 'w':
        if (w >= plan_.values.size())
          return bad("instruction %zu uses a value that is not there", at);
        break;
      case 'm':
        if (!name(w)) return bad("instruction %zu has no message", at);
        break;
      case 't': {
        const bool prologue = at < plan_.prologue_words;
        if (w > plan_.code.size() || starts_[w] == 0 ||
            (prologue ? w <= at || w > plan_.prologue_words : w < plan_.prologue_words))
          return bad("instruction %zu jumps to no place", at);
        break;
      }
      default: break;
    }
  }
  return true;
}

bool Verifier::value_operation(PlanOp op, std::span<const uint32_t> words) {
  if (op < PlanOp::LoadElement) return true;
  const bool load = op == PlanOp::LoadElement || op == PlanOp::LoadDim;
  const ValueId id = words[load ? 2 : 1];
  const PlanValue& v = plan_.values[id];
  const bool free_to_set =
      (v.storage == Storage::Dynamic || v.storage == Storage::Output) && facts_.at_entry[id] == 0;
  switch (op) {
    case PlanOp::LoadElement:
      return (v.type.is_tensor() && v.type.elem <= ElemType::U64) ||
             bad("an element of value %u is read, which holds no integers", id);
    case PlanOp::CheckIndices:
      return (v.type.is_tensor() && v.type.elem >= ElemType::I8 && v.type.elem <= ElemType::U64 &&
              bits_of(v.type.elem) >= 8 && words[3] < words[4]) ||
             bad("value %u holds no indices in column %u of %u", id, words[3], words[4]);
    case PlanOp::LoadDim:
      return words[3] < v.rank || bad("dimension %u of value %u is read", words[3], id);
    case PlanOp::Define:
      return v.storage == Storage::Arena || v.storage == Storage::View ||
             bad("value %u is defined, but has no place of its own", id);
    case PlanOp::Alloc:
    case PlanOp::Resize:
      return (free_to_set && v.type.is_tensor() && v.own_shape == 0) ||
             bad("value %u cannot be allocated", id);
    case PlanOp::Free: return v.storage == Storage::Dynamic || bad("value %u cannot be freed", id);
    case PlanOp::Share: {
      const PlanValue& from = plan_.values[words[2]];
      return (free_to_set && v.own_shape == 1 && v.type == from.type && v.rank == from.rank) ||
             bad("value %u cannot take over value %u", id, words[2]);
    }
    case PlanOp::Copy: {
      const PlanValue& from = plan_.values[words[2]];
      return (v.type.is_tensor() && v.type == from.type && may_write(plan_, id)) ||
             bad("value %u cannot be copied into value %u", words[2], id);
    }
    case PlanOp::StoreElement:
      return (v.type.is_tensor() && v.type.elem <= ElemType::U64 && bits_of(v.type.elem) >= 8 &&
              may_write(plan_, id)) ||
             bad("an element of value %u is written, which holds no integers", id);
    default: return false;
  }
}

bool Verifier::host_call(std::span<const uint32_t> words) {
  const uint64_t inputs = words[3], outputs = words[4];
  if (words[1] >= module_.host_ops.size()) return bad("it calls a host operator without a name");
  if (words.size() != kHostCallHead + inputs + outputs || inputs > UINT16_MAX || outputs > 64)
    return bad("a call of host operator `%s` is cut off", module_.name(module_.host_ops[words[1]]));
  for (uint64_t i = 0; i < inputs + outputs; ++i) {
    const ValueId id = words[kHostCallHead + i];
    if (id == kNone) continue;
    if (id >= plan_.values.size() || (i >= inputs && !may_write(plan_, id)))
      return bad("operand %u of host operator `%s` is not there", static_cast<unsigned>(i),
                 module_.name(module_.host_ops[words[1]]));
  }
  // An operator may give an output its memory while it still reads its inputs.
  for (uint64_t o = inputs; o < inputs + outputs; ++o)
    for (uint64_t i = 0; i < o; ++i) {
      const ValueId a = words[kHostCallHead + i], b = words[kHostCallHead + o];
      if (a != kNone && b != kNone && root_of(plan_, a) == root_of(plan_, b))
        return bad("host operator `%s` has one value twice",
                   module_.name(module_.host_ops[words[1]]));
    }
  return attributes(words[2]);
}

bool Verifier::attributes(uint32_t at) {
  const std::span<const uint32_t> all = plan_.attributes;
  uint64_t next = at;
  const auto cut_off = [&](uint64_t words) {
    return next > all.size() || words > all.size() - next;
  };
  if (cut_off(1)) return bad("the attributes of a host operator are not there");
  const uint32_t count = all[next++];
  for (uint32_t i = 0; i < count; ++i) {
    if (cut_off(3)) return bad("the attributes of a host operator are cut off");
    const uint32_t kind = all[next + 1] & ~kAttributeList, n = all[next + 2];
    const bool list = (all[next + 1] & kAttributeList) != 0;
    if (!name(all[next]) || kind > static_cast<uint32_t>(AttributeKind::String) ||
        (!list && n != 1))
      return bad("an attribute of a host operator has no known kind");
    next += 3;
    if (cut_off(uint64_t{n} * 2)) return bad("an attribute of a host operator is cut off");
    if (kind == static_cast<uint32_t>(AttributeKind::String))
      for (uint32_t k = 0; k < n; ++k) {
        const uint32_t start = all[next + 2 * k], bytes = all[next + 2 * k + 1];
        if (!name(start) || bytes >= module_.names.size() - start)
          return bad("an attribute of a host operator is a text that is not there");
      }
    next += uint64_t{n} * 2;
  }
  return true;
}

}  // namespace

bool verify_plan(const ModuleView& module, const VariantView& variant, const Allocator& allocator,
                 PlanFacts& facts, ErrorText& error) {
  return Verifier(module, variant, allocator, facts, error).run();
}

}  // namespace tilewright
