// SPDX-License-Identifier: Apache-2.0
#include "ops/control.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/onnx_node.h"
#include "ir/rewrite.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

void add_values(const Function& body, std::unordered_set<ValueId>& values) {
  values.insert(body.inputs.begin(), body.inputs.end());
  for (const Node& node : body.nodes) {
    values.insert(node.outputs.begin(), node.outputs.end());
    for (const Function& inner : node.bodies) add_values(inner, values);
  }
}

/// The symbols whose values only the bodies know.
class InnerSymbols {
 public:
  explicit InnerSymbols(const Call& call) : graph_(call.graph()) {
    for (const Function& body : call.bodies()) add_values(body, values_);
  }

  /// Of a graph's thousands, those are looked at that results mention, and what these follow from.
  bool contains(const ir::Var& var) {
    std::vector<ir::Var> open{var};  // not recursion: chains are as long as models
    while (!open.empty()) {
      const ir::Var v = open.back();
      if (known_.contains(v)) {
        open.pop_back();
        continue;
      }
      bool is_inner = false, waits = false;
      const SymbolInfo* s = graph_.symbol_index.with_var(graph_.symbols, *v.get());
      if (const FromElement* e = s ? std::get_if<FromElement>(&s->source) : nullptr)
        is_inner = values_.contains(e->value);
      if (const FromExtent* e = s ? std::get_if<FromExtent>(&s->source) : nullptr)
        is_inner = values_.contains(e->value);
      if (const FromFormula* f = s ? std::get_if<FromFormula>(&s->source) : nullptr)
        for (const ir::Var& from : ir::vars_of(f->formula)) {
          const auto known = known_.find(from);
          if (known == known_.end())
            open.push_back(from), waits = true;
          else
            is_inner = is_inner || known->second;
        }
      if (waits) continue;
      known_.emplace(v, is_inner);
      open.pop_back();
    }
    return known_.at(var);
  }

 private:
  Graph& graph_;
  std::unordered_set<ValueId> values_;
  std::unordered_map<ir::Var, bool> known_;
};

/// The type as it is seen outside of the bodies.
Type outside(const Type& type, InnerSymbols& inner) {
  if (const SequenceType* s = type.sequence())
    return SequenceType{std::make_shared<const Type>(outside(*s->element, inner)), s->empty};
  if (const OptionalType* o = type.optional())
    return OptionalType{std::make_shared<const Type>(outside(*o->element, inner)), o->empty};
  const TensorType* t = type.tensor();
  if (!t) return type;
  TensorType out = *t;
  for (Dim& d : out.shape) {
    if (!d) continue;
    for (const ir::Var& v : ir::vars_of(d))
      if (inner.contains(v)) {
        d = Dim();
        break;
      }
  }
  return out;
}

Type merged_or_refused(const Call& call, size_t result, const Type& a, const Type& b) {
  const std::optional<Type> both = merged(a, b);
  if (!both)
    call.refuse("ops.control.types",
                str("result ", result, " is ", print(a), " or ", print(b), ", as it happens"),
                "let both ways give the same kind of value");
  return *both;
}

void need_condition(const Call& call, size_t i) {
  const TensorType& cond = call.tensor(i);
  if (cond.elem != Elem::Bool || cond.strings)
    call.refuse("ops.control.condition", str("the condition is ", print(Type(cond))),
                "give a bool tensor of one element");
  call.check(ir::eq(graph::elements(cond.shape), 1), "a condition has one element");
}

std::vector<Type> infer_if(const Call& call) {
  need_condition(call, 0);
  const Function &yes = call.bodies().at(0), &no = call.bodies().at(1);
  if (yes.outputs.size() != no.outputs.size())
    call.refuse(
        "ops.if.outputs",
        str("one branch has ", yes.outputs.size(), " outputs, the other ", no.outputs.size()),
        "give both branches as many as the node has");
  InnerSymbols inner(call);
  std::vector<Type> types;
  for (size_t i = 0; i < yes.outputs.size(); ++i)
    types.push_back(merged_or_refused(call, i, outside(call.graph().type(yes.outputs[i]), inner),
                                      outside(call.graph().type(no.outputs[i]), inner)));
  return types;
}

