// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "graph/dependence.h"
#include "graph/op_def.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph),
        made_(graph.values.size()),
        open_(graph.values.size()),
        named_(graph.values.size()),
        depths_(graph.values.size()),
        complete_(graph.symbols.size(), kOpen) {
    symbols_.reserve(graph.symbols.size());
    for (const SymbolInfo& s : graph.symbols) symbol(s);
    first_part_.push_back(parts_.size());
  }

  void run() {
    for (const Function& f : graph_.functions) {
      function(f);
      for (const Check& c : &f == &graph_.main() ? graph_.checks : f.checks)
        formula(c.condition, nullptr);
      close(f, depth_);
    }
    for (const auto& [id, content] : graph_.defaults) has_default(id, content);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError(
        str("the graph is broken: ", what,
            at_ ? str(" (at `", at_->op ? at_->op->name : "?", "` ", at_->origin.text, ")")
                : std::string()));
  }
  void check(bool ok, const std::string& what) const {
    if (!ok) fail(what);
  }

  /// Its sizes are compared when the module runs, as those of other inputs are.
  void has_default(ValueId id, const Constant& content) {
    check(std::ranges::find(graph_.main().inputs, id) != graph_.main().inputs.end(),
          "there is a default for something that is no input");
    const Value& v = graph_.value(id);
    const TensorType* type = v.type.tensor();
    check(type && !type->strings && !content->is_strings && type->elem == content->elem &&
              type->rank() == content->type().rank(),
          str("the default of %", v.name, " is ", print(Type(content->type())), ", the input ",
              print(v.type)));
  }

  void symbol(const SymbolInfo& s) {
    first_part_.push_back(parts_.size());
    if (const FromFormula* f = std::get_if<FromFormula>(&s.source))
      ir::walk(f->formula, [&](const ir::VarNode& var) {
        const auto found = symbols_.find(&var);
        if (found == symbols_.end())
          fail(str("symbol `", s.symbol.var.name(), "` is made of `", var.name,
                   "`, which comes later"));
        parts_.push_back(found->second);
      });
    if (!symbols_.emplace(s.symbol.var.get(), symbols_.size()).second)
      fail(str("symbol `", s.symbol.var.name(), "` stands twice in the list"));
  }
  /// The symbols that the formula of one mentions.
  std::span<const size_t> parts(size_t symbol) const {
    return std::span(parts_).subspan(first_part_[symbol],
                                     first_part_[symbol + 1] - first_part_[symbol]);
  }

  /// Is everything known that the formula of a value is made of, or of a check?
  void formula(const ir::Expr& e, const Value* value) {
    std::vector<size_t> open;  // not known to be complete
    const auto add = [&](size_t symbol) {
      // Chains of formulas are long, and every value may mention their end: each once.
      if (complete_[symbol] != kOpen) return;
      complete_[symbol] = 0;
      open.push_back(symbol);
    };
    ir::walk(e, [&](const ir::VarNode& var) {
      const auto found = symbols_.find(&var);
      if (found == symbols_.end())
        fail(str(name_of(value), " mentions `", var.name, "`, no symbol"));
      add(found->second);
    });
    for (size_t i = 0; i < open.size(); ++i)
      for (const size_t part : parts(open[i])) add(part);
    std::ranges::sort(open);  // each after those it is made of
    for (const size_t s : open) complete(s, value);
  }

  /// Finds out until which function closes the symbol stays known.
  void complete(size_t symbol, const Value* value) {
    const SymbolInfo& s = graph_.symbols[symbol];
    size_t depth = 0;
    if (const FromElement* e = std::get_if<FromElement>(&s.source))
      depth = source(e->value, s, value);
    else if (const FromExtent* x = std::get_if<FromExtent>(&s.source))
      depth = source(x->value, s, value);
    for (const size_t part : parts(symbol)) depth = std::max(depth, complete_[part]);
    complete_[symbol] = depth;
    if (until_.size() <= depth) until_.resize(depth + 1);
    until_[depth].push_back(symbol);
  }
  size_t source(ValueId id, const SymbolInfo& s, const Value* value) const {
    if (!has(id))
      fail(str(name_of(value), " mentions `", s.symbol.var.name(), "`, read from %",
               graph_.value(id).name, ", which is not there yet"));
    return depths_[static_cast<size_t>(id)];
  }
  static std::string name_of(const Value* value) {
    return value ? str("%", value->name) : "a check";
  }

  bool has(ValueId id) const {
    const auto at = static_cast<size_t>(id);
    return id >= 0 && at < open_.size() && (open_[at] || graph_.values[at].constant);
  }

  void use(ValueId id, bool may_be_missing) {
    if (id == kNoValue && may_be_missing) return;
    if (id < 0 || static_cast<size_t>(id) >= open_.size()) fail(str("a value ", id));
    if (!has(id) && !graph_.value(id).elements)
      fail(str("%", graph_.value(id).name, " is used before it is made"));
    name(id);
  }

  void make(ValueId id) {
    if (id == kNoValue) return;
    if (id < 0 || static_cast<size_t>(id) >= open_.size()) fail(str("a value ", id));
    const auto at = static_cast<size_t>(id);
    if (made_[at]) fail(str("%", graph_.value(id).name, " is made twice"));
    made_[at] = open_[at] = true;
    depths_[at] = depth_;
    name(id);
  }

  void typed(ValueId id) {
    if (id == kNoValue) return;
    const Value& v = graph_.value(id);
    if (const TensorType* t = v.type.tensor())
      for (const Dim& d : t->shape) {
        if (!d) fail(str("%", v.name, " has a dimension without an extent"));
        if (!ir::const_int(d)) formula(d, &v);
      }
    if (v.elements && !v.constant && v.elements->size() > static_cast<size_t>(kMaxElements))
      fail(str("%", v.name, " has too many elements for formulas"));
  }

  void name(ValueId id) {
    if (named_[static_cast<size_t>(id)]) return;
    named_[static_cast<size_t>(id)] = true;
    const auto [place, fresh] = names_.emplace(graph_.value(id).name, id);
    if (!fresh && place->second != id) fail(str("two values are called %", place->first));
  }

  void function(const Function& f) {
    for (const ValueId id : f.inputs) make(id);
    for (const ValueId id : f.inputs) typed(id);
    for (const Node& n : f.nodes) node(n);
    for (const ValueId id : f.outputs) use(id, false);
    if (&f != &graph_.main())
      for (const Check& c : f.checks) formula(c.condition, nullptr);
  }

  /// What the function made is not seen after it.
  void close(const Function& f, size_t depth) {
    if (depth < until_.size())
      for (const size_t symbol : std::exchange(until_[depth], {})) complete_[symbol] = kOpen;
    for (const ValueId id : f.inputs) open_[static_cast<size_t>(id)] = false;
    for (const Node& n : f.nodes)
      for (const ValueId id : n.outputs)
        if (id != kNoValue) open_[static_cast<size_t>(id)] = false;
  }

  void node(const Node& n) {
    const Node* const around = std::exchange(at_, &n);
    check(n.op != nullptr, "a node has no operator");
    for (const ValueId id : n.inputs) use(id, true);
    ++depth_;
    for (const Function& body : n.bodies) function(body);
    --depth_;
    if (n.op->special == Special::Group) {
      group(n);
    } else {
      for (const Function& body : n.bodies) close(body, depth_ + 1);
      for (const ValueId id : n.outputs) make(id);
      for (const ValueId id : n.outputs) typed(id);
    }
    if (n.op->special == Special::View)
      check(n.outputs.size() == 1 && !n.inputs.empty() && n.inputs[0] != kNoValue,
            "a view needs one input and one result");
    at_ = around;
  }

  void group(const Node& n) {
    check(n.bodies.size() == 1, "a group needs one body");
    const Function& body = n.bodies[0];
    check(body.inputs.empty(), "the body of a group has inputs");
    check(body.outputs == n.outputs, "a group gives other results than its body");
    std::unordered_set<ValueId> made;
    for (const Node& member : body.nodes) {
      check(is_computed(*member.op), "a group holds an operator that no kernel computes");
      made.insert(member.outputs.begin(), member.outputs.end());
    }
    for (const ValueId id : n.outputs)
      check(made.contains(id), "a group's result is made elsewhere");
    close(body, depth_ + 1);
    for (const ValueId id : n.outputs) {
      open_[static_cast<size_t>(id)] = true;
      depths_[static_cast<size_t>(id)] = depth_;
    }
  }

  const Graph& graph_;
  const Node* at_ = nullptr;
  std::vector<bool> made_, open_, named_;
  size_t depth_ = 0;            // of the function that is looked at, inside of others
  std::vector<size_t> depths_;  // by value: of the function that makes it
  std::unordered_map<const ir::ExprNode*, size_t> symbols_;  // their places, by their variables
  std::vector<size_t> parts_,
      first_part_;  // what the formulas of symbols mention, one after another
  /// By symbol: all that it is made of is there, until a function of this depth closes.
  static constexpr size_t kOpen = SIZE_MAX;
  std::vector<size_t> complete_;
  std::vector<std::vector<size_t>> until_;  // by depth: such symbols
  std::unordered_map<std::string_view, ValueId> names_;
};

