// SPDX-License-Identifier: Apache-2.0
// Names and places: which C variable stands for a variable or buffer of the IR, and its elements.
#include "target/c_source/emitter.h"

#include "ir/build.h"
#include "support/str.h"
#include "target/c_source/types.h"

namespace tilewright::target::c_source {

using ir::Elem;

const std::string& Emitter::name_of(const ir::Var& var) {
  const auto found = frame_->vars.find(var);
  if (found != frame_->vars.end()) {
    found->second.used = true;
    return found->second.name;
  }
  require(frame_->outer != nullptr, "a variable is used outside of its scope");
  Frame* const inner = frame_;
  frame_ = inner->outer;
  const std::string name = name_of(var);
  frame_ = inner;
  inner->captured_vars.push_back(var);
  return inner->vars.insert_or_assign(var, Binding{name, true}).first->second.name;
}

Place& Emitter::place_of(const ir::Buffer& buffer) {
  const auto found = frame_->places.find(buffer);
  if (found != frame_->places.end()) return found->second;
  require(frame_->outer != nullptr, "a buffer is used outside of its scope");
  Frame* const inner = frame_;
  frame_ = inner->outer;
  Place& outside = place_of(buffer);
  frame_ = inner;
  outside.is_read = true;  // its address is taken
  inner->captured_buffers.push_back(buffer);
  Place place = outside;
  place.is_variable = false;
  return inner->places.insert_or_assign(buffer, place).first->second;
}

void Emitter::bind(const ir::Var& var, const std::string& name, const Range& range) {
  frame_->vars.insert_or_assign(var, Binding{name});
  ranges_.bind(var, range);
}

Text Emitter::index_of(const std::vector<ir::Expr>& indices) {
  return indices.empty() ? Text{"0"} : expr(indices[0]);
}

Text Emitter::element(const Place& place, const std::vector<ir::Expr>& indices) {
  if (place.is_variable) return {place.name};
  return {str(place.name, "[", index_of(indices).s, "]")};
}

Text Emitter::load(const Place& place, const std::vector<ir::Expr>& indices) {
  const Elem elem = place.elem;
  if (place.holds_values) return element(place, indices);
  const Text stored = is_packed(elem) ? call_of(str("tw_load_", ir::name(packed_as(elem))),
                                                {{place.name}, index_of(indices)})
                                      : element(place, indices);
  if (elem == Elem::Bool) return {stored.s + " != 0", Bind::Equal};
  return is_small_float(elem) ? call_of(str("tw_value_", ir::name(elem)), {stored}) : stored;
}

std::string Emitter::store(const Place& place, const std::vector<ir::Expr>& indices,
                           const Text& value) {
  const Elem elem = place.elem;
  const bool bits = is_small_float(elem) && !place.holds_values;
  const Text stored = bits ? call_of(str("tw_bits_", ir::name(elem)), {value}) : value;
  if (!place.holds_values && is_packed(elem))
    return str("tw_store_", ir::name(packed_as(elem)), "(", place.name, ", ", index_of(indices).s,
               ", ", stored.s, ");");
  return str(element(place, indices).s, " = ", stored.s, ";");
}

std::string Emitter::address(const Place& place, const std::vector<ir::Expr>& indices) {
  if (!place.is_variable && (indices.empty() || ir::is_const(indices[0], 0))) return place.name;
  return "&" + element(place, indices).s;
}

}  // namespace tilewright::target::c_source
