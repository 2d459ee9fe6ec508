// SPDX-License-Identifier: Apache-2.0
#include "graph/attrs.h"

#include <cstring>

#include "graph/op_def.h"
#include "graph/print.h"
#include "ir/lex.h"
#include "ir/literal.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

std::string text(int64_t v) { return std::to_string(v); }
std::string text(double v) { return ir::print_float(ir::Elem::F64, v); }
std::string text(const std::string& v) { return ir::quoted(v); }
std::string text(const Constant& c) {
  if (!c) return "none";
  return str("const ", print(Type(c->type())), " ", print_content(*c, INT64_MAX));
}
template <class T>
std::string text(const std::vector<T>& list) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) out += str(i ? ", " : "", text(list[i]));
  return out + "]";
}

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* c = std::get_if<Constant>(&a)) {
    const Constant& d = std::get<Constant>(b);
    if (*c == d) return true;
    return *c && d && (*c)->elem == d->elem && (*c)->shape == d->shape &&
           (*c)->strings == d->strings && (*c)->bytes.size() == d->bytes.size() &&
           std::memcmp((*c)->bytes.data(), d->bytes.data(), d->bytes.size()) == 0;
  }
  return a == b;
}

}  // namespace

std::string print(const AttrList& list) {
  if (list.empty()) return {};
  std::string out = "{";
  for (size_t i = 0; i < list.size(); ++i)
    out += str(i ? ", " : "", list[i].name, " = ",
               std::visit([](const auto& v) { return text(v); }, list[i].value));
  return out + "}";
}

bool same(const AttrList& a, const AttrList& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].name != b[i].name || !same_value(a[i].value, b[i].value)) return false;
  return true;
}

Attrs attrs_from_list(const OpDef& op, const AttrList& list) {
  require(op.read_attrs, "an operator that was not made by define_op");
  return op.read_attrs(list);
}

}  // namespace tilewright::graph
