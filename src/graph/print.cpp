// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "graph/op_def.h"
#include "graph/print.h"
#include "ir/lex.h"
#include "ir/literal.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

std::string word_or_string(const std::string& name) {
  return ir::is_name(name) && name != "_" ? name : ir::quoted(name);
}

template <class List, class F>
std::string listed(const List& list, F&& text) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) out += str(i ? ", " : "", text(list[i]));
  return out + "]";
}

class Printer {
 public:
  Printer(const Graph& graph, int64_t max_elements) : graph_(graph), max_elements_(max_elements) {
    std::unordered_set<std::string> taken;
    std::unordered_map<std::string, int> last;  // number behind a name
    for (const SymbolInfo& s : graph.symbols) {
      std::string name;
      for (const char c : s.symbol.var.name())
        name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      if (!ir::is_name(name) || ir::is_reserved(name)) name.insert(0, "n_");
      const std::string base = name;
      for (int& i = last[base]; !taken.insert(name).second;) name = str(base, "_", ++i);
      if (name != s.symbol.var.name()) names_[s.symbol.var] = ir::Var(name);
    }
  }

  std::string run() {
    for (const auto& [key, text] : graph_.metadata)
      out_ << "metadata " << ir::quoted(key) << " = " << ir::quoted(text) << "\n";
    for (const SymbolInfo& s : graph_.symbols) symbol(s);
    for (const auto& [id, content] : graph_.defaults)
      out_ << "default " << name(id) << ": " << print(Type(content->type())) << " = "
           << print_content(*content, max_elements_) << "\n";
    for (const Function& f : graph_.functions) given(f);
    for (const Check& c : graph_.checks) check(c);
    for (const Function& f : graph_.functions) {
      out_ << "graph ";
      function(f, 0, &f == &graph_.main());
      out_ << "\n";
    }
    return std::move(out_).str();
  }

 private:
  std::string formula(const ir::Expr& e) const {
    return e ? ir::print(ir::substitute(e, names_)) : "?";
  }
  std::string formulas(const std::vector<Dim>& list) const {
    return listed(list, [&](const Dim& d) { return formula(d); });
  }

  Type renamed(const Type& type) const {
    const auto shared = [&](const Type& t) { return std::make_shared<const Type>(renamed(t)); };
    if (const SequenceType* s = type.sequence()) return SequenceType{shared(*s->element), s->empty};
    if (const OptionalType* o = type.optional()) return OptionalType{shared(*o->element), o->empty};
    if (!type.tensor()) return type;
    TensorType out = *type.tensor();
    for (Dim& d : out.shape)
      if (d) d = ir::substitute(d, names_);
    return out;
  }
  std::string type(ValueId id) const { return print(renamed(graph_.type(id))); }

  void origin(const Origin& o) {
    if (!o.text.empty()) out_ << " at " << ir::quoted(o.text);
  }

  void symbol(const SymbolInfo& s) {
    out_ << "symbol " << formula(s.symbol.var) << " in " << s.symbol.min << ".." << s.symbol.max;
    if (s.given) out_ << " of " << s.given->first << ".." << s.given->second;
    if (s.symbol.divisor != 1) out_ << " div " << s.symbol.divisor;
    if (!s.symbol.likely.empty())
      out_ << " likely " << listed(s.symbol.likely, [](int64_t v) { return v; });
    if (const FromInput* from = std::get_if<FromInput>(&s.source))
      out_ << " = dim(" << name(from->input) << ", " << from->axis << ")";
    else if (const FromElement* element = std::get_if<FromElement>(&s.source))
      out_ << " = element(" << name(element->value) << ", " << element->index << ")";
    else if (const FromExtent* extent = std::get_if<FromExtent>(&s.source))
      out_ << " = extent(" << name(extent->value) << ", " << extent->axis << ")";
    else
      out_ << " = " << formula(std::get<FromFormula>(s.source).formula);
    origin(s.origin);
    out_ << "\n";
  }

  void check(const Check& c) {
    out_ << "check " << formula(c.condition) << ", " << ir::quoted(c.message);
    origin(c.origin);
    out_ << "\n";
  }

