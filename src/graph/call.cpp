// SPDX-License-Identifier: Apache-2.0
#include "graph/call.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "arith/context.h"
#include "graph/op_def.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

/// What is known of the symbols that a condition mentions.
arith::Context context_of(Graph& graph, const ir::Expr& condition) {
  std::unordered_set<const ir::ExprNode*> mentioned;
  arith::Context context;
  ir::walk(condition, [&](const ir::VarNode& v) {
    if (!mentioned.insert(&v).second) return;
    if (const SymbolInfo* s = graph.symbol_index.with_var(graph.symbols, v))
      context.bind(s->symbol.var, arith::Interval{s->symbol.min, s->symbol.max}, s->symbol.divisor);
  });
  return context;
}

/// May the formula be simplified or proved something about? Long ones may not, and all are counted
/// against what is left of the graph's reasoning.
bool may_reason(Graph& graph, const ir::Expr& formula) {
  constexpr int64_t kLong = 200, kPrice = 40;
  int64_t nodes = 0;
  const auto count = [&](const auto&) { return ++nodes <= kLong; };  // false: not further down
  ir::walk(
      formula, [&](const ir::Binary& e) { return count(e); },
      [&](const ir::Select& e) { return count(e); }, [&](const ir::Call& e) { return count(e); });
  if (nodes > kLong || graph.reasoning_left <= 0) return false;
  graph.reasoning_left -= nodes * kPrice;
  return true;
}

/// Formulas of formulas would grow without end, and nothing is proved about long ones anyway.
bool is_short(const Dim& formula) {
  int nodes = 0;
  bool selects = false;
  ir::walk(
      formula, [&](const ir::Binary&) { ++nodes; }, [&](const ir::Select&) { selects = true; });
  return nodes <= 12 && !selects;
}

Dim add_symbol(Graph& graph, std::string name, int64_t min, int64_t max,
               decltype(SymbolInfo::source) source, const Origin& origin) {
  SymbolInfo info{.symbol = {.var = ir::Var(std::move(name)), .min = min, .max = max, .likely = {}},
                  .source = std::move(source),
                  .origin = origin};
  graph.symbols.push_back(info);
  return info.symbol.var;
}

}  // namespace

Call::Call(Graph& graph, const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs,
           const Origin& origin, const std::vector<Function>& bodies)
    : graph_(graph), op_(op), attrs_(attrs), inputs_(inputs), origin_(origin), bodies_(bodies) {}

bool Call::has(size_t i) const { return i < inputs_.size() && inputs_[i] != kNoValue; }

const Value& Call::value(size_t i) const {
  if (!has(i))
    refuse("graph.input.missing", str("input ", i, " of `", op_.name, "` is missing"),
           "give the node all inputs that its operator needs");
  return graph_.value(inputs_[i]);
}

const Type& Call::type(size_t i) const { return value(i).type; }

const TensorType& Call::tensor(size_t i) const {
  const Value& v = value(i);
  if (const TensorType* t = v.type.tensor()) return *t;
  refuse("graph.input.type",
         str("input ", i, " of `", op_.name, "`, `", v.name, "`, is ", print(v.type)),
         "it must be a tensor of known rank");
}

const ConstantNode* Call::constant(size_t i) const {
  return has(i) ? value(i).constant.get() : nullptr;
}

std::optional<std::vector<Dim>> Call::known_elements(size_t i) const {
  const Value& v = value(i);
  if (v.elements) return v.elements;
  if (v.wholes) return v.wholes;
  if (!v.constant || v.constant->is_strings || v.constant->count() > kMaxElements)
    return std::nullopt;
  std::vector<Dim> out;
  if (!ir::is_float(v.constant->elem)) {
    for (const int64_t value : ints_of(*v.constant)) out.push_back(value);
    return out;
  }
  for (const double value : numbers_of(*v.constant)) {
    const bool whole = std::trunc(value) == value && std::abs(value) <= kElementLimit;
    if (!whole || (value == 0 && std::signbit(value))) return std::nullopt;
    out.push_back(static_cast<int64_t>(value));
  }
  return out;
}

