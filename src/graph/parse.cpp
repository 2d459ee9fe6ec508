// SPDX-License-Identifier: Apache-2.0
#include "graph/parse.h"

#include <limits>
#include <unordered_map>

#include "graph/group.h"
#include "graph/layout.h"
#include "graph/verify.h"
#include "ir/literal.h"
#include "ir/parse_expr.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

constexpr int kMaxNesting = 50;  // of bodies, and of sequences

class Reader {
 public:
  Reader(std::shared_ptr<const Source> source, FindOp find_op)
      : cursor_(std::move(source)), exprs_(cursor_, names_), find_op_(find_op) {}

  Graph run() {
    while (!cursor_.at_end()) item();
    if (graph_.functions.empty()) cursor_.fail_expected("`graph`", "write at least one function");
    for (const auto& [name, at] : mentioned_)
      if (!known_[static_cast<size_t>(ids_.at(name))])
        cursor_.fail("graph.text.value", at, str("nothing makes %", name),
                     "give it as an input, a constant, or the result of a node");
    try {
      verify(graph_);
    } catch (const InternalError& e) {
      throw Error({.code = "graph.text.graph",
                   .at = {cursor_.source(), 1, 1},
                   .message = e.what(),
                   .notes = {},
                   .help = "correct the text"});
    }
    return std::move(graph_);
  }

 private:
  void item() {
    if (cursor_.accept("metadata")) {
      const std::string key = cursor_.expect_string("the key");
      cursor_.expect("=", "after the key");
      graph_.metadata[key] = cursor_.expect_string("the value");
    } else if (cursor_.accept("symbol")) {
      symbol();
    } else if (cursor_.at("constant") || cursor_.at("sizes")) {
      given(cursor_.next().is("constant"));
    } else if (cursor_.accept("default")) {
      input_default();
    } else if (cursor_.at("check")) {
      graph_.checks.push_back(check());
    } else if (cursor_.accept("graph")) {
      graph_.functions.push_back(function(graph_.functions.empty()));
    } else {
      cursor_.fail_expected("`symbol`, `constant`, `default`, `sizes`, `check` or `graph`",
                            "start an item of a graph");
    }
  }

  std::string word_or_string(std::string_view what) {
    return cursor_.at(ir::TokenKind::String) ? cursor_.expect_string(what)
                                             : std::string(cursor_.expect_word(what).text);
  }

  /// A value, which the text may define later.
  ValueId mention() {
    if (cursor_.at("_")) {
      cursor_.next();
      return kNoValue;
    }
    cursor_.expect("%", "before the name of a value");
    const ir::Token at = cursor_.peek();
    const std::string name = word_or_string("a value");
    const auto [place, is_new] = ids_.emplace(name, static_cast<ValueId>(graph_.values.size()));
    if (is_new) {
      graph_.values.push_back({.name = name, .type = {}, .constant = {}, .elements = {}});
      known_.push_back(false);
      mentioned_.emplace_back(name, at);
    }
    return place->second;
  }

  ValueId define() {
    const ValueId id = mention();
    if (id == kNoValue) return id;
    known_[static_cast<size_t>(id)] = true;
    cursor_.expect(":", "before the type of the value");
    Type t = type();
    graph_.value(id).type = std::move(t);
    if (cursor_.accept("of")) graph_.value(id).elements = formulas();
    return id;
  }

  std::vector<Dim> formulas() {
    cursor_.expect("[", "before the formulas");
    return exprs_.exprs("]");
  }

