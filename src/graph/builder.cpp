// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <algorithm>
#include <iterator>

#include "graph/narrow.h"
#include "graph/onnx_node.h"
#include "graph/op_def.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

/// The content of a result whose elements are all constants.
Constant content_of(const TensorType& type, const std::vector<Dim>& elements) {
  const std::optional<std::vector<int64_t>> shape = const_dims(type.shape);
  if (!shape) return nullptr;
  std::vector<int64_t> values;
  for (const Dim& e : elements) {
    const std::optional<int64_t> c = ir::const_int(e);
    if (!c) return nullptr;
    values.push_back(*c);
  }
  return int_constant(type.elem, *shape, values);
}

bool has_at_most(const Dim& formula, int most) {
  int nodes = 0;
  const auto count = [&](const auto&) { return ++nodes <= most; };  // false: not further down
  ir::walk(
      formula, [&](const ir::Binary& e) { return count(e); },
      [&](const ir::Select& e) { return count(e); }, [&](const ir::Call& e) { return count(e); });
  return nodes <= most;
}

/// Formulas of formulas would grow without end: what a long one says is read when the program runs.
bool is_carried(const Dim& formula) { return has_at_most(formula, 24); }

/// Sums that no longer fit 64 bits are not simplified, and double with each node that doubles. A
/// rank may grow with each node too; the runtime knows none above kMaxRank.
void refuse_endless(const Call& call, const Type& type) {
  constexpr int kMost = 10'000, kMaxRank = 32;
  const TensorType* t = type.tensor();
  if (t && t->rank() > kMaxRank)
    call.refuse("graph.shape.rank", str("a result would have ", t->rank(), " dimensions"),
                str("use at most ", kMaxRank, " dimensions"));
  if (t && !std::ranges::all_of(t->shape, [](const Dim& d) { return !d || has_at_most(d, kMost); }))
    call.refuse("graph.dim.endless", "a dimension of the result is a formula without end",
                "give the model's dimensions values with --dim, or cut it in two");
}

}  // namespace

Builder::Builder() {
  open_.push_back({.name = "main", .inputs = {}, .outputs = {}, .nodes = {}, .checks = {}});
}

Builder::Builder(Graph graph) : Builder() {
  graph_ = std::move(graph);
  graph_.functions.clear();
}

std::string Builder::fresh(std::string name) {
  if (name.empty()) name = "v";
  if (names_.empty())  // most passes make no value
    for (const Value& v : graph_.values) names_.emplace(v.name, 1);
  const int seen = names_[name]++;
  if (!seen) return name;
  return fresh(str(name, "_", seen));
}

ValueId Builder::add_value(std::string name, Type type) {
  graph_.values.push_back({.name = fresh(std::move(name)),
                           .type = std::move(type),
                           .constant = nullptr,
                           .elements = std::nullopt});
  const auto id = static_cast<ValueId>(graph_.values.size()) - 1;
  if (const TensorType* t = graph_.values.back().type.tensor()) {
    TensorType known = *t;
    for (size_t d = 0; d < known.shape.size(); ++d) {
      if (known.shape[d]) continue;
      const SymbolInfo extent{.symbol = {.var = ir::Var(str(graph_.values.back().name, ".dim", d)),
                                         .min = 0,
                                         .max = kElementLimit,
                                         .likely = {}},
                              .source = FromExtent{id, static_cast<int>(d)},
                              .origin = origin_};
      graph_.symbols.push_back(extent);
      known.shape[d] = extent.symbol.var;
    }
    graph_.values.back().type = std::move(known);
  }
  return id;
}

Dim Builder::symbol(const std::string& name, int64_t min, int64_t max) {
  const auto found = symbols_.find(name);
  if (found != symbols_.end()) return found->second;
  // Bound to a dimension by the first input that uses it.
  const SymbolInfo info{.symbol = {.var = ir::Var(name), .min = min, .max = max, .likely = {}},
                        .source = FromInput{kNoValue, 0},
                        .origin = {}};
  unbound_.emplace(info.symbol.var.get(), graph_.symbols.size());
  graph_.symbols.push_back(info);
  return symbols_[name] = info.symbol.var;
}

ValueId Builder::input(const std::string& name, Type type) {
  require(open_.size() == 1, "inputs of the model stand outside of bodies");
  const ValueId id = add_value(name, std::move(type));
  open_[0].inputs.push_back(id);
  if (const TensorType* t = graph_.type(id).tensor())
    for (int d = 0; d < t->rank(); ++d)
      if (const auto node = unbound_.extract(t->shape[static_cast<size_t>(d)].get()))
        graph_.symbols[node.mapped()].source = FromInput{id, d};
  return id;
}

ValueId Builder::constant(Constant content, const std::string& name) {
  const ValueId id = add_value(name.empty() ? "c" : name, content->type());
  graph_.value(id).constant = std::move(content);
  return id;
}

ValueId Builder::ints(const std::vector<int64_t>& values) {
  return constant(int_constant(ir::Elem::I64, {static_cast<int64_t>(values.size())}, values));
}

ValueId Builder::formulas(std::vector<Dim> elements) {
  const ValueId id = add_value(
      "shape",
      TensorType{.elem = ir::Elem::I64, .shape = dims({static_cast<int64_t>(elements.size())})});
  graph_.value(id).elements = std::move(elements);
  return id;
}

ValueId Builder::scalar(ir::Elem elem, double value) {
  return constant(ir::is_float(elem) ? float_constant(elem, {}, {value})
                                     : int_constant(elem, {}, {static_cast<int64_t>(value)}));
}

