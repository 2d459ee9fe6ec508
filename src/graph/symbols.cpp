// SPDX-License-Identifier: Apache-2.0
#include "graph/symbols.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

[[noreturn]] void refuse(const std::string& message, const Origin& origin) {
  throw Error({.code = "graph.check.false",
               .at = {},
               .message = message,
               .notes = {str("at ", origin.text), "this holds for no input of the model"},
               .help = "check the shapes and constants that the node is given"});
}

/// The symbols that are constants now, each by its value; takes them from the graph's list.
ir::VarMap settled(Graph& graph) {
  ir::VarMap values;
  std::erase_if(graph.symbols, [&](SymbolInfo& s) {
    std::optional<int64_t> value;
    if (const FromElement* e = std::get_if<FromElement>(&s.source)) {
      const Constant& c = graph.value(e->value).constant;
      if (c) value = std::clamp(int_at(*c, e->index), s.symbol.min, s.symbol.max);
    } else if (FromFormula* f = std::get_if<FromFormula>(&s.source); f && !values.empty()) {
      f->formula = simplified(ir::substitute(f->formula, values));
      value = ir::const_int(f->formula);
      if (value && (*value < s.symbol.min || *value > s.symbol.max))
        refuse(str("a size would be ", *value), s.origin);
    }
    if (value) values[s.symbol.var] = ir::int_imm(ir::Elem::I64, *value);
    return value.has_value();
  });
  return values;
}

class Substitution {
 public:
  explicit Substitution(const ir::VarMap& values) : values_(values) {}

  void operator()(Dim& dim) const {
    if (!dim || ir::const_int(dim)) return;
    const Dim changed = ir::substitute(dim, values_);
    if (changed != dim) dim = simplified(changed);
  }

  /// Drops what always holds. In a body what never holds is left to the run, which may not come by.
  void checks(std::vector<Check>& list, bool in_body) const {
    std::erase_if(list, [&](Check& c) {
      (*this)(c.condition);
      const std::optional<int64_t> known = ir::const_int(c.condition);
      if (known && *known == 0 && !in_body) refuse(c.message, c.origin);
      return known && *known != 0;
    });
  }

  void bodies(Function& f) const {
    for (Node& n : f.nodes)
      for (Function& body : n.bodies) {
        checks(body.checks, true);
        bodies(body);
      }
  }

 private:
  const ir::VarMap& values_;
};

}  // namespace

bool settle_symbols(Graph& graph) {
  const ir::VarMap values = settled(graph);
  if (values.empty()) return false;
  const Substitution substitute(values);
  bool found = false;
  for (Value& v : graph.values) {
    if (std::get_if<TensorType>(&v.type))
      for (Dim& d : std::get<TensorType>(v.type).shape) substitute(d);
    if (v.wholes)
      for (Dim& e : *v.wholes) substitute(e);
    if (!v.elements || v.constant) continue;
    std::vector<int64_t> content;
    for (Dim& e : *v.elements) {
      substitute(e);
      if (const std::optional<int64_t> c = ir::const_int(e)) content.push_back(*c);
    }
    const std::optional<std::vector<int64_t>> shape = const_dims(v.type.tensor()->shape);
    if (!shape || content.size() != v.elements->size()) continue;
    v.constant = int_constant(v.type.tensor()->elem, *shape, content);
    found = true;
  }
  substitute.checks(graph.checks, false);
  for (Function& f : graph.functions) {
    substitute.checks(f.checks, false);
    substitute.bodies(f);
  }
  return found;
}

}  // namespace tilewright::graph
