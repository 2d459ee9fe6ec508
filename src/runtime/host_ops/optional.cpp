// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_ops/host_op.h"

namespace tilewright::runtime {
namespace {

tw_status make_optional(HostCall& call) {
  if (!call.has_output(0) || !call.output_type(0).is_optional())
    return call.fail("output 0 must be an optional");
  if (call.has_input(0) && call.input_type(0) == call.output_type(0)) {
    Value* value = call.keep(0);  // a tensor whose rank only the run tells is one already
    return value == nullptr ? call.status() : call.output(0, value);
  }
  if (call.has_input(0) && call.input_type(0) != call.output_type(0).inner())
    return call.fail("input 0 is of another type than the optional's element");
  Value* made = make_container(call.pool(), call.output_type(0), call.has_input(0) ? 1 : 0);
  if (made == nullptr) return call.fail("there is no memory for an optional");
  if (call.has_input(0)) {
    made->items()[0] = call.keep(0);
    if (made->items()[0] == nullptr) {
      made->release();
      return call.status();
    }
  }
  return call.output(0, made);
}

/// Of an optional, or of a value that is there for certain.
tw_status get_element(HostCall& call) {
  if (!call.has_input(0)) return call.fail("input 0 is missing");
  if (!call.input_type(0).is_optional()) {
    Value* value = call.keep(0);
    return value == nullptr ? call.status() : call.output(0, value);
  }
  const Value& from = call.container(0);
  if (from.count == 0) return call.fail("the optional is empty");
  if (call.has_output(0) && call.output_type(0) == call.input_type(0)) {
    Value* value = call.keep(0);
    return value == nullptr ? call.status() : call.output(0, value);
  }
  from.items()[0]->retain();
  return call.output(0, from.items()[0]);
}

tw_status has_element(HostCall& call) {
  bool has = call.has_input(0);
  if (has && call.input_type(0).is_optional()) has = call.container(0).count != 0;
  if (call.has_output(0) && call.output_type(0).elem != ElemType::Bool)
    return call.fail("the answer is a bool");
  auto* out = static_cast<uint8_t*>(call.output(0, std::span<const int64_t>()));
  if (out == nullptr) return call.status();
  *out = has ? 1 : 0;
  return TW_OK;
}

/// Of a tensor whose rank only the run tells: an optional that holds it.
const Value* held_array(HostCall& call) {
  if (!call.need_container(0)) return nullptr;
  const Value& from = call.container(0);
  if (from.count == 1 && from.items()[0]->is_array()) return from.items()[0];
  call.fail("input 0 holds no tensor");
  return nullptr;
}

tw_status rank_of(HostCall& call) {
  const Value* held = held_array(call);
  if (held == nullptr) return call.status();
  if (call.has_output(0) && call.output_type(0).elem != ElemType::I64)
    return call.fail("a rank is an i64");
  auto* out = static_cast<int64_t*>(call.output(0, std::span<const int64_t>()));
  if (out == nullptr) return call.status();
  *out = held->rank;
  return TW_OK;
}

tw_status ranked(HostCall& call) {
  const Value* held = held_array(call);
  if (held == nullptr) return call.status();
  const int64_t rank = call.attribute("rank", int64_t{0});
  if (held->rank != rank)
    return call.fail("a tensor has %d dimensions, for which the model does not work", held->rank);
  call.container(0).items()[0]->retain();
  return call.output(0, call.container(0).items()[0]);
}

}  // namespace

std::span<const HostOp> optional_ops() {
  static constexpr HostOp ops[] = {
      {"optional", make_optional},
      {"optional_get_element", get_element},
      {"optional_has_element", has_element},
      {"rank_of", rank_of},
      {"ranked", ranked},
  };
  return ops;
}

}  // namespace tilewright::runtime
