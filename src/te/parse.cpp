// SPDX-License-Identifier: Apache-2.0
#include "te/parse.h"

#include <unordered_map>

#include "ir/rewrite.h"
#include "support/str.h"
#include "te/scan.h"

namespace tilewright::te {
namespace {

constexpr int kMaxNesting = 50;  // of scans

class Reader {
 public:
  Reader(ir::Cursor& cursor, const ir::Items& items) : cursor_(cursor), items_(items) {}

  Program program() {
    const ir::Token at = cursor_.next();
    const std::string name(cursor_.expect_word("a program").text);
    const ir::Cursor::Mark before_inputs = cursor_.mark();
    ir::skip_parentheses(cursor_);
    if (cursor_.accept("where")) symbols_ = ir::parse_symbols(cursor_, names_);
    const ir::Cursor::Mark after_symbols = cursor_.mark();
    cursor_.back_to(before_inputs);
    const std::vector<Tensor> inputs = this->inputs();
    cursor_.back_to(after_symbols);

    cursor_.expect("{", "before the stages");
    const std::vector<Tensor> outputs = stages("return");
    return te::program(name, inputs, outputs, symbols_, cursor_.span(at));
  }

 private:
  std::vector<Tensor> inputs() {
    std::vector<Tensor> out;
    cursor_.expect("(", "before the inputs");
    if (cursor_.accept(")")) return out;
    do {
      const ir::Token name = cursor_.expect_name("an input");
      cursor_.expect(":", "after the input");
      const ir::Elem elem = exprs_.elem();
      cursor_.expect("[", "before the shape");
      declare_sizes();
      Shape shape;
      for (const ir::Expr& extent : exprs_.exprs("]")) shape.push_back(with_reads(extent));
      out.push_back(placeholder(std::string(name.text), elem, shape, cursor_.span(name)));
      declare(name, out.back());
    } while (cursor_.accept(","));
    cursor_.expect(")", "after the inputs");
    return out;
  }

  /// A name in an input's shape that nothing has is a symbol. Looks up to the closing bracket.
  void declare_sizes() {
    const ir::Cursor::Mark start = cursor_.mark();
    for (int64_t depth = 1; depth > 0 && !cursor_.at_end(); cursor_.next()) {
      if (cursor_.at("[")) ++depth;
      if (cursor_.at("]")) --depth;
      const ir::Token name = cursor_.peek();
      const bool unknown = name.kind == ir::TokenKind::Name && !ir::is_reserved(name.text) &&
                           !ir::type_from_name(name.text) && !cursor_.next_is("(") &&
                           !names_.find(name.text);
      if (!unknown) continue;
      ir::Symbol s{.var = ir::Var(std::string(name.text), ir::kIndex, cursor_.span(name)),
                   .min = 1};
      names_.declare(cursor_, name, s.var);
      symbols_.push_back(std::move(s));
    }
    cursor_.back_to(start);
  }

  /// Stages up to the word `last`, then the tensors behind it and the closing brace.
  std::vector<Tensor> stages(std::string_view last) {
    while (!cursor_.at(last)) {
      if (cursor_.at("}") || cursor_.at_end())
        cursor_.fail_expected(str("a stage or `", last, "`"),
                              str("end the stages with `", last, "` and the names of the results"));
      stage();
    }
    cursor_.next();
    std::vector<Tensor> results;
    do results.push_back(tensor());
    while (cursor_.accept(","));
    cursor_.expect("}", "after the results");
    return results;
  }

  void stage() {
    std::vector<ir::Token> names;
    do names.push_back(cursor_.expect_name("a tensor"));
    while (cursor_.accept(","));
    const std::vector<Tensor> made = cursor_.accept("=") ? scan(names) : compute(names);
    for (size_t i = 0; i < names.size(); ++i) declare(names[i], made[i]);
  }

  std::vector<Tensor> compute(const std::vector<ir::Token>& names) {
    const ir::NameScope scope(names_);
    const Span span = cursor_.span(names[0]);
    cursor_.expect("[", "with the axes, or `= scan(…)`, after the names of a stage");
    std::vector<Iter> axes;
    for (const Axis& axis : this->axes("]")) axes.push_back(axis.iter());
    cursor_.expect("=", "before the value");

    const ir::Token reducer = cursor_.peek();
    if (!at_reduction()) return make_compute(texts(names), axes, values(names.size()), span);
    cursor_.next();
    cursor_.next();
    const std::vector<Axis> over = this->axes(")");
    const Tuple in = values(names.size());
    const ir::Reducer r = ir::find_reducer(cursor_, items_, reducer, in[0].elem());
    return make_compute(texts(names), axes, reduce(r, in, over, cursor_.span(reducer)), span);
  }

  /// `sum(k in n)`, unlike the beginning of an expression such as `max(a, b)`.
  bool at_reduction() {
    if (!cursor_.at(ir::TokenKind::Name) || !cursor_.next_is("(")) return false;
    const ir::Cursor::Mark start = cursor_.mark();
    cursor_.next();
    cursor_.next();
    const bool found = cursor_.next_is("in") || cursor_.at(")");
    cursor_.back_to(start);
    return found;
  }