  Type type(int depth = 0) {
    const ir::Token at = cursor_.peek();
    if (depth > kMaxNesting)
      cursor_.fail("graph.text.depth", at, "types nested too deeply", "use fewer levels");
    const bool sequence = cursor_.at("seq"), optional = cursor_.at("opt");
    if (sequence || optional) {
      cursor_.next();
      cursor_.expect("<", "before the type of elements");
      auto element = std::make_shared<const Type>(type(depth + 1));
      bool empty = false;
      if (cursor_.accept(",")) empty = cursor_.expect("empty", "after `,`").is("empty");
      cursor_.expect(">", "after the type of elements");
      if (sequence) return SequenceType{std::move(element), empty};
      return OptionalType{std::move(element), empty};
    }
    TensorType out;
    out.strings = cursor_.accept("string");
    if (!out.strings) out.elem = exprs_.elem();
    cursor_.expect("[", "before the dimensions");
    if (cursor_.accept("*")) {
      cursor_.expect("]", "after `*`");
      return UnrankedType{out.elem, out.strings};
    }
    if (cursor_.accept("]")) return out;
    do {
      out.shape.push_back(cursor_.accept("?") ? Dim() : exprs_.expr());
    } while (cursor_.accept(","));
    cursor_.expect("]", "after the dimensions");
    if (cursor_.accept("blocks")) {
      cursor_.expect("(", "before the size of blocks");
      const ir::Token at = cursor_.peek();
      const std::optional<int64_t> size = ir::const_int(exprs_.expr());
      const std::optional<int64_t> channels =
          out.rank() > 1 && out.shape[1] ? ir::const_int(out.shape[1]) : std::nullopt;
      if (!size || *size < 1 || !channels || *channels % *size != 0)
        cursor_.fail("graph.parse.blocks", at, "such blocks do not fill dimension 1",
                     "give a size that divides its extent");
      cursor_.expect(")", "after the size of blocks");
      out.layout = channel_blocks(out.shape, *size);
    }
    return out;
  }

  Origin origin() {
    if (!cursor_.at("at") || cursor_.peek_next().kind != ir::TokenKind::String) return {};
    cursor_.next();
    return {cursor_.expect_string("the origin")};
  }

  /// symbol n in 0..64 of 0..100 div 4 likely [8, 16] = dim(%x, 0)
  void symbol() {
    const ir::Token name = cursor_.expect_name("a symbol");
    SymbolInfo info;
    info.symbol.var = ir::Var(std::string(name.text));
    cursor_.expect("in", "before the range");
    info.symbol.min = cursor_.expect_int("the least value");
    cursor_.expect("..", "in the range");
    info.symbol.max = cursor_.expect_int("the greatest value", info.symbol.min);
    if (cursor_.accept("of")) {
      const int64_t min = cursor_.expect_int("the least value that a run gives");
      cursor_.expect("..", "in the range");
      info.given = {min, cursor_.expect_int("the greatest value that a run gives", min)};
    }
    if (cursor_.accept("div")) info.symbol.divisor = cursor_.expect_int("the divisor", 1);
    if (cursor_.accept("likely")) {
      cursor_.expect("[", "before the likely values");
      do info.symbol.likely.push_back(cursor_.expect_int("a value"));
      while (cursor_.accept(","));
      cursor_.expect("]", "after the likely values");
    }
    cursor_.expect("=", "before where the symbol comes from");
    const bool dim = cursor_.at("dim"), element = cursor_.at("element"),
               extent = cursor_.at("extent");
    if ((dim || element || extent) && cursor_.next_is("(")) {
      cursor_.next();
      cursor_.next();
      const ValueId value = mention();
      cursor_.expect(",", "after the value");
      const int64_t at =
          cursor_.expect_int("a place in the value", 0, element ? kMaxElements : int64_t{1000});
      cursor_.expect(")", "after the place");
      if (dim) info.source = FromInput{value, static_cast<int>(at)};
      if (element) info.source = FromElement{value, at};
      if (extent) info.source = FromExtent{value, static_cast<int>(at)};
    } else {
      info.source = FromFormula{exprs_.expr()};
    }
    info.origin = origin();
    names_.declare(cursor_, name, info.symbol.var);
    graph_.symbols.push_back(std::move(info));
  }

  Check check() {
    cursor_.expect("check", "");
    Check out{.condition = exprs_.expr(), .message = {}, .origin = {}};
    cursor_.expect(",", "before the message");
    out.message = cursor_.expect_string("the message");
    out.origin = origin();
    return out;
  }

  /// constant %w: f32[2] = [1.0, 2.0]     sizes %s: i64[2] = [n, 4]
  void given(bool constant) {
    const ir::Token at = cursor_.peek();
    const ValueId id = define();
    cursor_.expect("=", "before the content");
    if (id == kNoValue || !graph_.type(id).tensor())
      cursor_.fail("graph.text.constant", at, "only tensors have a content",
                   "give it a type with dimensions");
    const TensorType type = *graph_.type(id).tensor();
    if (constant)
      graph_.value(id).constant = content(type);
    else
      graph_.value(id).elements = formulas();
  }