/// What the value is a copy of, as far as the body makes it.
ValueId without_copies(const Function& body, ValueId id) {
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node)
    if (node->op->name == "identity" && node->outputs[0] == id) id = node->inputs[0];
  return id;
}

/// Does the trip count alone end the loop?
bool counts_only(const Call& call) {
  const auto is_true = [](const ConstantNode* c) { return c && int_at(*c, 0) != 0; };
  const Function& body = call.bodies().at(0);
  const bool starts = !call.has(1) || is_true(call.constant(1));
  const ValueId goes_on = without_copies(body, body.outputs.at(0));
  return call.has(0) && starts &&
         (goes_on == body.inputs.at(1) || is_true(call.graph().value(goes_on).constant.get()));
}

std::vector<Type> infer_loop(const Call& call) {
  if (call.has(1)) need_condition(call, 1);
  const Function& body = call.bodies().at(0);
  const size_t carried = body.inputs.size() - 2;
  InnerSymbols inner(call);
  std::vector<Type> types;
  for (size_t i = 0; i < carried; ++i) {
    const Type& taken = call.graph().type(body.inputs[i + 2]);
    types.push_back(taken.unranked() ? taken
                                     : merged_or_refused(
                                           call, i, call.type(i + 2),
                                           outside(call.graph().type(body.outputs[i + 1]), inner)));
  }
  for (size_t i = carried + 1; i < body.outputs.size(); ++i) {
    const Type type = outside(call.graph().type(body.outputs[i]), inner);
    const TensorType* t = type.tensor();
    if (!t)
      call.refuse("ops.loop.output", str("output ", i, " of the body is ", print(type)),
                  "give a tensor of known rank, so that those of all iterations can be stacked");
    TensorType stacked = *t;
    stacked.shape.insert(stacked.shape.begin(),
                         counts_only(call) ? call.extent(ir::max(call.element(0, 0), 0)) : Dim());
    types.push_back(stacked);
  }
  return types;
}

std::vector<Type> infer_pick(const Call& call) {
  TensorType type = call.tensor(0);
  const int axis = normal_axis(call, call.attrs<PickAttrs>().axis, type.rank());
  type.shape.erase(type.shape.begin() + axis);
  return {type};
}

std::vector<te::Tensor> pick(const Call& call) {
  const PickAttrs& attrs = call.attrs<PickAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const te::Expr last = te::Expr(call.shape(0)[static_cast<size_t>(axis)]) - 1;
  return {te::compute("picked", call.out_shape(), [&](const std::vector<te::Var>& v) {
    At at = indices_of(v);
    const te::Expr i = call.in(1)();
    at.insert(at.begin() + axis, attrs.reverse ? last - i : i);
    return call.in(0).at(at);
  })};
}

std::vector<Type> infer_holds(const Call& call) {
  call.elements(0);
  return {tensor_of(Elem::Bool, {})};
}

std::vector<te::Tensor> define_holds(const Call& call) {
  return {te::compute(te::Shape{}, [&] { return te::Expr(ir::ne(call.element(0, 0), Dim(0))); })};
}

void if_from_onnx(const OnnxNode& n, Builder& g) {
  const OnnxSubgraph &yes = n.attr_graph("then_branch"), &no = n.attr_graph("else_branch");
  if (const ConstantNode* c = g.constant_of(n.need(0)); c && c->count() == 1) {
    g.outputs(n, g.splice((int_at(*c, 0) != 0 ? yes : no).build(g, {})));
    return;
  }
  std::vector<Function> bodies;
  bodies.push_back(yes.build(g, {}));
  bodies.push_back(no.build(g, {}));
  g.outputs(n, g.calls(if_op(), {}, {n.need(0)}, yes.outputs(), std::move(bodies)));
}

}  // namespace

