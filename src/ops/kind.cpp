// SPDX-License-Identifier: Apache-2.0
#include "ops/kind.h"

#include "support/str.h"

namespace tilewright::ops {
namespace {

std::string_view text(Kind kind) {
  switch (kind) {
    case Kind::Any: return "numbers or bool";
    case Kind::Number: return "numbers";
    case Kind::Signed: return "signed numbers";
    case Kind::Float: return "floats";
    case Kind::Int: return "integers";
    case Kind::Bool: return "bool";
  }
  __builtin_unreachable();
}

std::string element_text(const graph::TensorType& t) {
  return t.strings ? "strings" : std::string(ir::name(t.elem));
}

}  // namespace

bool is(Kind kind, ir::Elem elem) {
  switch (kind) {
    case Kind::Any: return true;
    case Kind::Number: return elem != ir::Elem::Bool;
    case Kind::Signed: return ir::is_float(elem) || ir::is_signed(elem);
    case Kind::Float: return ir::is_float(elem);
    case Kind::Int: return ir::is_int(elem);
    case Kind::Bool: return elem == ir::Elem::Bool;
  }
  __builtin_unreachable();
}

void need(const graph::Call& call, size_t i, Kind kind, std::string_view code) {
  const graph::TensorType& t = call.tensor(i);
  if (!t.strings && is(kind, t.elem)) return;
  call.refuse(code, str("input ", i, " holds ", element_text(t), ", not ", text(kind)),
              str("cast it to a type of ", text(kind), " first"));
}

}  // namespace tilewright::ops