  /// default %x: f32[2] = [1.0, 2.0]
  void input_default() {
    const ir::Token at = cursor_.peek();
    const ValueId id = mention();
    cursor_.expect(":", "before the type of the default");
    const Type type = this->type();
    cursor_.expect("=", "before the content");
    if (id == kNoValue || !type.tensor())
      cursor_.fail("graph.text.constant", at, "only tensors have a content",
                   "give it a type with dimensions");
    graph_.defaults[id] = content(*type.tensor());
  }

  Constant content(const TensorType& type) {
    const ir::Token at = cursor_.peek();
    const std::optional<std::vector<int64_t>> shape = const_dims(type.shape);
    int64_t count = 1;
    for (const int64_t d : shape.value_or(std::vector<int64_t>{-1}))
      if (d < 0 || __builtin_mul_overflow(count, d, &count) || count > (int64_t{1} << 32))
        cursor_.fail("graph.text.constant", at, "a constant of impossible size",
                     "give constants a shape of small numbers");
    if (cursor_.at("elided"))
      cursor_.fail("graph.text.elided", at, "the content of this constant was left out",
                   "print the graph with all constants");
    if (type.strings)
      return string_constant(
          *shape, list<std::string>(at, count, [&] { return cursor_.expect_string("a string"); }));
    const bool splat = cursor_.accept("splat");
    if (ir::is_float(type.elem)) {
      const auto number = [&] { return float_number(type.elem); };
      return float_constant(type.elem, *shape,
                            splat ? std::vector<double>(static_cast<size_t>(count), number())
                                  : list<double>(at, count, number));
    }
    const auto number = [&] { return cursor_.expect_int("an element"); };
    return int_constant(type.elem, *shape,
                        splat ? std::vector<int64_t>(static_cast<size_t>(count), number())
                              : list<int64_t>(at, count, number));
  }