ValueId holds(Builder& g, const ir::Expr& condition) {
  return g.call(holds_op(), {}, {g.formulas({as_int(condition)})});
}

bool hands_on(std::string_view op) {
  constexpr std::string_view kHandOn[] = {
      "Identity", "SequenceConstruct",  "SequenceInsert",    "SequenceAt",
      "Optional", "OptionalGetElement", "OptionalHasElement"};
  return std::ranges::count(kHandOn, op) > 0;
}

bool ranks_differ(const Builder& g, const Function& a, const Function& b) {
  const auto is_list = [](const TensorType& t) {
    return t.rank() == 1 && !t.strings && !ir::is_float(t.elem) && ir::const_int(t.shape[0]);
  };
  if (a.outputs.size() != b.outputs.size()) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const std::optional<Type> both = merged(g.type(a.outputs[i]), g.type(b.outputs[i]));
    if (both && both->unranked()) return true;
    const TensorType *x = g.type(a.outputs[i]).tensor(), *y = g.type(b.outputs[i]).tensor();
    if (x && y && is_list(*x) && is_list(*y) && !same(x->shape[0], y->shape[0])) return true;
  }
  return false;
}

void require_condition(Builder& g, ValueId condition, bool value, const std::string& why) {
  const std::vector<ValueId> inputs{condition};
  const Call call(g.graph(), if_op(), Attrs(), inputs, g.origin(), {});
  need_condition(call, 0);
  call.check(value ? ir::ne(call.element(0, 0), 0) : ir::eq(call.element(0, 0), 0),
             str("what follows this If works only where its condition is ",
                 value ? "true" : "false", why.empty() ? "" : ": else ", why));
}

std::optional<Type> merged(const Type& a, const Type& b) {
  const auto same_elem = [](const auto& x, const auto& y) {
    return x.strings == y.strings && (x.strings || x.elem == y.elem);
  };
  const TensorType *ta = a.tensor(), *tb = b.tensor();
  if (ta && tb) {
    if (!same_elem(*ta, *tb)) return std::nullopt;
    if (ta->rank() != tb->rank()) return UnrankedType{ta->elem, ta->strings};
    TensorType out = *ta;
    for (size_t d = 0; d < out.shape.size(); ++d)
      if (!same(ta->shape[d], tb->shape[d])) out.shape[d] = Dim();
    return out;
  }
  if (const UnrankedType* u = a.unranked()) {
    if (tb && same_elem(*u, *tb)) return a;
    if (b.unranked() && same_elem(*u, *b.unranked())) return a;
    return std::nullopt;
  }
  if (b.unranked()) return merged(b, a);
  if (const SequenceType *x = a.sequence(), *y = b.sequence(); x && y) {
    if (x->empty) return b;
    if (y->empty) return a;
    if (const std::optional<Type> element = merged(*x->element, *y->element))
      return sequence_of(*element);
  }
  if (const OptionalType *x = a.optional(), *y = b.optional(); x && y) {
    if (x->empty) return b;
    if (y->empty) return a;
    if (const std::optional<Type> element = merged(*x->element, *y->element))
      return optional_of(*element);
  }
  return std::nullopt;
}

