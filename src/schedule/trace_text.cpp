// SPDX-License-Identifier: Apache-2.0
// The text of traces, derived from the steps' lists of fields: one rule per type of field.
#include <algorithm>
#include <array>

#include "ir/parse.h"
#include "ir/print.h"
#include "schedule/trace.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

constexpr std::array kAxes = {
    ir::ThreadAxis::BlockX,   ir::ThreadAxis::BlockY,   ir::ThreadAxis::BlockZ,
    ir::ThreadAxis::ClusterX, ir::ThreadAxis::ClusterY, ir::ThreadAxis::ClusterZ,
    ir::ThreadAxis::ThreadX,  ir::ThreadAxis::ThreadY,  ir::ThreadAxis::ThreadZ,
};
constexpr std::array kScopes = {
    ir::ScopeKind::Global, ir::ScopeKind::Constant, ir::ScopeKind::Cluster, ir::ScopeKind::Shared,
    ir::ScopeKind::Warp,   ir::ScopeKind::Register, ir::ScopeKind::Tile,
};

std::string text(const LoopRef& r) { return "%" + r.name; }
std::string text(const BlockRef& r) { return "%" + r.name; }
std::string text(const AnyRef& r) { return "%" + r.name; }
std::string text(const Number& n) {
  return n.open ? "?" : n.decision.empty() ? str(n.value) : "$" + n.decision;
}
std::string text(const std::string& s) { return ir::quoted(s); }
std::string text(const HintValue& v) {
  return v.text.empty() ? text(v.number) : ir::quoted(v.text);
}
std::string text(const ir::ThreadAxis& axis) { return std::string(ir::name(axis)); }
std::string text(const Overlap& overlap) { return overlap == Overlap::Sync ? "sync" : "async"; }
std::string text(const Workers& workers) { return workers.axis ? text(*workers.axis) : "parallel"; }
std::string text(const ir::Scope& scope) { return ir::print(scope); }
std::string text(const IndexMap& map) {
  std::string vars, results;
  for (const ir::Var& v : map.vars) vars += (vars.empty() ? "" : ", ") + v.name();
  for (const ir::Expr& r : map.results) results += (results.empty() ? "" : ", ") + ir::print(r);
  return str("(", vars, ") -> [", results, "]");
}
std::string text(const ir::Layout& layout) { return ir::print(layout); }
template <class T>
std::string text(const std::vector<T>& items) {
  std::string out;
  for (const T& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return "[" + out + "]";
}

/// Left out where there is none.
template <class T>
std::string text(const std::optional<std::vector<T>>& items) {
  return items ? text(*items) : "";
}

class Reader {
 public:
  explicit Reader(ir::Cursor& cursor) : in_(cursor) {}

  std::string reference() {
    in_.expect("%", "before the name of a loop or block");
    return std::string(in_.expect_word("the name of a loop or block").text);
  }

  void read(LoopRef& r) { r.name = reference(); }
  void read(BlockRef& r) { r.name = reference(); }
  void read(AnyRef& r) { r.name = reference(); }
  void read(Number& n) {
    if (in_.accept("?"))
      n = Number::open_one();
    else if (in_.accept("$"))
      n = Number::of_decision(std::string(in_.expect_word("the name of a decision").text));
    else
      n = Number(in_.expect_int("a number, `$decision` or `?`"));
  }
  void read(std::string& s) { s = in_.expect_string("a name in quotes"); }
  void read(HintValue& v) {
    if (in_.at(ir::TokenKind::String))
      read(v.text);
    else
      read(v.number);
  }
  void read(ir::ThreadAxis& axis) {
    const ir::Token at = in_.peek();
    const std::string name = dotted("a thread axis such as thread.x");
    for (const ir::ThreadAxis a : kAxes)
      if (ir::name(a) == name) return void(axis = a);
    in_.fail("schedule.trace.axis", at, str("`", name, "` is no thread axis"),
             "use block.x … block.z, cluster.x … cluster.z, thread.x … thread.z");
  }
  void read(Workers& workers) {
    if (!in_.accept("parallel")) read(workers.axis.emplace());
  }
  void read(Overlap& overlap) {
    const ir::Token at = in_.peek();
    const std::string name(in_.expect_word("sync or async").text);
    if (name != "sync" && name != "async")
      in_.fail("schedule.trace.overlap", at, str("`", name, "` is no way to overlap"),
               "write sync or async");
    overlap = name == "sync" ? Overlap::Sync : Overlap::Async;
  }
  void read(ir::Scope& scope) {
    const std::string name = dotted("a scope such as register");
    for (const ir::ScopeKind k : kScopes)
      if (ir::print(ir::Scope{k, {}}) == name) return void(scope = {k, {}});
    scope = {ir::ScopeKind::Named, name};
  }
  void read(IndexMap& map) {
    ir::Names names;
    in_.expect("(", "before the indices of an index map");
    while (!in_.accept(")")) {
      if (!map.vars.empty()) in_.expect(",", "between the indices");
      const ir::Token at = in_.expect_name("an index");
      map.vars.emplace_back(std::string(at.text));
      names.declare(in_, at, map.vars.back());
    }
    in_.expect("->", "after the indices");
    in_.expect("[", "before the results of an index map");
    map.results = ir::ExprParser(in_, names).exprs("]");
  }
  void read(ir::Layout& layout) { layout = ir::parse_layout(in_); }
  template <class T>
  void read(std::vector<T>& items) {
    in_.expect("[", "before a list");
    while (!in_.accept("]")) {
      if (!items.empty()) in_.expect(",", "between the items of a list");
      read(items.emplace_back());
    }
  }

  template <class T>
  void read(std::optional<std::vector<T>>& items) {
    if (in_.at("[")) read(items.emplace());
  }

  Step step() {
    const ir::Token at = in_.peek();
    const std::string name(in_.expect_word("a step").text);
    Step out;
    bool known = false;
    const auto attempt = [&]<class S>(S value) {
      if (known || S::name != name) return;
      known = true;
      ir::for_each_field(value, [&](auto& field) { read(field); });
      out = std::move(value);
    };
    std::apply([&](auto... prototypes) { (attempt(prototypes), ...); }, AllSteps{});
    if (!known)
      in_.fail("schedule.trace.step", at, str("there is no step `", name, "`"),
               "docs/steps.md lists all steps");
    return out;
  }

 private:
  std::string dotted(const char* what) {
    std::string name(in_.expect_word(what).text);
    while (in_.accept(".")) name += "." + std::string(in_.expect_word(what).text);
    return name;
  }

  ir::Cursor& in_;
};

}  // namespace

