// SPDX-License-Identifier: Apache-2.0
#include "te/print.h"

#include <algorithm>

#include "ir/printer.h"
#include "support/str.h"

namespace tilewright::te {
namespace {

class ProgramPrinter : public ir::Printer {
 public:
  void print(const Program& p) {
    for (const Stage& stage : p.stages) reducers_of(stage);
    const size_t mark = names_.mark();
    Clause where = symbols(p.symbols);
    Clause inputs{str("te ", ir::word(p.name), "("), {}, ")"};
    for (const Tensor& t : p.inputs) {
      const std::string type = type_of(t.buffer());
      inputs.items.push_back(str(bind(t.buffer()), ": ", type));
    }
    std::vector<Clause> clauses = {std::move(inputs)};
    if (!where.items.empty()) clauses.push_back(std::move(where));
    header(clauses);
    ++indent_;
    for (const Stage& stage : p.stages) print(stage);
    line(str("return ", names_of(p.outputs)));
    --indent_;
    line("}");
    names_.back_to(mark);
  }

 private:
  /// The reducers that are not built in are items of their own.
  void reducers_of(const Stage& stage) {
    if (const Scan* scan = stage->as<Scan>())
      for (const Stage& inner : scan->body) reducers_of(inner);
    const Compute* c = stage->as<Compute>();
    if (!c || !c->reducer || ir::is_builtin(c->reducer)) return;
    if (std::find(printed_.begin(), printed_.end(), c->reducer) != printed_.end()) return;
    printed_.push_back(c->reducer);
    Printer::print(c->reducer);
    out_ += '\n';
  }

  void print(const Stage& stage) {
    std::vector<std::string> outputs;
    for (const ir::Buffer& b : stage->outputs) outputs.push_back(bind(b));
    const size_t mark = names_.mark();
    if (const Scan* scan = stage->as<Scan>())
      print(ir::joined(outputs), *scan);
    else
      print(ir::joined(outputs), *stage->as<Compute>());
    names_.back_to(mark);
  }

  void print(const std::string& outputs, const Compute& c) {
    std::string text = str(outputs, "[", axes(c.axes), "] = ");
    if (c.reducer) text += str(name(c.reducer), "(", axes(c.reduce_axes), ") ");
    const std::string values = list(c.values);
    line(text + (c.values.size() == 1 ? values : str("(", values, ")")));
  }

  void print(const std::string& outputs, const Scan& scan) {
    std::vector<std::string> init;
    for (const Tensor& t : scan.init) init.push_back(name(t.buffer()));
    std::string text = str(outputs, " = scan(", axes({scan.time}));
    for (size_t i = 0; i < init.size(); ++i)
      text += str(", ", bind(scan.prev[i].buffer()), " = ", init[i]);
    line(text + ") {");
    ++indent_;
    for (const Stage& inner : scan.body) print(inner);
    line(str("yield ", names_of(scan.results)));
    --indent_;
    line("}");
  }

  std::string axes(const std::vector<Iter>& axes) {
    std::vector<std::string> out;
    for (const Iter& axis : axes) {
      const std::string extent = text(axis.extent);
      out.push_back(str(names_.bind(axis.var.get(), axis.var.name()), " in ", extent));
    }
    return ir::joined(out);
  }

  /// `return` and `yield` end a list of stages.
  std::string bind(const ir::Buffer& b) {
    const bool ends = b->name == "return" || b->name == "yield";
    return names_.bind(b.get(), ends ? b->name + "_" : b->name);
  }

  std::string names_of(const std::vector<Tensor>& tensors) {
    std::vector<std::string> out;
    for (const Tensor& t : tensors) out.push_back(name(t.buffer()));
    return ir::joined(out);
  }

  std::vector<ir::Reducer> printed_;
};

}  // namespace

std::string print(const Program& program) {
  ProgramPrinter printer;
  printer.print(program);
  return printer.take();
}

}  // namespace tilewright::te