namespace {

void for_each_use(const Node& node, FunctionRef<void(ValueId)> use) {
  for (const ValueId id : node.inputs) use(id);
  for (const Function& body : node.bodies) {
    for (const Node& inner : body.nodes) for_each_use(inner, use);
    for (const ValueId id : body.outputs) use(id);
  }
}

/// These and the values that are computed from them, in whatever iteration.
std::set<ValueId> computed_from(const std::vector<ValueId>& inputs, const Function& body) {
  std::unordered_map<ValueId, std::vector<const Node*>> readers;
  for (const Node& node : body.nodes)
    for_each_use(node, [&](ValueId id) { readers[id].push_back(&node); });
  std::unordered_multimap<ValueId, ValueId> next;  // a result is an input of the next iteration
  for (size_t i = 0; i + 1 < body.outputs.size() && i + 2 < body.inputs.size(); ++i)
    next.emplace(body.outputs[i + 1], body.inputs[i + 2]);
  std::set<ValueId> seen;
  std::vector<ValueId> left = inputs;
  while (!left.empty()) {
    const ValueId id = left.back();
    left.pop_back();
    if (!seen.insert(id).second) continue;
    for (auto [at, end] = next.equal_range(id); at != end; ++at) left.push_back(at->second);
    const auto found = readers.extract(id);
    if (found.empty()) continue;
    for (const Node* node : found.mapped())
      left.insert(left.end(), node->outputs.begin(), node->outputs.end());
  }
  return seen;
}

/// Lists of integers may be shapes, whose length is to be known.
bool may_forget(const TensorType& t) { return t.rank() > 1 || t.strings || ir::is_float(t.elem); }

}  // namespace

Function loop_body(Builder& g, std::vector<Type> carried,
                   FunctionRef<Function(const std::vector<Type>& carried)> build) {
  // Where each value takes the extents of the one before, one more changes in each round: after
  // these, extents are forgotten of all that is computed from what has changed.
  constexpr int kExactRounds = 4;
  for (int round = 1;; ++round) {
    const Builder::Checkpoint before = g.checkpoint();
    Function body = build(carried);
    std::vector<Type> wider = carried;
    std::vector<ValueId> changed;
    for (size_t i = 0; i < carried.size(); ++i) {
      const Type &in = g.type(body.inputs[i + 2]), &out = g.type(body.outputs[i + 1]);
      if (same(in, out)) continue;
      // Kinds that do not go together are refused when the loop's types are inferred.
      const std::optional<Type> both = merged(in, out);
      if (!both || same(*both, in)) continue;
      // Where `in` is a symbol for an extent that was null already, it stays null.
      Type next = *both;
      if (TensorType* t = std::get_if<TensorType>(&next))
        if (const TensorType* c = carried[i].tensor())
          for (size_t d = 0; d < t->shape.size(); ++d)
            if (!c->shape[d]) t->shape[d] = Dim();
      if (same(next, carried[i])) continue;
      wider[i] = std::move(next);
      changed.push_back(body.inputs[i + 2]);
    }
    if (changed.empty()) return body;
    if (round == kExactRounds) {
      const std::set<ValueId> reached = computed_from(changed, body);
      for (size_t i = 0; i < wider.size(); ++i)
        if (TensorType* t = std::get_if<TensorType>(&wider[i]);
            t && may_forget(*t) && reached.contains(body.inputs[i + 2]))
          std::ranges::fill(t->shape, Dim());
    }
    carried = std::move(wider);
    g.rollback(before);
  }
}

const OpDef& if_op() {
  static const OpDef def = define_op({.name = "if",
                                      .infer = infer_if,
                                      .special = Special::Control,
                                      .onnx = {{.op = "If", .from = 1, .rule = if_from_onnx}}});
  return def;
}

const OpDef& loop_op() {
  static const OpDef def = define_op({.name = "loop",
                                      .infer = infer_loop,
                                      .special = Special::Control,
                                      .onnx = {{.op = "Loop", .from = 1, .rule = loop_from_onnx}}});
  return def;
}

/// (x: i64[1], known as a formula): is it another number than 0?
const OpDef& holds_op() {
  static const OpDef def = define_op({.name = "holds",
                                      .fusion = FusionKind::Injective,
                                      .infer = infer_holds,
                                      .algorithms = {{.name = "direct", .define = define_holds}}});
  return def;
}

const OpDef& pick_op() {
  static const OpDef def =
      define_op<PickAttrs>({.name = "pick",
                            .fusion = FusionKind::Injective,
                            .infer = infer_pick,
                            .algorithms = {{.name = "direct", .define = pick}}});
  return def;
}

}  // namespace tilewright::ops
