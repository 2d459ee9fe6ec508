// SPDX-License-Identifier: Apache-2.0
#include "ops/program_of.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;

/// A name that texts of the loop IR can hold.
std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "v");
  return out;
}

void add_vars(const ir::Expr& e, std::unordered_set<ir::Var>& vars) { vars.merge(ir::vars_of(e)); }

void add_vars(const te::Stage& stage, std::unordered_set<ir::Var>& vars) {
  for (size_t i = 0; i < stage->outputs.size(); ++i)
    for (const ir::Expr& e : stage->outputs[i]->shape) add_vars(e, vars);
  if (const te::Compute* c = stage->as<te::Compute>()) {
    for (const auto* axes : {&c->axes, &c->reduce_axes})
      for (const te::Iter& axis : *axes) add_vars(axis.extent, vars);
    for (const ir::Expr& value : c->values) add_vars(value, vars);
  }
  if (const te::Scan* s = stage->as<te::Scan>()) {
    add_vars(s->time.extent, vars);
    for (const te::Stage& inner : s->body) add_vars(inner, vars);
  }
}

/// The stages behind the tensors, each once.
void collect(const te::Stage& stage, std::unordered_set<te::Stage>& seen) {
  if (!seen.insert(stage).second) return;
  for (const te::Tensor& t : stage->reads) collect(t.stage(), seen);
}

std::vector<ir::Symbol> symbols_among(const Graph& graph, const std::unordered_set<ir::Var>& vars) {
  std::vector<ir::Symbol> out;
  for (const SymbolInfo& s : graph.symbols)
    if (vars.contains(s.symbol.var)) out.push_back(s.symbol);
  return out;
}

class Composer {
 public:
  Composer(Graph& graph, const std::string& name) : graph_(graph), name_(name) {}

  void add(const Node& node) {
    require(!node.op->algorithms.empty(), "an operator without a tensor expression in a group");
    const std::vector<te::Tensor> results =
        tensors_of(graph_, node, [&](ValueId id) { return tensor(id); });
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) tensors_.insert_or_assign(node.outputs[i], results.at(i));
  }

  KernelProgram finish(const std::vector<ValueId>& outputs) {
    std::vector<te::Tensor> results;
    std::unordered_set<te::Stage> stages;
    for (const ValueId id : outputs) {
      results.push_back(tensors_.at(id));
      collect(results.back().stage(), stages);
    }
    std::unordered_set<ir::Var> vars;
    for (const te::Stage& s : stages) add_vars(s, vars);
    KernelProgram out{.name = name_,
                      .program = {},
                      .loops = {},
                      .inputs = {},
                      .outputs = outputs,
                      .symbols = symbols_among(graph_, vars)};
    std::vector<te::Tensor> inputs;
    for (const auto& [id, tensor] : placeholders_)
      if (stages.contains(tensor.stage())) {
        out.inputs.push_back(id);
        inputs.push_back(tensor);
      }
    out.program = te::program(name_, std::move(inputs), std::move(results), out.symbols);
    return out;
  }

 private:
  te::Tensor tensor(ValueId id) {
    if (const auto found = tensors_.find(id); found != tensors_.end()) return found->second;
    const Value& v = graph_.value(id);
    const TensorType& type = *v.type.tensor();
    const std::optional<te::Tensor> known = known_tensor(v);
    const te::Tensor t =
        known ? *known : te::placeholder(identifier(v.name), type.elem, te_shape(type.shape));
    if (!known) placeholders_.emplace_back(id, t);
    tensors_.emplace(id, t);
    return t;
  }

  Graph& graph_;
  const std::string& name_;
  std::map<ValueId, te::Tensor> tensors_;
  std::vector<std::pair<ValueId, te::Tensor>> placeholders_;  // in the order of first use
};

KernelProgram loops_of(Graph& graph, const Node& node, const std::string& name) {
  Call call(graph, *node.op, node.attrs, node.inputs, node.origin, node.bodies);
  std::vector<Type> types;
  for (const ValueId id : node.outputs) types.push_back(graph.type(id));
  call.bind({}, types);
  KernelProgram out{.name = name,
                    .program = {},
                    .loops = node.op->loops(call),
                    .inputs = {},
                    .outputs = node.outputs,
                    .symbols = {}};
  out.loops->name = name;
  for (const ValueId id : node.inputs)
    if (id != kNoValue) out.inputs.push_back(id);
  require(out.loops->params.size() == out.inputs.size() + out.outputs.size(),
          "an imperative operator has one parameter for each input and output");
  out.symbols = out.loops->symbols;
  return out;
}

}  // namespace

std::optional<te::Tensor> known_tensor(const Value& v) {
  if (!v.constant || v.constant->is_strings || v.constant->count() != 1) return std::nullopt;
  const ConstantNode& c = *v.constant;
  const ir::Expr value = ir::is_float(c.elem)       ? ir::float_imm(c.elem, number_at(c, 0))
                         : c.elem == ir::Elem::Bool ? ir::bool_imm(int_at(c, 0) != 0)
                                                    : ir::int_imm(c.elem, int_at(c, 0));
  return te::compute(identifier(v.name), te_shape(dims(c.shape)),
                     [&](const std::vector<te::Var>&) { return te::Expr(value); });
}

std::vector<te::Tensor> tensors_of(Graph& graph, const Node& node,
                                   FunctionRef<te::Tensor(ValueId)> tensor) {
  std::vector<std::optional<te::Tensor>> inputs;
  for (const ValueId id : node.inputs) {
    const TensorType* t = id == kNoValue ? nullptr : graph.type(id).tensor();
    inputs.push_back(!t || t->strings ? std::nullopt : std::optional(tensor(id)));
  }
  std::vector<Type> types;
  for (const ValueId id : node.outputs) types.push_back(graph.type(id));
  Call call(graph, *node.op, node.attrs, node.inputs, node.origin, node.bodies);
  call.bind(std::move(inputs), types);
  const Algorithm* chosen = nullptr;
  const auto& algorithms = node.op->algorithms;
  for (size_t i = node.algorithm; i < algorithms.size() && !chosen; ++i)
    if (!algorithms[i].applies || algorithms[i].applies(call)) chosen = &algorithms[i];
  require(chosen, "no algorithm of the operator applies");
  return chosen->define(call);
}

bool is_computed(const OpDef& op) { return op.loops || !op.algorithms.empty(); }

KernelProgram program_of(Graph& graph, const std::vector<Node>& nodes,
                         const std::vector<ValueId>& outputs, const std::string& name) {
  if (nodes.size() == 1 && nodes[0].op->loops) return loops_of(graph, nodes[0], name);
  Composer composer(graph, name);
  for (const Node& node : nodes) composer.add(node);
  return composer.finish(outputs);
}

}  // namespace tilewright::ops
