// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include "ir/lex.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

constexpr size_t kWidth = 100;

std::string scope_text(const Scope& scope) {
  if (scope.kind == ScopeKind::Global) return "";
  if (scope.kind != ScopeKind::Named) return str(" ", print(scope));
  const size_t dot = scope.name.find('.');
  const bool dotted = dot != std::string::npos && is_name(scope.name.substr(0, dot)) &&
                      is_name(scope.name.substr(dot + 1));
  return str(" ", dotted ? scope.name : quoted(scope.name));
}

/// The reducers and instructions of some programs, each after those that it uses.
struct UsedItems {
  std::vector<Reducer> reducers;
  std::vector<Instruction> instructions;
  std::unordered_set<const void*> seen;

  void add(const Reducer& r) {
    if (!is_builtin(r) && seen.insert(r.get()).second) reducers.push_back(r);
  }
  void add(const Instruction& i) {
    if (!seen.insert(i.get()).second) return;
    for (const Stmt& form : {i->compute, i->reset, i->update}) add(form);
    instructions.push_back(i);
  }
  void add(const Stmt& s) {
    walk(s, [&](const Update& u) { add(u.reducer); }, [&](const InstrCall& c) { add(c.instr); });
  }
};

template <class Item>
std::string print_item(const Item& item) {
  Printer p;
  p.print(item);
  return p.take();
}

}  // namespace

void Printer::line(const std::string& text) {
  out_.append(static_cast<size_t>(2 * indent_), ' ');
  out_ += text;
  out_ += '\n';
}

void Printer::body(const Stmt& s) {
  ++indent_;
  print(s);
  --indent_;
  line("}");
}

/// Ends with ` {`. One line where it fits, else a line for each clause, broken after commas.
void Printer::header(const std::vector<Clause>& clauses) {
  std::string whole;
  for (const Clause& c : clauses)
    whole += str(whole.empty() ? "" : " ", c.open, joined(c.items), c.close);
  whole += " {";
  if (2 * static_cast<size_t>(indent_) + whole.size() <= kWidth) return line(whole);
  for (size_t i = 0; i < clauses.size(); ++i) {
    const Clause& c = clauses[i];
    std::string pad(static_cast<size_t>(2 * indent_) + (i == 0 ? 0 : 4), ' ');
    std::string row = pad + c.open;
    pad.append(i == 0 ? 4 : 2, ' ');
    bool first_in_row = true;
    for (size_t k = 0; k < c.items.size(); ++k) {
      const std::string item = c.items[k] + (k + 1 < c.items.size() ? "," : c.close);
      if (!first_in_row && row.size() + item.size() + 1 > kWidth) {
        out_ += row + "\n";
        row = pad + item;
      } else {
        row += (first_in_row ? "" : " ") + item;
      }
      first_in_row = false;
    }
    if (c.items.empty()) row += c.close;
    out_ += row + (i + 1 < clauses.size() ? "\n" : " {\n");
  }
}

std::string Printer::type_of(const Buffer& b) {
  std::string out = str(ir::name(b->elem), "[", list(b->shape), "]", scope_text(b->scope));
  if (b->alignment != 0) out += str(" align ", b->alignment);
  if (b->layout) out += str(" ", text(b->layout));
  return out;
}

std::string Printer::text(const Layout& layout) {
  const size_t mark = names_.mark();
  std::vector<std::string> extents, indices, dims;
  for (const PhysDim& d : layout->dims) extents.push_back(text(d.extent));
  for (const Var& v : layout->indices) indices.push_back(names_.bind(v.get(), v.name()));
  std::string replica;
  if (layout->replica)
    replica = str("; ", names_.bind(layout->replica.get(), layout->replica.name()), " in 0..",
                  layout->replicas);
  for (const PhysDim& d : layout->dims) dims.push_back(str(ir::name(d.kind), ": ", text(d.index)));
  names_.back_to(mark);
  return str("layout (", joined(indices), replica, ") -> [", joined(dims), "] extents [",
             joined(extents), "]", layout->padding == Padding::Zero ? " pad zero" : "");
}

