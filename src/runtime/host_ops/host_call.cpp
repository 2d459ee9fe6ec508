// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "module/plan_ops.h"
#include "module/shape.h"
#include "runtime/context.h"
#include "runtime/host_ops/host_op.h"

namespace tilewright::runtime {
namespace {

constexpr size_t kTextBytes = 768;

uint64_t two_words(const uint32_t* words) { return uint64_t{words[1]} << 32 | words[0]; }

}  // namespace

std::span<char> StringsWriter::add(std::string_view text, std::string_view more) {
  const uint64_t at = offsets_[next_];
  if (!text.empty()) std::memcpy(characters_ + at, text.data(), text.size());
  if (!more.empty()) std::memcpy(characters_ + at + text.size(), more.data(), more.size());
  offsets_[++next_] = at + text.size() + more.size();
  return {characters_ + at, text.size() + more.size()};
}

const char* HostCall::name() const {
  return context_.module().name(context_.module().view().host_ops[words_[1]]);
}
uint32_t HostCall::inputs() const { return words_[3]; }
uint32_t HostCall::outputs() const { return words_[4]; }
bool HostCall::has_input(uint32_t i) const {
  return i < inputs() && words_[kHostCallHead + i] != kNone;
}
bool HostCall::has_output(uint32_t i) const {
  return i < outputs() && words_[kHostCallHead + inputs() + i] != kNone;
}
ValueType HostCall::input_type(uint32_t i) const {
  return context_.plan_value(words_[kHostCallHead + i]).type;
}
ValueType HostCall::output_type(uint32_t i) const {
  return context_.plan_value(words_[kHostCallHead + inputs() + i]).type;
}

bool HostCall::need_array(uint32_t i) {
  if (has_input(i) && (input_type(i).is_tensor() || input_type(i).is_strings())) return true;
  fail("input %u must be a tensor", i);
  return false;
}

bool HostCall::need_container(uint32_t i) {
  if (has_input(i) && (input_type(i).is_sequence() || input_type(i).is_optional())) return true;
  fail("input %u must be a sequence or an optional", i);
  return false;
}

ArrayView HostCall::array(uint32_t i) const {
  const ValueId id = words_[kHostCallHead + i];
  const Slot* slot = context_.live(id);
  const PlanValue& v = context_.plan_value(id);
  return {v.type, {slot->dims, v.rank}, slot->data, slot->bytes};
}

const Value& HostCall::container(uint32_t i) const {
  return *context_.live(words_[kHostCallHead + i])->object;
}

bool HostCall::integer(uint32_t i, int64_t& value) {
  if (!need_array(i)) return false;
  const ArrayView a = array(i);
  if (a.count() >= 1 && a.type.elem == ElemType::I64) {
    std::memcpy(&value, a.data, sizeof value);
    return true;
  }
  if (a.count() >= 1 && a.type.elem == ElemType::I32) {
    int32_t narrow = 0;
    std::memcpy(&narrow, a.data, sizeof narrow);
    value = narrow;
    return true;
  }
  fail("input %u must hold an integer", i);
  return false;
}

Value* HostCall::keep(uint32_t i) {
  Value* value = context_.keep(words_[kHostCallHead + i]);
  if (value == nullptr) fail("there is no memory to keep input %u", i);
  return value;
}

/// [kind n payload…] of an attribute, or nullptr when it is not given or of another kind.
const uint32_t* HostCall::find(std::string_view name, uint32_t kind) const {
  const uint32_t* at = context_.module().plan().attributes.data() + words_[2];
  const uint32_t count = *at++;
  for (uint32_t i = 0; i < count; ++i, at += 3 + 2 * uint64_t{at[2]})
    if (name == context_.module().name(at[0])) return at[1] == kind ? at + 1 : nullptr;
  return nullptr;
}

int64_t HostCall::attribute(std::string_view name, int64_t otherwise) const {
  const uint32_t* at = find(name, static_cast<uint32_t>(AttributeKind::Int));
  return at == nullptr ? otherwise : static_cast<int64_t>(two_words(at + 2));
}

double HostCall::attribute(std::string_view name, double otherwise) const {
  const uint32_t* at = find(name, static_cast<uint32_t>(AttributeKind::Float));
  return at == nullptr ? otherwise : std::bit_cast<double>(two_words(at + 2));
}

std::string_view HostCall::attribute(std::string_view name, std::string_view otherwise) const {
  const uint32_t* at = find(name, static_cast<uint32_t>(AttributeKind::String));
  return at == nullptr ? otherwise : std::string_view(context_.module().name(at[2]), at[3]);
}

uint32_t HostCall::attribute_count(std::string_view name) const {
  for (const AttributeKind kind : {AttributeKind::Int, AttributeKind::Float, AttributeKind::String})
    if (const uint32_t* at = find(name, static_cast<uint32_t>(kind) | kAttributeList)) return at[1];
  return 0;
}

int64_t HostCall::integer_attribute(std::string_view name, uint32_t i) const {
  const uint32_t* at = find(name, static_cast<uint32_t>(AttributeKind::Int) | kAttributeList);
  return at == nullptr || i >= at[1] ? 0
                                     : static_cast<int64_t>(two_words(at + 2 + 2 * uint64_t{i}));
}

double HostCall::float_attribute(std::string_view name, uint32_t i) const {
  const uint32_t* at = find(name, static_cast<uint32_t>(AttributeKind::Float) | kAttributeList);
  return at == nullptr || i >= at[1] ? 0
                                     : std::bit_cast<double>(two_words(at + 2 + 2 * uint64_t{i}));
}

std::string_view HostCall::string_attribute(std::string_view name, uint32_t i) const {
  const uint32_t* at = find(name, static_cast<uint32_t>(AttributeKind::String) | kAttributeList);
  if (at == nullptr || i >= at[1]) return {};
  const uint32_t* text = at + 2 + 2 * uint64_t{i};
  return {context_.module().name(text[0]), text[1]};
}

void* HostCall::output(uint32_t i, std::span<const int64_t> dims) {
  const ValueId id = has_output(i) ? words_[kHostCallHead + inputs() + i] : kNone;
  if (id == kNone || !output_type(i).is_tensor()) {
    fail("output %u must be a tensor", i);
    return nullptr;
  }
  const int64_t bytes = tensor_bytes(output_type(i).elem, dims);
  if (bytes < 0) {
    fail("output %u would be too large", i);
    return nullptr;
  }
  status_ = context_.allocate(id, dims, bytes);
  return status_ == TW_OK ? context_.live(id)->data : nullptr;
}

StringsWriter HostCall::output_strings(uint32_t i, std::span<const int64_t> dims,
                                       int64_t characters) {
  const ValueId id = has_output(i) ? words_[kHostCallHead + inputs() + i] : kNone;
  if (id == kNone || !output_type(i).is_strings()) {
    fail("output %u must be a tensor of strings", i);
    return {};
  }
  // The offsets are as large as a tensor of i64 with one more.
  int64_t bytes = tensor_bytes(ElemType::I64, dims);
  if (bytes < 0 || characters < 0 || __builtin_add_overflow(bytes, characters, &bytes) ||
      __builtin_add_overflow(bytes, int64_t{8}, &bytes)) {
    fail("output %u would be too large", i);
    return {};
  }
  status_ = context_.allocate(id, dims, bytes);
  if (status_ != TW_OK) return {};
  return {context_.live(id)->data, element_count(dims)};
}

tw_status HostCall::output(uint32_t i, Value* value) {
  if (!has_output(i)) {
    value->release();
    return fail("output %u is not there", i);
  }
  status_ = context_.take(words_[kHostCallHead + inputs() + i], value);
  return status_;
}

BlockPool& HostCall::pool() { return context_.pool(); }

tw_status HostCall::fail(const char* format, ...) {
  char text[kTextBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fail(TW_RUN_FAILED, "%s", text);
}

tw_status HostCall::fail(tw_status status, const char* format, ...) {
  char text[kTextBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  status_ = context_.fail(status, "host operator `%s`: %s", name(), text);
  return status_;
}

}  // namespace tilewright::runtime
