// SPDX-License-Identifier: Apache-2.0
#include "ir/lex.h"
#include "ir/printer.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

/// Does the statement bind something to the end of the braces around it?
bool holds_to_the_end(const Stmt& s) {
  return s && (s->kind == StmtKind::Let || s->kind == StmtKind::Alloc ||
               s->kind == StmtKind::ChannelScope);
}

std::vector<std::string> hint_texts(const std::vector<Hint>& hints) {
  std::vector<std::string> out;
  for (const Hint& h : hints)
    out.push_back(str(h.key, " = ", h.text.empty() ? str(h.number) : quoted(h.text)));
  return out;
}

std::string bytes_text(const std::string& bytes) { return str(" bytes ", bytes); }

}  // namespace

void Printer::print(const Stmt& s) {
  if (!s) return;
  const size_t mark = names_.mark();
  visit(s, [&](const auto& n) { node(n); });
  names_.back_to(mark);
}

void Printer::node(const Store& s) {
  line(str(access(s.buffer, s.indices, s.mask, s.rank), " = ", text(s.value)));
}

void Printer::node(const Update& u) {
  std::vector<std::string> targets, values;
  for (const Target& t : u.targets) targets.push_back(access(t.buffer, t.indices, {}, {}));
  for (const Expr& v : u.values) values.push_back(text(v));
  line(str(joined(targets), " ", name(u.reducer), "= ", joined(values)));
}

void Printer::node(const Seq& s) {
  for (size_t i = 0; i < s.stmts.size(); ++i) {
    if (holds_to_the_end(s.stmts[i]) && i + 1 < s.stmts.size()) {
      line("{");
      body(s.stmts[i]);
    } else {
      print(s.stmts[i]);
    }
  }
}

void Printer::node(const Let& l) {
  const std::string value = text(l.value);
  const std::string var = names_.bind(l.var.get(), l.var.name());
  const std::string type = l.var.type() == kIndex ? "" : str(": ", ir::print(l.var.type()));
  line(str("let ", var, type, " = ", value));
  print(l.body);
}

void Printer::node(const Alloc& a) {
  const std::string type = type_of(a.buffer);
  line(str("alloc ", names_.bind(a.buffer.get(), a.buffer->name), ": ", type));
  print(a.body);
}

void Printer::node(const For& f) {
  const std::string over = range(f.min, f.extent);
  std::string kind;
  if (f.loop == ForKind::Bound)
    kind = str("bind(", ir::name(f.axis), ") ");
  else if (f.loop != ForKind::Serial)
    kind = str(ir::name(f.loop), " ");
  const std::string hints =
      f.hints.empty() ? "" : str(" hints (", joined(hint_texts(f.hints)), ")");
  line(str(kind, "for ", names_.bind(f.var.get(), f.var.name()), " in ", over, hints, " {"));
  body(f.body);
}

void Printer::node(const While& w) {
  line(str("while ", text(w.cond), " {"));
  body(w.body);
}

void Printer::node(const If& s) {
  line(str("if ", text(s.cond), " {"));
  body(s.yes);
  const If* last = &s;
  while (last->no) {
    out_.pop_back();  // `} else` shares the line of the closing brace
    const If* next = last->no.as<If>();
    out_ += next ? str(" else if ", text(next->cond), " {\n") : " else {\n";
    body(next ? next->yes : last->no);
    if (!next) return;
    last = next;
  }
}

void Printer::node(const Block& b) {
  std::vector<std::string> iters;
  std::vector<std::string> heads;  // extents and bindings do not see the iterators
  for (const BlockIter& it : b.iters)
    heads.push_back(str(": ", ir::name(it.kind), " ", text(it.extent), " = ", text(it.binding)));
  for (size_t i = 0; i < b.iters.size(); ++i)
    iters.push_back(names_.bind(b.iters[i].var.get(), b.iters[i].var.name()) + heads[i]);
  std::vector<Clause> clauses = {
      {str(b.opaque ? "opaque " : "", "block ", word(b.name), "("), std::move(iters), ")"}};
  if (b.predicate) clauses.push_back({"where ", {text(b.predicate)}, ""});
  if (!b.reads.empty()) clauses.push_back({"reads ", texts(b.reads), ""});
  if (!b.writes.empty()) clauses.push_back({"writes ", texts(b.writes), ""});
  if (!b.hints.empty()) clauses.push_back({"hints (", hint_texts(b.hints), ")"});
  header(clauses);
  if (!b.init) return body(b.body);
  ++indent_;
  line("init {");
  body(b.init);
  print(b.body);
  --indent_;
  line("}");
}

void Printer::node(const InstrCall& c) {
  const std::string form = c.form == InstrForm::Compute ? "" : str(".", ir::name(c.form));
  std::string strides;
  for (const std::vector<Expr>& operand : c.strides)
    strides += str(strides.empty() ? " strides ([" : ", [", list(operand), "]");
  if (!strides.empty()) strides += ")";
  line(str("call ", instructions_.name(c.instr.get(), c.instr->name), form, "(",
           joined(texts(c.operands)), ")", strides));
}

void Printer::node(const Agents& s) {
  line("agents {");
  ++indent_;
  for (const Agent& a : s.agents) {
    const size_t mark = names_.mark();
    std::string head = word(a.name);
    if (a.index)
      head += str("[", names_.bind(a.index.get(), a.index.name()), " in 0..", a.count, "]");
    const std::string thread = names_.bind(a.thread.get(), a.thread ? a.thread.name() : "t");
    const std::string regs = a.registers > 0 ? str(", regs=", a.registers) : "";
    line(str(head, "(", thread, " in 0..", a.threads, regs, "): {"));
    body(a.body);
    names_.back_to(mark);
  }
  --indent_;
  line("}");
}

void Printer::node(const ChannelScope& c) {
  const ChannelNode& ch = *c.channel;
  line(str("channel ", names_.bind(&ch, ch.name), "[", ch.slots, "] commits=", ch.commits,
           " releases=", ch.releases, " over ", ir::name(ch.reach)));
  print(c.body);
}

void Printer::node(const ChannelOp& op) {
  line(str(ir::name(op.op), " ", channel(op.channel, op.item, op.rank),
           op.bytes ? bytes_text(text(op.bytes)) : ""));
}

void Printer::node(const Async& a) {
  line(str("async -> ", channel(a.channel, a.item, a.rank),
           a.bytes ? bytes_text(text(a.bytes)) : "", " {"));
  body(a.body);
}

void Printer::node(const Barrier& b) {
  const std::string named =
      b.reach == BarrierReach::Named ? str(" ", quoted(b.name), " ", b.participants) : "";
  line(str("barrier ", ir::name(b.reach), named));
}

void Printer::node(const Atomic& a) {
  const std::string order = a.order == MemoryOrder::Relaxed ? "" : str(ir::name(a.order), " ");
  line(str("atomic ", ir::name(a.op), " ", order, "(", access(a.buffer, a.indices, {}, {}), ", ",
           text(a.value), a.expected ? str(", ", text(a.expected)) : "", ")",
           a.old ? str(" -> ", name(a.old)) : ""));
}

void Printer::node(const Prefetch& p) {
  line(str("prefetch ", p.level, p.for_write ? " write " : " ",
           access(p.buffer, p.indices, {}, {})));
}

std::string Printer::channel(const Channel& c, const Expr& item, const Expr& rank) {
  return str(name(c), rank_text(rank), "[", text(item), "]");
}

std::vector<std::string> Printer::texts(const std::vector<Region>& regions) {
  std::vector<std::string> out;
  for (const Region& r : regions) out.push_back(text(r));
  return out;
}

}  // namespace tilewright::ir