void Builder::output(ValueId value, const std::string& name) {
  open_[0].outputs.push_back(value);
  graph_.output_names.push_back(name.empty() ? graph_.value(value).name : name);
}

ValueId Builder::call(const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs) {
  return calls(op, attrs, inputs, 1)[0];
}

std::vector<ValueId> Builder::calls(const OpDef& op, const Attrs& attrs,
                                    const std::vector<ValueId>& inputs, size_t outputs,
                                    std::vector<Function> bodies) {
  Node node{.op = &op,
            .attrs = attrs,
            .inputs = inputs,
            .outputs = {},
            .bodies = std::move(bodies),
            .origin = origin_};
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
  const Call call(graph_, op, node.attrs, node.inputs, node.origin, node.bodies);
  const size_t symbols = graph_.symbols.size(), checks = graph_.checks.size();
  std::vector<Type> types = op.infer(call);
  if (narrows()) {
    forget_formulas(graph_, symbols, checks);
    types = op.infer(call);
  }
  require(outputs <= types.size(), "more results wanted than the operator gives");
  for (const Type& type : types) refuse_endless(call, type);
  std::vector<std::optional<std::vector<Dim>>> elements;
  if (op.elements) elements = op.elements(call);
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId id = add_value(std::string(op.name), std::move(types[i]));
    Value& value = graph_.value(id);
    const TensorType* t = value.type.tensor();
    if (i < elements.size() && elements[i] && t && t->rank() <= 1 &&
        static_cast<int64_t>(elements[i]->size()) <= kMaxElements &&
        std::all_of(elements[i]->begin(), elements[i]->end(), is_carried)) {
      for (Dim& e : *elements[i]) e = call.simple(e);
      if (ir::is_float(t->elem)) {
        value.wholes = std::move(elements[i]);
      } else {
        value.constant = content_of(*t, *elements[i]);
        value.elements = std::move(elements[i]);
      }
    }
    node.outputs.push_back(id);
  }
  std::vector<ValueId> ids = node.outputs;
  open_.back().nodes.push_back(std::move(node));
  return ids;
}

/// Do new checks leave fewer sizes? Those of a body say nothing about runs that do not come by.
bool Builder::narrows() {
  const size_t first =
      std::exchange(narrowed_, open_.size() == 1 ? graph_.checks.size() : narrowed_);
  return narrow(graph_, std::min(first, narrowed_), narrowed_);
}

void Builder::outputs(const OnnxNode& node, const std::vector<ValueId>& values) {
  results_ = values;
  // A result that was there before (an Identity's, say) keeps its name.
  for (size_t i = 0; i < values.size() && i < node.outputs.size(); ++i)
    if (values[i] >= first_of_origin_ && !node.outputs[i].empty())
      graph_.value(values[i]).name = fresh(node.outputs[i]);
}

void Builder::begin_body(const std::string& name) {
  open_.push_back({.name = name, .inputs = {}, .outputs = {}, .nodes = {}, .checks = {}});
  checks_before_.push_back(graph_.checks.size());
}

ValueId Builder::body_input(const std::string& name, Type type) {
  require(open_.size() > 1, "no body is open");
  const ValueId id = add_value(name, std::move(type));
  open_.back().inputs.push_back(id);
  return id;
}

Function Builder::end_body(const std::vector<ValueId>& outputs) {
  require(open_.size() > 1, "no body is open");
  Function body = std::move(open_.back());
  open_.pop_back();
  body.outputs = outputs;
  const auto first = graph_.checks.begin() + static_cast<ptrdiff_t>(checks_before_.back());
  body.checks.assign(std::make_move_iterator(first), std::make_move_iterator(graph_.checks.end()));
  graph_.checks.erase(first, graph_.checks.end());
  checks_before_.pop_back();
  return body;
}

void Builder::resume_body(Function body) {
  checks_before_.push_back(graph_.checks.size());
  std::ranges::move(body.checks, std::back_inserter(graph_.checks));
  body.checks.clear();
  body.outputs.clear();
  open_.push_back(std::move(body));
}

void Builder::rollback(const Checkpoint& to) {
  graph_.symbols.resize(to.symbols);
  graph_.checks.resize(to.checks);
  open_.resize(to.open);
  open_.back().nodes.resize(to.nodes);
  checks_before_.resize(to.open - 1);
  if (to.checks >= narrowed_) return;  // nothing is taken back that ranges count on
  narrowed_ = to.checks;
  narrow_again(graph_, narrowed_);
}

void Builder::bind(ValueId value, const OpDef& op, const Attrs& attrs,
                   const std::vector<ValueId>& inputs) {
  open_.back().nodes.push_back({.op = &op,
                                .attrs = attrs,
                                .inputs = inputs,
                                .outputs = {value},
                                .bodies = {},
                                .origin = origin_});
}

std::vector<ValueId> Builder::splice(Function body) {
  for (Node& node : body.nodes) open_.back().nodes.push_back(std::move(node));
  for (Check& check : body.checks) graph_.checks.push_back(std::move(check));
  return body.outputs;
}

const TensorType& Builder::tensor(ValueId id) const {
  const TensorType* t = graph_.type(id).tensor();
  if (!t)
    throw Error({.code = "graph.input.type",
                 .at = {},
                 .message = str("`", graph_.value(id).name, "` is ", print(graph_.type(id))),
                 .notes = {str("at ", origin_.text)},
                 .help = "it must be a tensor of known rank"});
  return *t;
}

Graph Builder::take() {
  require(open_.size() == 1, "a body is still open");
  graph_.functions.push_back(std::move(open_[0]));
  return std::move(graph_);
}

}  // namespace tilewright::graph