  Tuple values(size_t count) {
    if (count == 1) return {value()};
    Tuple out;
    const ir::Token at = cursor_.expect("(", "before the values, one for each name");
    do out.push_back(value());
    while (cursor_.accept(","));
    cursor_.expect(")", "after the values");
    if (out.size() != count)
      cursor_.fail("te.parse.values", at, str(out.size(), " values for ", count, " names"),
                   "give one value for each name");
    return out;
  }

  Expr value() {
    const ir::Token at = cursor_.peek();
    const ir::Expr e = exprs_.expr();
    const auto refuse = [&](const auto&) {
      cursor_.fail("te.parse.lanes", at, "this value has vectors, masks or ranks of blocks",
                   "a tensor expression is about single elements: write it without them");
    };
    ir::walk(
        e, [&](const ir::Ramp& n) { refuse(n); }, [&](const ir::Broadcast& n) { refuse(n); },
        [&](const ir::VectorReduce& n) { refuse(n); },
        [&](const ir::Load& load) {
          if (load.mask || load.rank) refuse(load);
        });
    return with_reads(e);
  }

  std::vector<Tensor> scan(const std::vector<ir::Token>& names) {
    const ir::NameScope scope(names_);
    const ir::Token at = cursor_.expect("scan", "or axes in brackets");
    if (++nesting_ > kMaxNesting)
      cursor_.fail("te.parse.depth", at, str("scans are nested more than ", kMaxNesting, " deep"),
                   "compute the inner ones outside");
    cursor_.expect("(", "after `scan`");
    ScanFrame frame{.time = axis().iter()};
    std::vector<Tensor> init;
    while (cursor_.accept(",")) {
      const ir::Token state = cursor_.expect_name("a state");
      cursor_.expect("=", "before the tensor that the state starts from");
      const Tensor start = tensor();
      init.push_back(start);
      frame.prev.push_back(placeholder(std::string(state.text), start.elem(),
                                       Shape(start.shape().begin(), start.shape().end()),
                                       cursor_.span(state)));
      declare(state, frame.prev.back());
    }
    cursor_.expect(")", "after the states");
    cursor_.expect("{", "before the stages of the step");
    const std::vector<Tensor> results = stages("yield");
    --nesting_;
    if (results.size() != names.size())
      cursor_.fail("te.parse.values", names[0],
                   str("the scan yields ", results.size(), " tensors for ", names.size(), " names"),
                   "give one name for each tensor that is yielded");
    return end_scan(texts(names), frame, init, results, cursor_.span(names[0]));
  }

  Axis axis() {
    const ir::Token name = cursor_.expect_name("an axis");
    cursor_.expect("in", "after the axis");
    const ir::Expr extent = checked_extent(str("the extent of axis `", name.text, "`"),
                                           with_reads(exprs_.expr()), cursor_.span(name));
    Axis out(ir::Var(std::string(name.text), ir::kIndex, cursor_.span(name)), extent);
    names_.declare(cursor_, name, out.var());
    return out;
  }

  std::vector<Axis> axes(std::string_view close) {
    std::vector<Axis> out;
    if (cursor_.accept(close)) return out;
    do out.push_back(axis());
    while (cursor_.accept(","));
    cursor_.expect(close, "after the axes");
    return out;
  }

  Tensor tensor() {
    const ir::Token name = cursor_.expect_name("a tensor");
    return tensors_.at(names_.buffer(cursor_, name));
  }

  void declare(const ir::Token& name, const Tensor& t) {
    names_.declare(cursor_, name, t.buffer());
    tensors_.emplace(t.buffer(), t);
  }

  Expr with_reads(const ir::Expr& e) {
    std::vector<Tensor> reads;
    ir::walk(e, [&](const ir::Load& load) { add_once(reads, tensors_.at(load.buffer)); });
    return Expr(e, std::move(reads));
  }

  static std::vector<std::string> texts(const std::vector<ir::Token>& tokens) {
    std::vector<std::string> out;
    for (const ir::Token& t : tokens) out.emplace_back(t.text);
    return out;
  }

  ir::Cursor& cursor_;
  const ir::Items& items_;
  ir::Names names_;
  ir::ExprParser exprs_{cursor_, names_};
  std::vector<ir::Symbol> symbols_;
  std::unordered_map<ir::Buffer, Tensor> tensors_;
  int nesting_ = 0;
};

}  // namespace

Program read_program(ir::Cursor& cursor, const ir::Items& items) {
  return Reader(cursor, items).program();
}

Program parse_program(std::string_view text) {
  const auto source = std::make_shared<const Source>(Source{"text", std::string(text)});
  std::vector<Program> programs;
  ir::parse(source, {{"te", [&](ir::Cursor& cursor, const ir::Items& items) {
                        programs.push_back(read_program(cursor, items));
                      }}});
  if (programs.size() != 1)
    ir::Cursor(source).fail("te.parse.count", {},
                            str("the text has ", programs.size(), " programs, not one"),
                            "write exactly one item `te …`");
  return std::move(programs[0]);
}

}  // namespace tilewright::te