Printer::Clause Printer::params(const std::string& open, const std::vector<Param>& params) {
  Clause out{open, {}, ")"};
  for (const Param& p : params) {
    const std::string type = type_of(p.buffer);
    const std::string name = names_.bind(p.buffer.get(), p.buffer->name);
    out.items.push_back(str(name, ": ", ir::name(p.access), " ", type));
  }
  return out;
}

std::vector<std::string> Printer::typed(const std::vector<Var>& vars) {
  std::vector<std::string> out;
  for (const Var& v : vars)
    out.push_back(str(names_.bind(v.get(), v.name()), ": ", ir::print(v.type())));
  return out;
}

void Printer::print(const Reducer& r) {
  const size_t mark = names_.mark();
  std::vector<std::string> left = typed(r->lhs);
  const std::vector<std::string> right = typed(r->rhs);
  line(str("reducer ", name(r), "(", joined(left), " | ", joined(right), ")"));
  line(str("    = (", list(r->combine), ")"));
  line(str("    identity (", list(r->identity), ")"));
  names_.back_to(mark);
  if (r->rescale.empty()) return;
  left = typed(r->partial);
  const std::vector<std::string> from = typed(r->from), to = typed(r->to);
  line(str("    rescale (", joined(left), " | ", joined(from), ", ", joined(to), ") = (",
           list(r->rescale), ")"));
  names_.back_to(mark);
}

void Printer::print(const Instruction& instr) {
  const size_t mark = names_.mark();
  const std::string name = instructions_.name(instr.get(), instr->name);
  std::vector<Clause> clauses = {params(str("instr ", name, "("), instr->operands)};
  if (!instr->emit.empty()) clauses.push_back({"emit ", {quoted(instr->emit)}, ""});
  header(clauses);
  ++indent_;
  for (const InstrForm form : {InstrForm::Compute, InstrForm::Reset, InstrForm::Update}) {
    if (!instr->form(form)) continue;
    line(str(ir::name(form), " {"));
    body(instr->form(form));
  }
  --indent_;
  line("}");
  names_.back_to(mark);
}

Printer::Clause Printer::symbols(const std::vector<Symbol>& symbols) {
  Clause out{"where ", {}, ""};
  for (const Symbol& s : symbols) {
    std::string item = str(names_.bind(s.var.get(), s.var.name()), " in ", s.min, "..", s.max);
    if (s.divisor != 1) item += str(" div ", s.divisor);
    if (!s.likely.empty()) {
      std::vector<std::string> values;
      for (const int64_t v : s.likely) values.push_back(str(v));
      item += str(" likely [", joined(values), "]");
    }
    out.items.push_back(std::move(item));
  }
  return out;
}

void Printer::print(const LoopFunc& f) {
  const size_t mark = names_.mark();
  Clause where = symbols(f.symbols);
  std::vector<Clause> clauses = {params(str("loops ", word(f.name), "("), f.params)};
  if (!where.items.empty()) clauses.push_back(std::move(where));
  if (f.stage != Stage::Loops) clauses.push_back({"stage ", {std::string(ir::name(f.stage))}, ""});
  name_free(f.body);
  header(clauses);
  body(f.body);
  names_.back_to(mark);
}

void Printer::print(const Unit& unit) {
  UsedItems used;
  for (const Reducer& r : unit.reducers) used.add(r);
  for (const Instruction& i : unit.instructions) used.add(i);
  for (const LoopFunc& f : unit.functions) used.add(f.body);
  const auto items = [&](const auto& list) {
    for (const auto& item : list) {
      if (!out_.empty()) out_ += '\n';
      print(item);
    }
  };
  items(used.reducers);
  items(used.instructions);
  items(unit.functions);
}

std::string print(const Expr& e) {
  Printer p;
  p.name_free(e);
  return p.text(e);
}

std::string print(const Stmt& s) {
  Printer p;
  p.name_free(s);
  p.print(s);
  return p.take();
}

std::string print(const Region& region) { return Printer().text(region); }
std::string print(const Layout& layout) { return Printer().text(layout); }

std::string print(const LoopFunc& f) { return print_item(f); }
std::string print(const Reducer& reducer) { return print_item(reducer); }
std::string print(const Instruction& instr) { return print_item(instr); }
std::string print(const Unit& unit) { return print_item(unit); }

}  // namespace tilewright::ir
