// SPDX-License-Identifier: Apache-2.0
#include "target/c_source/types.h"

#include <cmath>

#include "ir/literal.h"
#include "support/str.h"

namespace tilewright::target::c_source {

using ir::Elem;

std::string value_type(Elem elem) {
  if (elem == Elem::Bool) return "bool";
  if (elem == Elem::F64) return "double";
  if (ir::is_float(elem)) return "float";
  return str(ir::is_signed(elem) ? "int" : "uint", is_packed(elem) ? 8 : ir::bits(elem), "_t");
}

std::string memory_type(Elem elem) {
  if (elem == Elem::Bool || is_packed(elem)) return "uint8_t";
  if (is_small_float(elem)) return str("uint", ir::bits(elem), "_t");
  return value_type(elem);
}

Text literal(Elem elem, __int128 value) {
  if (elem == Elem::Bool) return {value != 0 ? "true" : "false"};
  if (!ir::is_signed(elem)) {
    const auto v = static_cast<uint64_t>(value);
    if (v > UINT32_MAX) return {str("UINT64_C(", v, ")")};
    return {str(v, ir::bits(elem) >= 32 ? "u" : "")};
  }
  const auto v = static_cast<int64_t>(value);
  if (v == INT64_MIN) return {"INT64_MIN"};
  if (v == INT32_MIN) return {"INT32_MIN"};
  if (v < INT32_MIN || v > INT32_MAX) return {str("INT64_C(", v, ")")};
  return {str(v), v < 0 ? Bind::Unary : Bind::Atom};
}

Text float_literal(Elem elem, double value) {
  if (std::isnan(value)) return {"TW_NAN"};
  if (std::isinf(value)) {
    const std::string sign = value < 0 ? "-" : "";
    return {sign + "TW_INFINITY", sign.empty() ? Bind::Atom : Bind::Unary};
  }
  const bool wide = elem == Elem::F64;
  return {str(ir::print_float(wide ? Elem::F64 : Elem::F32, value), wide ? "" : "f"),
          std::signbit(value) ? Bind::Unary : Bind::Atom};
}

Text cast_to(const std::string& type, const Text& t) {
  return {"(" + type + ")" + t.in(Bind::Unary), Bind::Unary};
}

Text call_of(const std::string& function, std::initializer_list<Text> args) {
  std::string list;
  for (const Text& arg : args) list += (list.empty() ? "" : ", ") + arg.s;
  return {function + "(" + list + ")"};
}

}  // namespace tilewright::target::c_source
