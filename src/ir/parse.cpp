// SPDX-License-Identifier: Apache-2.0
#include "ir/parse.h"

#include "support/str.h"

namespace tilewright::ir {
namespace {

class ItemReader {
 public:
  explicit ItemReader(std::shared_ptr<const Source> source) : cursor_(std::move(source)) {}

  Unit read(const ItemParsers& others) {
    while (!cursor_.at_end()) item(others);
    return std::move(unit_);
  }

 private:
  void item(const ItemParsers& others) {
    if (cursor_.at("reducer")) return reducer();
    if (cursor_.at("instr")) return instruction();
    if (cursor_.at("loops")) return function();
    const Token& word = cursor_.peek();
    if (word.kind == TokenKind::Name) {
      if (const auto found = others.find(word.text); found != others.end())
        return found->second(cursor_, items_);
    }
    std::string known = "reducer, instr, loops";
    for (const auto& [keyword, read] : others) known += str(", ", keyword);
    cursor_.fail("ir.parse.item", word, str("expected an item, found ", describe(word)),
                 str("an item starts with one of ", known));
  }

  std::vector<Var> vars() {
    std::vector<Var> out;
    do {
      const Token name = cursor_.expect_name("a value");
      cursor_.expect(":", "before the type");
      const Type type{exprs_.elem(), 1};
      out.emplace_back(std::string(name.text), type, cursor_.span(name));
      names_.declare(cursor_, name, out.back());
    } while (cursor_.accept(","));
    return out;
  }

  std::vector<Expr> tuple() {
    cursor_.expect("(", "before the values");
    return exprs_.exprs(")");
  }

  /// Reports values that are not those of the reducer's tuple.
  void check_tuple(const Token& at, std::string_view what, const std::vector<Expr>& values,
                   const std::vector<Var>& tuple) {
    bool same = values.size() == tuple.size();
    for (size_t i = 0; same && i < tuple.size(); ++i) same = values[i].type() == tuple[i].type();
    if (same) return;
    const auto types = [](const auto& list) {
      std::string out;
      for (const Expr& e : list) out += str(out.empty() ? "" : ", ", print(e.type()));
      return str("(", out, ")");
    };
    cursor_.fail("ir.type.reducer", at, str(what, " is not a tuple of the reducer's types"),
                 "give one value of the right type for each element of the tuple",
                 {str("the reducer combines ", types(tuple), ", ", what, " is ", types(values))});
  }
  static std::vector<Expr> as_exprs(const std::vector<Var>& vars) {
    return {vars.begin(), vars.end()};
  }

  void reducer() {
    cursor_.next();
    const Token name = cursor_.expect_word("a reducer");
    if (builtin_reducer_op(name.text) || items_.reducers.count(name.text) > 0)
      cursor_.fail("ir.parse.duplicate", name, str("there is a reducer `", name.text, "` already"),
                   "choose another name");
    auto out = std::make_shared<ReducerNode>();
    out->name = name.text;
    cursor_.expect("(", "before the values that are combined");
    {
      const NameScope scope(names_);
      out->lhs = vars();
      cursor_.expect("|", "between the two tuples");
      const Token at = cursor_.peek();
      out->rhs = vars();
      check_tuple(at, "the right side", as_exprs(out->rhs), out->lhs);
      cursor_.expect(")", "after the two tuples");
      const Token equals = cursor_.expect("=", "before the combined values");
      out->combine = tuple();
      check_tuple(equals, "the combined value", out->combine, out->lhs);
    }
    const Token identity = cursor_.expect("identity", "after the combined values");
    out->identity = tuple();
    check_tuple(identity, "the identity", out->identity, out->lhs);
    if (cursor_.at("rescale")) rescale(*out);
    const Reducer made{std::shared_ptr<const ReducerNode>(std::move(out))};
    items_.reducers.emplace(name.text, made);
    unit_.reducers.push_back(made);
  }

  void rescale(ReducerNode& out) {
    const Token at = cursor_.next();
    const NameScope scope(names_);
    cursor_.expect("(", "after `rescale`");
    out.partial = vars();
    check_tuple(at, "the partial result", as_exprs(out.partial), out.lhs);
    cursor_.expect("|", "after the partial result");
    const std::vector<Var> both = vars();
    const auto half = both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2);
    out.from = {both.begin(), half};
    out.to = {half, both.end()};
    bool paired = both.size() % 2 == 0;
    for (size_t i = 0; paired && i < out.to.size(); ++i)
      paired = out.from[i].type() == out.to[i].type();
    if (!paired)
      cursor_.fail("ir.type.reducer", at, "the values before and after do not come in pairs",
                   "name all values before, then as many after, of the same types");
    cursor_.expect(")", "after the values before and after");
    cursor_.expect("=", "before the rescaled values");
    out.rescale = tuple();
    check_tuple(at, "the rescaled value", out.rescale, out.lhs);
  }

  std::vector<Param> params() {
    std::vector<Param> out;
    cursor_.expect("(", "before the parameters");
    if (cursor_.accept(")")) return out;
    do {
      Param p;
      const Token name = cursor_.expect_name("a parameter");
      cursor_.expect(":", "after the parameter");
      if (cursor_.accept("in"))
        p.access = Access::In;
      else if (cursor_.accept("out"))
        p.access = Access::Out;
      else if (cursor_.accept("inout"))
        p.access = Access::InOut;
      else
        cursor_.fail_expected("in, out or inout", "say how the function uses the parameter");
      p.buffer = stmts_.buffer(name);
      names_.declare(cursor_, name, p.buffer);
      out.push_back(std::move(p));
    } while (cursor_.accept(","));
    cursor_.expect(")", "after the parameters");
    return out;
  }