Dim Call::element(size_t i, int64_t k) const {
  const Value& v = value(i);
  const TensorType& t = tensor(i);
  if (t.strings || ir::is_float(t.elem))
    refuse("graph.input.type",
           str("input ", i, " of `", op_.name, "`, `", v.name, "`, holds ",
               t.strings ? "strings" : ir::name(t.elem)),
           "it must hold integers");
  const std::optional<int64_t> count =
      v.constant ? v.constant->count() : ir::const_int(graph::elements(t.shape));
  if (k < 0 || (count && k >= *count))
    refuse("graph.input.short",
           str("input ", i, " of `", op_.name, "`, `", v.name, "`, is ", print(v.type)),
           str("it must have at least ", k + 1, " element", k == 0 ? "" : "s"));
  if (v.constant) {
    const int64_t value = int_at(*v.constant, k);
    return ir::int_imm(ir::Elem::I64, std::min(std::max(value, -kElementLimit), kElementLimit));
  }
  if (v.elements) {
    const Dim& known = v.elements->at(static_cast<size_t>(k));
    const std::optional<int64_t> c = ir::const_int(known);
    return c ? Dim(std::min(std::max(*c, -kElementLimit), kElementLimit)) : known;
  }
  if (const SymbolInfo* s = graph_.symbol_index.with_element(graph_.symbols, inputs_[i], k))
    return s->symbol.var;
  return add_symbol(graph_, str(v.name, ".", k), -kElementLimit, kElementLimit,
                    FromElement{inputs_[i], k}, origin_);
}

std::vector<Dim> Call::elements(size_t i) const {
  const TensorType& t = tensor(i);
  const std::optional<int64_t> count = ir::const_int(graph::elements(t.shape));
  if (t.rank() > 1 || !count || *count > kMaxElements)
    refuse("graph.input.elements",
           str("input ", i, " of `", op_.name, "`, `", value(i).name, "`, is ", print(Type(t))),
           str("it must be a list of at most ", kMaxElements, " integers, of constant length"));
  std::vector<Dim> out;
  for (int64_t k = 0; k < *count; ++k) out.push_back(element(i, k));
  return out;
}

bool Call::proves(const ir::Expr& condition) const {
  if (const std::optional<int64_t> c = ir::const_int(condition)) return *c != 0;
  return may_reason(graph_, condition) && context_of(graph_, condition).can_prove(condition);
}

Dim Call::simple(const Dim& formula) const {
  if (ir::const_int(formula) || formula.as<ir::VarNode>() || !may_reason(graph_, formula))
    return formula;
  return context_of(graph_, formula).simplify(formula);
}

Dim Call::extent(const Dim& formula) const {
  const Dim simple = this->simple(formula);
  if (const std::optional<int64_t> c = ir::const_int(simple)) {
    if (*c < 0)
      refuse("graph.shape.negative", str("`", op_.name, "` would give a dimension of ", *c),
             "check the shapes of its inputs and its attributes");
    return simple;
  }
  if (is_short(simple) && proves(ir::int_imm(ir::Elem::I64, 0) <= simple)) return simple;
  if (const SymbolInfo* s = graph_.symbol_index.with_formula(graph_.symbols, simple))
    return s->symbol.var;
  return add_symbol(graph_, str("d", graph_.symbols.size()), 0, kElementLimit, FromFormula{simple},
                    origin_);
}

void Call::check(const ir::Expr& condition, std::string_view message) const {
  const ir::Expr simple = this->simple(condition);
  if (const std::optional<int64_t> c = ir::const_int(simple)) {
    if (!*c) refuse("graph.shape.mismatch", std::string(message), "check the shapes of its inputs");
    return;
  }
  if (proves(simple)) return;
  if (proves(ir::logical_not(simple)))
    refuse("graph.shape.mismatch", std::string(message), "check the shapes of its inputs");
  // A definition asks what the inference of types has asked in the function where the node stands.
  if (!outputs_.empty()) return;
  // Rules ask the same again, soon after; the plan drops what is left.
  constexpr ptrdiff_t kLook = 32;
  const auto last =
      graph_.checks.rbegin() + std::min(kLook, static_cast<ptrdiff_t>(graph_.checks.size()));
  for (auto known = graph_.checks.rbegin(); known != last; ++known)
    if (known->origin.text == origin_.text && ir::equal(known->condition, simple)) return;
  graph_.checks.push_back({simple, std::string(message), origin_});
}