  /// What no node makes: constants, and shapes that are known as formulas only.
  void given(const Function& f) {
    std::set<ValueId> made(f.inputs.begin(), f.inputs.end());
    given(f, made);
  }
  void given(const Function& f, std::set<ValueId>& made) {
    made.insert(f.inputs.begin(), f.inputs.end());
    for (const Node& n : f.nodes) {
      for (const ValueId id : n.inputs) given(id, made);
      for (const Function& body : n.bodies) given(body, made);
      made.insert(n.outputs.begin(), n.outputs.end());
      for (const ValueId id : n.outputs)
        if (id != kNoValue && graph_.value(id).constant) given(id, made);
    }
    for (const ValueId id : f.outputs) given(id, made);
  }
  void given(ValueId id, const std::set<ValueId>& made) {
    if (id == kNoValue) return;
    const Value& v = graph_.value(id);
    if (!v.constant && (made.contains(id) || !v.elements)) return;
    if (!given_.insert(id).second) return;
    out_ << (v.constant ? "constant " : "sizes ") << name(id) << ": " << type(id) << " = "
         << (v.constant ? print_content(*v.constant, max_elements_) : formulas(*v.elements))
         << "\n";
  }

  std::string name(ValueId id) const {
    return id == kNoValue ? "_" : "%" + word_or_string(graph_.value(id).name);
  }

  void names(const std::vector<ValueId>& ids, bool types) {
    for (size_t i = 0; i < ids.size(); ++i) {
      out_ << (i ? ", " : "") << name(ids[i]);
      if (!types || ids[i] == kNoValue) continue;
      out_ << ": " << type(ids[i]);
      const Value& v = graph_.value(ids[i]);
      if (v.elements && !v.constant) out_ << " of " << formulas(*v.elements);
    }
  }

  void function(const Function& f, int indent, bool main) {
    const std::string pad(static_cast<size_t>(indent), ' ');
    out_ << word_or_string(f.name) << "(";
    names(f.inputs, true);
    out_ << ") {\n";
    for (const Check& c : f.checks) {
      out_ << pad << "  ";
      check(c);
    }
    for (const Node& n : f.nodes) node(n, indent + 2);
    out_ << pad << "  return ";
    for (size_t i = 0; i < f.outputs.size(); ++i) {
      out_ << (i ? ", " : "") << name(f.outputs[i]);
      if (main && i < graph_.output_names.size() &&
          graph_.output_names[i] != graph_.value(f.outputs[i]).name)
        out_ << " as " << ir::quoted(graph_.output_names[i]);
    }
    out_ << "\n" << pad << "}";
  }

  void node(const Node& n, int indent) {
    out_ << std::string(static_cast<size_t>(indent), ' ');
    names(n.outputs, true);
    out_ << " = " << n.op->name << "(";
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      out_ << (i ? ", " : "") << name(n.inputs[i]);
      if (n.inputs[i] != kNoValue && graph_.value(n.inputs[i]).constant)
        out_ << ": const " << type(n.inputs[i]);
    }
    out_ << ")";
    const std::string attrs = print(n.attrs.list());
    if (!attrs.empty()) out_ << " " << attrs;
    if (n.algorithm > 0) out_ << " by " << n.op->algorithms.at(n.algorithm).name;
    for (const Function& body : n.bodies) {
      out_ << " ";
      function(body, indent, false);
    }
    origin(n.origin);
    out_ << "\n";
  }

  const Graph& graph_;
  int64_t max_elements_;
  ir::VarMap names_;  // symbols by variables whose names a text can hold
  std::set<ValueId> given_;
  std::ostringstream out_;
};

std::string number(const ConstantNode& c, int64_t i) {
  return ir::is_float(c.elem) ? ir::print_float(c.elem, number_at(c, i)) : str(int_at(c, i));
}

}  // namespace

std::string print_content(const ConstantNode& c, int64_t max_elements) {
  if (c.is_strings) return listed(c.strings, [](const std::string& s) { return ir::quoted(s); });
  const int64_t count = c.count();
  if (count > 4 && uniform(c)) return "splat " + number(c, 0);
  if (count > max_elements) return "elided";
  std::string out = "[";
  for (int64_t i = 0; i < count; ++i) out += str(i ? ", " : "", number(c, i));
  return out + "]";
}

std::string print(const Graph& graph, int64_t max_elements) {
  return Printer(graph, max_elements).run();
}
std::string print(const Graph& graph) { return print(graph, 64); }

}  // namespace tilewright::graph