/// Equal where the operator says something: it may leave an extent to the run.
bool agrees(const Type& inferred, const Type& type) {
  const TensorType *a = inferred.tensor(), *b = type.tensor();
  if (!a || !b) return same(inferred, type);
  if (a->strings != b->strings || (!a->strings && a->elem != b->elem) || a->rank() != b->rank())
    return false;
  for (size_t d = 0; d < a->shape.size(); ++d)
    if (a->shape[d] && !same(a->shape[d], b->shape[d])) return false;
  return true;
}

void types_of(Graph& graph, const Function& f) {
  for (const Node& n : f.nodes) {
    for (const Function& body : n.bodies) types_of(graph, body);
    if (!n.op->infer) continue;
    const Call call(graph, *n.op, n.attrs, n.inputs, n.origin, n.bodies);
    const std::vector<Type> types = n.op->infer(call);
    if (n.outputs.size() > types.size())
      throw InternalError(str("`", n.op->name, "` has more results than its operator"));
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != kNoValue && !agrees(types[i], graph.type(n.outputs[i])))
        throw InternalError(str("%", graph.value(n.outputs[i]).name, " is ",
                                print(graph.type(n.outputs[i])), ", but `", n.op->name, "` gives ",
                                print(types[i])));
  }
}

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

void verify_types(Graph graph) {
  verify(graph);
  const std::vector<Function> functions = graph.functions;
  for (const Function& f : functions) types_of(graph, f);
}

}  // namespace tilewright::graph