Dim Call::equal(const Dim& a, const Dim& b, std::string_view what) const {
  if (same(a, b)) return ir::const_int(b) ? b : a;
  check(ir::eq(a, b), str("`", op_.name, "`: ", what, ": ", ir::print(a), " and ", ir::print(b),
                          " must be equal"));
  return ir::const_int(b) ? b : a;
}

void Call::refuse(std::string_view code, std::string message, std::string help,
                  std::vector<std::string> notes) const {
  if (!origin_.text.empty()) notes.insert(notes.begin(), str("at ", origin_.text));
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (has(i))
      notes.push_back(str("input ", i, " `", graph_.value(inputs_[i]).name,
                          "`: ", print(graph_.type(inputs_[i]))));
  throw Error({.code = code,
               .at = {},
               .message = std::move(message),
               .notes = std::move(notes),
               .help = std::move(help)});
}

const te::Tensor& Call::in(size_t i) const {
  require(i < tensors_.size() && tensors_[i], "a definition reads an input that is not bound");
  return *tensors_[i];
}

const TensorType& Call::out(size_t i) const {
  const TensorType* t = outputs_.at(i).tensor();
  require(t, "a definition of a result that is no tensor");
  return *t;
}

te::Shape Call::out_shape(size_t i) const { return te_shape(out(i).shape); }

void Call::bind(std::vector<std::optional<te::Tensor>> inputs, std::vector<Type> outputs) {
  tensors_ = std::move(inputs);
  outputs_ = std::move(outputs);
}

void refuse_attribute(const std::string& name) {
  throw Error({.code = "graph.attribute.unknown",
               .at = {},
               .message = str("there is no attribute `", name, "`"),
               .notes = {},
               .help = "leave it out, or check its spelling"});
}

te::Shape te_shape(const Shape& shape) { return te::Shape(shape.begin(), shape.end()); }

namespace {

/// The dimension that repeats to both; it may be 1 only when the program runs.
Dim joined(const Call& call, const Dim& x, const Dim& y, size_t at) {
  if (same(x, y) || (ir::const_int(x) && ir::const_int(y)))
    return call.equal(x, y, str("dimension ", at, " of the inputs"));
  call.check(ir::logical_or(ir::eq(x, y), ir::logical_or(ir::eq(x, 1), ir::eq(y, 1))),
             str("dimension ", at, " of the inputs, ", ir::print(x), " and ", ir::print(y),
                 ", must be equal or 1"));
  // What is not 1 is not repeated.
  if (ir::const_int(x) || call.proves(ir::ne(x, 1))) return x;
  if (ir::const_int(y) || call.proves(ir::ne(y, 1))) return y;
  return call.extent(ir::select(ir::eq(x, 1), y, x));
}

template <class Join>
Shape broadcast_by(const Shape& a, const Shape& b, Join&& join) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {  // from the last dimension
    const size_t at = rank - 1 - i;
    if (i >= a.size())
      out[at] = b[b.size() - 1 - i];
    else if (i >= b.size())
      out[at] = a[a.size() - 1 - i];
    else {
      const Dim &x = a[a.size() - 1 - i], &y = b[b.size() - 1 - i];
      out[at] = ir::is_const(x, 1) ? y : ir::is_const(y, 1) ? x : join(x, y, at);
    }
  }
  return out;
}

}  // namespace

Shape broadcast(const Call& call, const Shape& a, const Shape& b) {
  return broadcast_by(a, b, [&](const Dim& x, const Dim& y, size_t at) {
    return call.equal(x, y, str("dimension ", at, " of the inputs"));
  });
}

Shape broadcast_at_run(const Call& call, const Shape& a, const Shape& b) {
  return broadcast_by(
      a, b, [&](const Dim& x, const Dim& y, size_t at) { return joined(call, x, y, at); });
}

int normal_axis(const Call& call, int64_t axis, int rank) {
  const int64_t normal = axis < 0 ? axis + rank : axis;
  if (rank == 0)
    call.refuse("graph.axis.none", str("axis ", axis, " of a tensor without dimensions"),
                "give a tensor with at least one");
  if (normal < 0 || normal >= rank)
    call.refuse("graph.axis.range", str("axis ", axis, " of a tensor of rank ", rank),
                str("use an axis between ", -rank, " and ", rank - 1));
  return static_cast<int>(normal);
}

}  // namespace tilewright::graph
