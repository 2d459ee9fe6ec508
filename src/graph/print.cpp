// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <sstream>

#include "graph/op_def.h"

namespace tilewright::graph {
namespace {

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    for (const SymbolInfo& s : graph_.symbols) symbol(s);
    for (const Check& c : graph_.checks) check(c);
    for (const Function& f : graph_.functions) {
      out_ << "graph ";
      function(f, 0);
      out_ << "\n";
    }
    return std::move(out_).str();
  }

 private:
  void symbol(const SymbolInfo& s) {
    out_ << "symbol " << s.symbol.var.name() << " in " << s.symbol.min << ".." << s.symbol.max;
    if (const FromInput* from = std::get_if<FromInput>(&s.source))
      out_ << " = dim(" << name(from->input) << ", " << from->axis << ")";
    else if (const FromElement* element = std::get_if<FromElement>(&s.source))
      out_ << " = element(" << name(element->value) << ", " << element->index << ")";
    else if (const FromExtent* extent = std::get_if<FromExtent>(&s.source))
      out_ << " = dim(" << name(extent->value) << ", " << extent->axis << ")";
    else
      out_ << " = " << ir::print(std::get<FromFormula>(s.source).formula);
    out_ << "\n";
  }

  void check(const Check& c) {
    out_ << "check " << ir::print(c.condition) << "  // " << c.message << "\n";
  }

  std::string name(ValueId id) const { return id == kNoValue ? "_" : "%" + graph_.value(id).name; }

  void names(const std::vector<ValueId>& ids, bool types) {
    for (size_t i = 0; i < ids.size(); ++i) {
      out_ << (i ? ", " : "") << name(ids[i]);
      if (types && ids[i] != kNoValue) out_ << ": " << print(graph_.type(ids[i]));
    }
  }

  void function(const Function& f, int indent) {
    const std::string pad(static_cast<size_t>(indent), ' ');
    out_ << f.name << "(";
    names(f.inputs, true);
    out_ << ") {\n";
    for (const Check& c : f.checks) {
      out_ << pad << "  ";
      check(c);
    }
    for (const Node& n : f.nodes) node(n, indent + 2);
    out_ << pad << "  return ";
    names(f.outputs, false);
    out_ << "\n" << pad << "}";
  }

  void node(const Node& n, int indent) {
    out_ << std::string(static_cast<size_t>(indent), ' ');
    names(n.outputs, true);
    out_ << " = " << n.op->name << "(";
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      out_ << (i ? ", " : "") << name(n.inputs[i]);
      if (n.inputs[i] != kNoValue && graph_.value(n.inputs[i]).constant)
        out_ << ": const " << print(graph_.type(n.inputs[i]));
    }
    out_ << ")";
    const std::string attrs = print(n.attrs.list());
    if (!attrs.empty()) out_ << " " << attrs;
    for (const Function& body : n.bodies) {
      out_ << " ";
      function(body, indent);
    }
    if (!n.origin.text.empty()) out_ << "  // " << n.origin.text;
    out_ << "\n";
  }

  const Graph& graph_;
  std::ostringstream out_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

}  // namespace tilewright::graph