  double float_number(ir::Elem elem) {
    const bool negative = cursor_.accept("-");
    const ir::Token at = cursor_.next();
    double value = 0;
    if (at.is("inf")) {
      value = std::numeric_limits<double>::infinity();
    } else if (at.is("nan")) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      const bool number = at.kind == ir::TokenKind::Int || at.kind == ir::TokenKind::Float;
      const std::optional<double> read = number ? ir::parse_float(elem, at.text) : std::nullopt;
      if (!read)
        cursor_.fail("graph.text.number", at, str("expected a number, found ", ir::describe(at)),
                     str("write a number that ", ir::name(elem), " can hold"));
      value = *read;
    }
    return negative ? -value : value;
  }

  /// `[a, b, …]` of any length, or of `count` elements.
  template <class T, class F>
  std::vector<T> list(const ir::Token& at, int64_t count, F&& element) {
    std::vector<T> out;
    cursor_.expect("[", "before the elements");
    if (!cursor_.accept("]")) {
      do out.push_back(element());
      while (cursor_.accept(","));
      cursor_.expect("]", "after the elements");
    }
    if (count >= 0 && static_cast<int64_t>(out.size()) != count)
      cursor_.fail("graph.text.constant", at, str(out.size(), " elements for a shape of ", count),
                   "give as many as it has");
    return out;
  }

  Function function(bool main) {
    const ir::Token at = cursor_.peek();
    if (++nesting_ > kMaxNesting)
      cursor_.fail("graph.text.depth", at, "functions nested too deeply", "use fewer levels");
    Function out;
    out.name = word_or_string("a function");
    cursor_.expect("(", "before the inputs");
    if (!cursor_.accept(")")) {
      do out.inputs.push_back(define());
      while (cursor_.accept(","));
      cursor_.expect(")", "after the inputs");
    }
    cursor_.expect("{", "before the nodes");
    while (cursor_.at("check")) out.checks.push_back(check());
    while (!cursor_.accept("return")) out.nodes.push_back(node());
    while (!cursor_.at("}")) {
      out.outputs.push_back(mention());
      if (main) {
        const std::string name =
            cursor_.accept("as") ? cursor_.expect_string("the user's name") : std::string();
        const ValueId id = out.outputs.back();
        graph_.output_names.push_back(name.empty() && id >= 0 ? graph_.value(id).name : name);
      }
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect("}", "after the results");
    --nesting_;
    return out;
  }

  /// %a: f32[8], _ = op(%x, _, %w: const f32[2]) {axis = 1} body(…) {…} at "…"
  Node node() {
    Node out;
    do out.outputs.push_back(define());
    while (cursor_.accept(","));
    cursor_.expect("=", "before the operator");
    const ir::Token name = cursor_.expect_word("an operator");
    out.op = name.text == group_op().name ? &group_op() : find_op_(name.text);
    if (!out.op)
      cursor_.fail("graph.text.operator", name, str("there is no operator `", name.text, "`"),
                   "check its spelling against the list of operators");
    cursor_.expect("(", "before the inputs");
    if (!cursor_.accept(")")) {
      do {
        out.inputs.push_back(mention());
        if (cursor_.accept(":")) {
          cursor_.expect("const", "before the type of a constant");
          type();  // it stands where the constant is given
        }
      } while (cursor_.accept(","));
      cursor_.expect(")", "after the inputs");
    }
    out.attrs = attrs(*out.op);
    if (cursor_.accept("by")) {
      const ir::Token name = cursor_.expect_name("an algorithm");
      const auto& all = out.op->algorithms;
      const auto found = std::ranges::find(all, name.text, &Algorithm::name);
      if (found == all.end())
        cursor_.fail("graph.parse.algorithm", name,
                     str("`", out.op->name, "` has no algorithm `", name.text, "`"),
                     "leave it out, or name one of the operator's");
      out.algorithm = static_cast<size_t>(found - all.begin());
    }
    while ((cursor_.at(ir::TokenKind::Name) || cursor_.at(ir::TokenKind::String)) &&
           cursor_.next_is("("))
      out.bodies.push_back(function(false));
    out.origin = origin();
    return out;
  }

  Attrs attrs(const OpDef& op) {
    AttrList list = op.read_attrs({}).list();  // the kind of each is that of its default
    if (cursor_.accept("{")) {
      do {
        const ir::Token name = cursor_.expect_word("an attribute");
        NamedAttr* found = nullptr;
        for (NamedAttr& a : list)
          if (a.name == name.text) found = &a;
        if (!found)
          cursor_.fail("graph.text.attribute", name,
                       str("`", op.name, "` has no attribute `", name.text, "`"),
                       "leave it out, or check its spelling");
        cursor_.expect("=", "after the attribute");
        std::visit([&](auto& value) { read(value); }, found->value);
      } while (cursor_.accept(","));
      cursor_.expect("}", "after the attributes");
    }
    return op.read_attrs(list);
  }

  void read(int64_t& v) { v = cursor_.expect_int("the attribute"); }
  void read(double& v) { v = float_number(ir::Elem::F64); }
  void read(std::string& v) { v = cursor_.expect_string("the attribute"); }
  template <class T>
  void read(std::vector<T>& v) {
    v = list<T>(cursor_.peek(), -1, [&] {
      T element{};
      read(element);
      return element;
    });
  }
  void read(Constant& v) {
    v = nullptr;
    if (cursor_.accept("none")) return;
    const ir::Token at = cursor_.expect("const", "before the type");
    const Type t = type();
    if (!t.tensor())
      cursor_.fail("graph.text.constant", at, "only tensors have a content",
                   "give it a type with dimensions");
    v = content(*t.tensor());
  }

  ir::Cursor cursor_;
  ir::Names names_;
  ir::ExprParser exprs_;
  FindOp find_op_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<bool> known_;                                   // by value: has it a type?
  std::vector<std::pair<std::string, ir::Token>> mentioned_;  // each value where it is first named
  int nesting_ = 0;
};

}  // namespace

Graph parse(std::shared_ptr<const Source> source, FindOp find_op) {
  return Reader(std::move(source), find_op).run();
}

Graph parse(std::string_view text, FindOp find_op) {
  return parse(std::make_shared<const Source>(Source{"text", std::string(text)}), find_op);
}

}  // namespace tilewright::graph
