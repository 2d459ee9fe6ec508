// SPDX-License-Identifier: Apache-2.0
#include "target/c_source/kernel.h"

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"
#include "target/c_source/types.h"

namespace tilewright::target::c_source {

const Dialect kC11 = {.name = "C", .function = "static inline", .restrict_pointer = " restrict"};

namespace {

/// What ends a comment cannot stand in one.
std::string in_comment(std::string text) {
  for (size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text[at + 1] = '|';
  return "/* " + text + " */";
}

std::string pointer_to(const Place& place) {
  const ir::Elem elem = place.elem;
  return str(place.read_only ? "const " : "",
             place.holds_values ? value_type(elem) : memory_type(elem), "*");
}

std::string signature(const ir::Param& p) {
  std::string shape;
  for (const ir::Expr& extent : p.buffer->shape)
    shape += (shape.empty() ? "" : ", ") + ir::print(extent);
  return str(ir::name(p.access), " ", ir::name(p.buffer->elem), "[", shape, "]");
}

}  // namespace

void KernelEmitter::declare_parameters(Lines& lines) const {
  bool scalars = false, buffers = false;
  for (size_t i = 0; i < func_.symbols.size(); ++i) {
    const Binding& symbol = frame_->vars.at(func_.symbols[i].var);
    scalars = scalars || symbol.used;
    if (symbol.used) lines.line(str("const int64_t ", symbol.name, " = scalars[", i, "];"));
  }
  for (size_t i = 0; i < func_.params.size(); ++i) {
    const Place& place = frame_->places.at(func_.params[i].buffer);
    if (!place.is_read && !place.is_written) continue;
    buffers = true;
    lines.line(str(pointer_to(place), dialect_.restrict_pointer, " ", place.name, " = buffers[", i,
                   "]; ", in_comment(signature(func_.params[i]))));
  }
  if (!buffers) lines.line("(void)buffers;");
  if (!scalars) lines.line("(void)scalars;");
  if (!frame_->uses_host) lines.line("(void)host;");
}

void KernelEmitter::open_step(Lines& lines) const {
  std::string list;
  const auto add = [&](const std::string& parameter) {
    list += (list.empty() ? "" : ", ") + parameter;
  };
  std::vector<std::string> unused;
  for (const ir::Param& p : func_.params) {
    const Place& place = frame_->places.at(p.buffer);
    add(str(pointer_to(place), dialect_.restrict_pointer, " ", place.name));
    if (!place.is_read && !place.is_written) unused.push_back(place.name);
  }
  for (const ir::Symbol& s : func_.symbols) {
    const Binding& symbol = frame_->vars.at(s.var);
    add("int64_t " + symbol.name);
    if (!symbol.used) unused.push_back(symbol.name);
  }
  if (!ir::is_const(workspace_.shared, 0)) {
    add("void* workspace");
    if (!frame_->uses_host) unused.push_back("workspace");
  }
  for (const ir::Param& p : func_.params)
    lines.line(in_comment(str(frame_->places.at(p.buffer).name, ": ", signature(p))));
  lines.open(str("static void ", entry_, "(", list.empty() ? "void" : list, ")"));
  for (const std::string& name : unused) lines.line(str("(void)", name, ";"));
}

std::string KernelEmitter::run() {
  Frame frame;
  frame.names = globals_;
  frame_ = &frame;
  for (const ir::Symbol& s : func_.symbols)
    bind(s.var, frame.names.take(s.var.name()), {s.min, s.max});
  for (const ir::Param& p : func_.params)
    frame.places[p.buffer] = {.name = frame.names.take(p.buffer->name),
                              .elem = p.buffer->elem,
                              .read_only = p.access == ir::Access::In};
  const Lines body = inside(func_.body);
  Lines lines;
  if (form_ == Form::Steps) {
    open_step(lines);
    lines.append(body);
  } else {
    lines.open(str("int32_t ", entry_,
                   "(void* const* buffers, const int64_t* scalars, const tw_host* host)"));
    declare_parameters(lines);
    lines.append(body);
    lines.line("return 0;");
  }
  lines.close();
  frame_ = nullptr;
  return functions_ + "\n" + lines.text();
}

/// One inside another runs in that one's worker, as a plain loop.
void KernelEmitter::parallel(const ir::For& s) {
  if (form_ == Form::Steps || frame_->outer || range(s.extent).hi <= 1) return serial(s);
  ir::Expr min = s.min;
  if (ir::has_load(min)) {  // its value here, whatever the loop writes
    const ir::Var first(s.var.name() + "_begin");
    const std::string name = frame_->names.take(first.name());
    out_->line(str("const int64_t ", name, " = ", expr(min).s, ";"));
    bind(first, name, range(min));
    min = first;
  }
  const Text count = expr(s.extent);
  std::string task;
  do {
    task = globals_.take(entry_ + "_" + s.var.name());
  } while (frame_->names.has(task));
  frame_->names.take(task);
  const std::string closure = frame_->names.take(s.var.name() + "_task");

  Frame& outer = *frame_;
  Frame inner;
  inner.outer = &outer;
  inner.names = outer.names;
  frame_ = &inner;
  const ir::Var begin("begin"), end("end");
  const Range counted{0, std::max<__int128>(range(s.extent).hi, 0)};
  bind(begin, "begin", counted);
  bind(end, "end", counted);
  const Lines body = lines_of([&] { iterate(s, min, begin, end); });
  frame_ = &outer;

  // Fields of the closure: type, name, and what the caller puts there.
  struct Field {
    std::string type, name, value, local;
  };
  std::vector<Field> fields;
  for (const ir::Buffer& b : inner.captured_buffers) {
    const Place &mine = inner.places.at(b), &theirs = outer.places.at(b);
    fields.push_back({pointer_to(mine), mine.name, (theirs.is_variable ? "&" : "") + theirs.name,
                      pointer_to(mine) + std::string(dialect_.restrict_pointer)});
  }
  for (const ir::Var& v : inner.captured_vars) {
    const std::string name = inner.vars.at(v).name, type = value_type(v.type().elem);
    const std::string held = v.type().is_vector() ? str("const ", type, "*") : type;
    fields.push_back({held, name, name, v.type().is_vector() ? held : "const " + held});
  }
  if (inner.uses_host) fields.push_back({"const tw_host*", "host", "host", "const tw_host*"});
  outer.uses_host = true;

  Lines f;
  f.line("");
  f.line(in_comment(
      str("parallel for ", s.var.name(), " in ", ir::print(s.min), " +: ", ir::print(s.extent))));
  std::string values;
  if (!fields.empty()) {
    f.open("struct " + task);
    for (const Field& field : fields) f.line(str(field.type, " ", field.name, ";"));
    f.close("};");
  }
  f.open(str("static void ", task, "(void* closure, int64_t begin, int64_t end, int32_t worker)"));
  if (fields.empty())
    f.line("(void)closure;");
  else
    f.line(str("const struct ", task, "* task = closure;"));
  if (!inner.uses_worker) f.line("(void)worker;");
  for (const Field& field : fields) {
    f.line(str(field.local, " ", field.name, " = task->", field.name, ";"));
    values += (values.empty() ? "" : ", ") + field.value;
  }
  f.append(body);
  f.close();
  functions_ += f.text();

  if (!fields.empty()) out_->line(str("struct ", task, " ", closure, " = {", values, "};"));
  out_->line(str("host->parallel_for(host->context, ", count.s, ", ", task, ", ",
                 fields.empty() ? "(void*)0" : "&" + closure, ");"));
}

}  // namespace tilewright::target::c_source