  void instruction() {
    const Token at = cursor_.next();
    const Token name = cursor_.expect_word("an instruction");
    if (items_.instructions.count(name.text) > 0)
      cursor_.fail("ir.parse.duplicate", name,
                   str("there is an instruction `", name.text, "` already"), "choose another name");
    auto out = std::make_shared<InstructionNode>();
    out->name = name.text;
    out->span = cursor_.span(at);
    const NameScope scope(names_);
    out->operands = params();
    if (cursor_.accept("emit")) out->emit = cursor_.expect_string("what is emitted");
    cursor_.expect("{", "before the forms of the instruction");
    cursor_.expect("compute", "as the first form");
    out->compute = stmts_.block();
    if (cursor_.accept("reset")) out->reset = stmts_.block();
    if (cursor_.accept("update")) out->update = stmts_.block();
    cursor_.expect("}", "after the forms of the instruction");
    const Instruction made{std::shared_ptr<const InstructionNode>(std::move(out))};
    items_.instructions.emplace(name.text, made);
    unit_.instructions.push_back(made);
  }

  void function() {
    LoopFunc out;
    const Token at = cursor_.next();
    const Token name = cursor_.expect_word("a function");
    if (!functions_.emplace(name.text, name.line).second)
      cursor_.fail("ir.parse.duplicate", name, str("there is a function `", name.text, "` already"),
                   "choose another name",
                   {str("it starts in line ", functions_.find(name.text)->second)});
    out.name = name.text;
    out.span = cursor_.span(at);
    const NameScope scope(names_);
    const Cursor::Mark before_params = cursor_.mark();  // their shapes name the symbols behind them
    skip_parentheses(cursor_);
    if (cursor_.accept("where")) out.symbols = parse_symbols(cursor_, names_);
    const Cursor::Mark after_symbols = cursor_.mark();
    cursor_.back_to(before_params);
    out.params = params();
    cursor_.back_to(after_symbols);
    if (cursor_.accept("stage")) out.stage = stage();
    out.body = stmts_.block();
    unit_.functions.push_back(std::move(out));
  }

  Stage stage() {
    for (const Stage s : {Stage::Loops, Stage::Scheduled, Stage::Final})
      if (cursor_.accept(ir::name(s))) return s;
    cursor_.fail_expected("a stage", "write loops, scheduled or final");
  }

  Cursor cursor_;
  Names names_;
  Items items_;
  ExprParser exprs_{cursor_, names_};
  StmtParser stmts_{cursor_, names_, items_};
  Unit unit_;
  std::map<std::string, int32_t, std::less<>> functions_;  // name, line
};

/// A part of a program, read with the names of an environment.
struct PartReader {
  Cursor cursor;
  Names names;
  Items items;

  PartReader(std::string_view text, const Environment& environment)
      : cursor(std::make_shared<const Source>(Source{"text", std::string(text)})) {
    const auto declare = [&](const std::string& name, Named thing) {
      names.declare(cursor, Token{TokenKind::Name, name, 0, 0}, std::move(thing));
    };
    for (const Var& v : environment.vars) declare(v.name(), v);
    for (const Buffer& b : environment.buffers) declare(b->name, b);
    for (const Channel& c : environment.channels) declare(c->name, c);
    for (const Reducer& r : environment.reducers) items.reducers.emplace(r->name, r);
    for (const Instruction& i : environment.instructions) items.instructions.emplace(i->name, i);
  }

  void expect_end(std::string_view what) {
    if (!cursor.at_end())
      cursor.fail_expected(str("the end of the text after the ", what), "remove what follows");
  }
};

}  // namespace

Unit parse(std::shared_ptr<const Source> source, const ItemParsers& others) {
  return ItemReader(std::move(source)).read(others);
}

Unit parse(std::string_view text, std::string name) {
  return parse(std::make_shared<const Source>(Source{std::move(name), std::string(text)}));
}

LoopFunc parse_function(std::string_view text) {
  const auto source = std::make_shared<const Source>(Source{"text", std::string(text)});
  Unit unit = parse(source);
  if (unit.functions.size() != 1)
    Cursor(source).fail("ir.parse.function_count", {},
                        str("the text has ", unit.functions.size(), " functions, not one"),
                        "write exactly one item `loops …`");
  return std::move(unit.functions[0]);
}

Stmt parse_stmt(std::string_view text, const Environment& environment) {
  PartReader reader(text, environment);
  const Stmt s = StmtParser(reader.cursor, reader.names, reader.items).sequence();
  reader.expect_end("statements");
  return s;
}

Expr parse_expr(std::string_view text, const Environment& environment) {
  PartReader reader(text, environment);
  const Expr e = ExprParser(reader.cursor, reader.names).expr();
  reader.expect_end("expression");
  return e;
}

Layout parse_layout(Cursor& cursor) {
  Names names;
  const Items items;
  return StmtParser(cursor, names, items).layout();
}

}  // namespace tilewright::ir
