// SPDX-License-Identifier: Apache-2.0
#include "ir/parse_stmt.h"

#include "support/str.h"

namespace tilewright::ir {
namespace {

// Parsing recurses with braces; walking and freeing recurse with `let`, `alloc` and `channel` too.
constexpr int kMaxNesting = 200;
constexpr int kMaxDepth = 1000;

constexpr std::string_view kStatements =
    "`b[i] = …`, `b[i] sum= …`, let, alloc, channel, for, while, if, block, call, agents, acquire, "
    "commit, wait, release, async, barrier, atomic, prefetch or `{`";

bool starts_loop(const Token& token) {
  for (const std::string_view word :
       {"for", "parallel", "vectorized", "unrolled", "vthread", "bind"})
    if (token.is(word)) return true;
  return false;
}

}  // namespace

void StmtParser::deepen(const Token& at) {
  if (++depth_ > kMaxDepth)
    cursor_.fail("ir.parse.depth", at, str("statements are nested more than ", kMaxDepth, " deep"),
                 "`let`, `alloc` and `channel` each hold to the end of their braces: close some");
}

void StmtParser::enter(const Token& at) {
  if (++nesting_ > kMaxNesting)
    cursor_.fail("ir.parse.depth", at, str("braces are nested more than ", kMaxNesting, " deep"),
                 "split the function");
  deepen(at);
}

void StmtParser::leave() {
  --nesting_;
  --depth_;
}

Stmt StmtParser::block() {
  const Token at = cursor_.expect("{", "before the statements");
  enter(at);
  const Stmt body = sequence();
  if (cursor_.at_end())
    cursor_.fail("ir.parse.end", cursor_.peek(), "the text ends inside of braces",
                 "close them with `}`", {str("they were opened in line ", at.line)});
  cursor_.expect("}", "after the statements");
  leave();
  return body;
}

Stmt StmtParser::sequence() {
  const NameScope scope(names_);
  const Token at = cursor_.peek();
  const int depth = depth_;
  std::vector<Stmt> stmts;
  std::vector<Open> open;
  while (!cursor_.at_end() && !cursor_.at("}")) {
    const Token first = cursor_.peek();
    const bool names = first.is("let") || first.is("alloc") || first.is("channel");
    if (!names) {
      stmts.push_back(statement());
      continue;
    }
    deepen(first);
    open.push_back(first.is("let") ? let() : first.is("alloc") ? alloc() : channel());
    open.back().first = stmts.size();
  }
  depth_ = depth;
  for (; !open.empty(); open.pop_back()) {
    const auto begin = stmts.begin() + static_cast<std::ptrdiff_t>(open.back().first);
    Stmt body = seq({begin, stmts.end()}, cursor_.span(at));
    stmts.erase(begin, stmts.end());
    stmts.push_back(open.back().close(std::move(body)));
  }
  return seq(std::move(stmts), cursor_.span(at));
}

Stmt StmtParser::statement() {
  const Token& at = cursor_.peek();
  if (at.is("{")) return block();
  if (at.kind == TokenKind::Name) {
    if (starts_loop(at)) return loop();
    if (at.is("while")) return while_loop();
    if (at.is("if")) return if_else();
    if (at.is("block") || at.is("opaque")) return compute_block();
    if (at.is("call")) return call();
    if (at.is("agents")) return agents();
    if (at.is("acquire") || at.is("commit") || at.is("wait") || at.is("release"))
      return channel_op();
    if (at.is("async")) return async();
    if (at.is("barrier")) return barrier();
    if (at.is("atomic")) return atomic();
    if (at.is("prefetch")) return prefetch();
    if (cursor_.next_is("[") || cursor_.next_is("@")) return store_or_update();
  }
  cursor_.fail_expected("a statement", str("a statement is ", kStatements));
}

StmtParser::Open StmtParser::let() {
  const Token at = cursor_.next();
  const Token name = cursor_.expect_name("a value");
  std::optional<Type> stated;
  if (cursor_.accept(":")) stated = exprs_.type();
  cursor_.expect("=", "before the value");
  const Expr value = exprs_.expr();
  const Var var(std::string(name.text), stated.value_or(value.type()), cursor_.span(name));
  names_.declare(cursor_, name, var);
  if (var.type() != value.type())
    cursor_.fail(
        "ir.type.check", name,
        str("`", name.text, "` is ", print(var.type()), ", its value ", print(value.type())),
        "state the type of the value, or cast it");
  return {0, [=, this](Stmt body) { return node<Let>(at, var, value, std::move(body)); }};
}

StmtParser::Open StmtParser::alloc() {
  const Token at = cursor_.next();
  const Token name = cursor_.expect_name("a buffer");
  cursor_.expect(":", "before the type of the buffer");
  const Buffer made = buffer(name);
  names_.declare(cursor_, name, made);
  return {0, [=, this](Stmt body) { return node<Alloc>(at, made, std::move(body)); }};
}

Stmt StmtParser::store_or_update() {
  ExprParser::Access a = exprs_.access();
  if (!cursor_.accept("=")) return update(std::move(a));
  const Expr value = exprs_.expr();
  return node<Store>(a.at, std::move(a.buffer), std::move(a.indices), value, std::move(a.mask),
                     std::move(a.rank));
}

Stmt StmtParser::update(ExprParser::Access first) {
  std::vector<ExprParser::Access> accesses = {std::move(first)};
  while (cursor_.accept(",")) accesses.push_back(exprs_.access());
  const Token at = accesses[0].at;
  if (cursor_.peek().kind != TokenKind::Name || !cursor_.next_is("="))
    cursor_.fail_expected("`=`, or a reducer and `=`", "write `b[i] = …` or `b[i] sum= …`");
  const Token name = cursor_.next();
  cursor_.next();
  std::vector<Target> targets;
  for (ExprParser::Access& a : accesses) {
    if (a.mask || a.rank)
      cursor_.fail("ir.parse.update", a.at, "an update has neither mask nor rank",
                   "put the update under an `if`");
    targets.push_back({std::move(a.buffer), std::move(a.indices)});
  }
  std::vector<Expr> values;
  do values.push_back(exprs_.expr());
  while (cursor_.accept(","));
  return node<Update>(at, find_reducer(cursor_, items_, name, targets[0].buffer->elem),
                      std::move(targets), std::move(values));
}

Stmt StmtParser::loop() {
  const Token at = cursor_.peek();
  ForKind kind = ForKind::Serial;
  ThreadAxis axis = ThreadAxis::BlockX;
  if (cursor_.accept("bind")) {
    kind = ForKind::Bound;
    cursor_.expect("(", "after `bind`");
    const Token word = cursor_.expect_word("a thread axis");
    const bool dotted = cursor_.accept(".");
    const std::string text = str(word.text, dotted ? "." : "", dotted ? cursor_.next().text : "");
    std::optional<ThreadAxis> found;
    for (int i = 0; i <= static_cast<int>(ThreadAxis::ThreadZ); ++i)
      if (ir::name(static_cast<ThreadAxis>(i)) == text) found = static_cast<ThreadAxis>(i);
    if (!found)
      cursor_.fail("ir.parse.axis", word, str("`", text, "` is not a thread axis"),
                   "write block, cluster or thread, a dot, and x, y or z: `thread.x`");
    axis = *found;
    cursor_.expect(")", "after the thread axis");
  } else if (!at.is("for")) {
    kind = one_of("the kind of a loop",
                  {ForKind::Parallel, ForKind::Vectorized, ForKind::Unrolled, ForKind::VThread});
  }
  cursor_.expect("for", "after the kind of the loop");
  const Token name = cursor_.expect_name("a loop variable");
  cursor_.expect("in", "after the loop variable");
  const Range range = exprs_.bounds();
  std::vector<Hint> given = hints();
  const NameScope scope(names_);
  const Var var(std::string(name.text), kIndex, cursor_.span(name));
  names_.declare(cursor_, name, var);
  const Stmt body = block();
  return node<For>(at, var, range.min, range.extent, body, kind, axis, std::move(given));
}

Stmt StmtParser::while_loop() {
  const Token at = cursor_.next();
  const Expr cond = exprs_.expr();
  return node<While>(at, cond, block());
}

/// A chain of `else if` counts as depth: each stands inside the one before.
Stmt StmtParser::if_else() {
  struct Branch {
    Token at;
    Expr cond;
    Stmt yes;
  };
  std::vector<Branch> branches;
  Stmt last;
  const int depth = depth_;
  while (true) {
    const Token at = cursor_.next();
    const Expr cond = exprs_.expr();
    branches.push_back({at, cond, block()});
    if (!cursor_.accept("else")) break;
    if (!cursor_.at("if")) {
      last = block();
      break;
    }
    deepen(cursor_.peek());
  }
  depth_ = depth;
  for (; !branches.empty(); branches.pop_back())
    last = node<If>(branches.back().at, branches.back().cond, branches.back().yes, last);
  return last;
}

Stmt StmtParser::compute_block() {
  Block out;
  out.opaque = cursor_.accept("opaque");
  const Token at = cursor_.expect("block", "after `opaque`");
  out.name = cursor_.expect_word("a block").text;
  const NameScope scope(names_);
  out.iters = iters();
  if (cursor_.accept("where")) out.predicate = exprs_.expr();
  if (cursor_.accept("reads")) out.reads = regions();
  if (cursor_.accept("writes")) out.writes = regions();
  out.hints = hints();
  enter(cursor_.expect("{", "before the body of the block"));
  if (cursor_.at("init") && cursor_.next_is("{")) {
    cursor_.next();
    out.init = block();
  }
  out.body = sequence();
  cursor_.expect("}", "after the body of the block");
  leave();
  return node<Block>(at, out.name, out.iters, out.predicate, out.reads, out.writes, out.init,
                     out.body, out.opaque, out.hints);
}

/// `hints (depth = 2, role = "load")`, or nothing.
std::vector<Hint> StmtParser::hints() {
  std::vector<Hint> out;
  if (!cursor_.accept("hints")) return out;
  cursor_.expect("(", "after `hints`");
  do {
    Hint hint;
    hint.key = cursor_.expect_word("the name of a hint").text;
    cursor_.expect("=", "after the name of the hint");
    const Token at = cursor_.peek();
    if (cursor_.at(TokenKind::String)) {
      hint.text = cursor_.expect_string("the value of the hint");
      if (hint.text.empty())
        cursor_.fail("ir.parse.hint", at, str("hint `", hint.key, "` has an empty value"),
                     "write a number or a text that is not empty");
    } else {
      hint.number = cursor_.expect_int("the value of the hint, a number or a text");
    }
    out.push_back(std::move(hint));
  } while (cursor_.accept(","));
  cursor_.expect(")", "after the hints");
  return out;
}

std::vector<BlockIter> StmtParser::iters() {
  std::vector<BlockIter> out;
  std::vector<Token> tokens;
  cursor_.expect("(", "before the iterators");
  if (cursor_.accept(")")) return out;
  do {
    BlockIter it;
    tokens.push_back(cursor_.expect_name("an iterator"));
    cursor_.expect(":", "after the iterator");
    it.var = Var(std::string(tokens.back().text), kIndex, cursor_.span(tokens.back()));
    it.kind = one_of("the kind of the iterator",
                     {IterKind::Spatial, IterKind::Reduction, IterKind::Ordered});
    it.extent = exprs_.expr();
    cursor_.expect("=", "before the binding of the iterator");
    it.binding = exprs_.expr();
    out.push_back(std::move(it));
  } while (cursor_.accept(","));
  cursor_.expect(")", "after the iterators");
  for (size_t i = 0; i < out.size(); ++i) names_.declare(cursor_, tokens[i], out[i].var);
  return out;
}

std::vector<Region> StmtParser::regions() {
  std::vector<Region> out;
  do out.push_back(exprs_.region());
  while (cursor_.accept(","));
  return out;
}

Stmt StmtParser::call() {
  const Token at = cursor_.next();
  const Token name = cursor_.expect_word("an instruction");
  const auto found = items_.instructions.find(name.text);
  if (found == items_.instructions.end()) {
    std::vector<std::string_view> known;
    for (const auto& [declared, i] : items_.instructions) known.push_back(declared);
    const std::string_view near = closest(name.text, known);
    cursor_.fail("ir.parse.instruction", name, str("there is no instruction `", name.text, "`"),
                 near.empty() ? "declare it before the function, as an item `instr …`"
                              : str("did you mean `", near, "`?"));
  }
  InstrForm form = InstrForm::Compute;
  if (cursor_.accept("."))
    form = one_of("the form of the instruction",
                  {InstrForm::Compute, InstrForm::Reset, InstrForm::Update});
  cursor_.expect("(", "before the operands");
  std::vector<Region> operands;
  if (!cursor_.at(")")) operands = regions();
  cursor_.expect(")", "after the operands");
  std::vector<std::vector<Expr>> strides;
  if (cursor_.at("strides") && cursor_.next_is("(")) {
    cursor_.next();
    cursor_.next();
    do {
      cursor_.expect("[", "before the strides of an operand");
      strides.push_back(exprs_.exprs("]"));
    } while (cursor_.accept(","));
    cursor_.expect(")", "after the strides");
  }
  return node<InstrCall>(at, found->second, form, std::move(operands), std::move(strides));
}

}  // namespace tilewright::ir
