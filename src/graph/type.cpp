// SPDX-License-Identifier: Apache-2.0
#include "graph/type.h"

#include "arith/context.h"
#include "graph/layout.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {

Type sequence_of(Type element) {
  return SequenceType{std::make_shared<const Type>(std::move(element))};
}
Type optional_of(Type element) {
  return OptionalType{std::make_shared<const Type>(std::move(element))};
}

std::string print(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += str(i ? ", " : "", shape[i] ? ir::print(shape[i]) : "?");
  return out + "]";
}

std::string print(const Type& type) {
  const auto wrapped = [](std::string out, const Type& element, bool empty) {
    out += print(element);
    if (empty) out += ", empty";
    return out + (out.back() == '>' ? " >" : ">");  // `>>` is one word of the language
  };
  const auto elem = [](ir::Elem e, bool strings) {
    return std::string(strings ? "string" : ir::name(e));
  };
  if (const TensorType* t = type.tensor())
    return elem(t->elem, t->strings) + print(t->shape) +
           (t->layout ? str(" blocks(", channel_block(*t), ")") : "");
  if (const UnrankedType* t = type.unranked()) return elem(t->elem, t->strings) + "[*]";
  if (const SequenceType* t = type.sequence()) return wrapped("seq<", *t->element, t->empty);
  return wrapped("opt<", *type.optional()->element, type.optional()->empty);
}

std::optional<std::vector<int64_t>> const_dims(const Shape& shape) {
  std::vector<int64_t> out;
  for (const Dim& d : shape) {
    const std::optional<int64_t> c = d ? ir::const_int(d) : std::nullopt;
    if (!c) return std::nullopt;
    out.push_back(*c);
  }
  return out;
}

Shape dims(const std::vector<int64_t>& constants) {
  Shape out;
  for (const int64_t c : constants) out.push_back(ir::int_imm(ir::Elem::I64, c));
  return out;
}

Dim elements(const Shape& shape) {
  Dim product = ir::int_imm(ir::Elem::I64, 1);
  for (const Dim& d : shape) product = product * d;
  return simplified(product);
}

Dim simplified(const Dim& dim) { return ir::const_int(dim) ? dim : arith::Context().simplify(dim); }

bool same(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  const std::optional<int64_t> ca = ir::const_int(a), cb = ir::const_int(b);
  if (ca && cb) return *ca == *cb;
  if (ca || cb || (a.as<ir::VarNode>() && b.as<ir::VarNode>())) return false;
  if (ir::vars_of(a) != ir::vars_of(b))
    return false;  // found soon, and true of simplified formulas
  return ir::const_int(simplified(a - b)) == 0;
}

bool same(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

bool same(const Type& a, const Type& b) {
  if (a.index() != b.index()) return false;
  if (const TensorType* t = a.tensor()) {
    const TensorType& o = *b.tensor();
    return t->strings == o.strings && (t->strings || t->elem == o.elem) &&
           same(t->shape, o.shape) && t->layout == o.layout && t->device == o.device;
  }
  if (const UnrankedType* t = a.unranked())
    return t->strings == b.unranked()->strings && (t->strings || t->elem == b.unranked()->elem);
  if (const SequenceType* t = a.sequence())
    return t->empty == b.sequence()->empty && same(*t->element, *b.sequence()->element);
  return a.optional()->empty == b.optional()->empty &&
         same(*a.optional()->element, *b.optional()->element);
}

}  // namespace tilewright::graph