std::string print(const TraceLine& line) {
  std::string out;
  for (const std::string& r : line.results) out += (out.empty() ? "%" : ", %") + r;
  if (!out.empty()) out += " = ";
  std::visit(
      [&](const auto& step) {
        out += std::string(step.name);
        ir::for_each_field(step, [&](const auto& field) {
          if (const std::string argument = text(field); !argument.empty()) out += " " + argument;
        });
      },
      line.step);
  return out;
}

std::string print(const Trace& trace) {
  std::string out = str("trace ", trace.name, " {\n");
  for (const Decision& d : trace.decisions) {
    out += str("  decide ", d.name, " = ", d.value);
    if (!d.candidates.empty()) {
      std::string all;
      for (const int64_t c : d.candidates) all += (all.empty() ? "" : ", ") + str(c);
      out += str(" of [", all, "]");
    }
    out += "\n";
  }
  for (const TraceLine& line : trace.lines) out += str("  ", print(line), "\n");
  return out + "}\n";
}

Trace parse_trace(ir::Cursor& in) {
  Trace trace;
  Reader reader(in);
  in.expect("trace", "at the start of a trace");
  trace.name = in.expect_word("the name of the trace").text;
  in.expect("{", "after the name of the trace");
  while (in.accept("decide")) {
    Decision d;
    d.name = in.expect_word("the name of a decision").text;
    in.expect("=", "after the name of the decision");
    d.value = in.expect_int("the value of the decision");
    if (in.accept("of")) {
      in.expect("[", "before the candidates");
      while (!in.accept("]")) {
        if (!d.candidates.empty()) in.expect(",", "between candidates");
        d.candidates.push_back(in.expect_int("a candidate"));
      }
    }
    trace.decisions.push_back(std::move(d));
  }
  while (!in.accept("}")) {
    TraceLine line;
    line.at = in.span();
    if (in.at("%")) {
      do line.results.push_back(reader.reference());
      while (in.accept(","));
      in.expect("=", "after the names of the results");
    }
    line.step = reader.step();
    trace.lines.push_back(std::move(line));
  }
  return trace;
}

Trace parse_trace(std::string_view text, std::string source_name) {
  ir::Cursor in(std::make_shared<Source>(Source{std::move(source_name), std::string(text)}));
  Trace trace = parse_trace(in);
  if (!in.at_end()) in.fail_expected("the end of the text", "write one trace");
  return trace;
}

}  // namespace tilewright::schedule
