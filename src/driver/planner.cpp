// SPDX-License-Identifier: Apache-2.0
#include "driver/planner.h"

#include <algorithm>
#include <cstring>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ops/ops.h"
#include "support/bare/checksum.h"
#include "support/str.h"

namespace tilewright::driver {

using namespace graph;

namespace {

/// Does the node, or a member of the group that it is, come from there?
bool made_by(const Node& node, const Origin& origin) {
  if (node.origin.text == origin.text) return true;
  if (node.op->special != Special::Group) return false;
  const std::vector<Node>& members = node.bodies[0].nodes;
  return std::any_of(members.begin(), members.end(),
                     [&](const Node& m) { return m.origin.text == origin.text; });
}

/// Each condition once: the inference of types and the definitions of kernels ask the same.
std::vector<Check> distinct(const std::vector<Check>& checks) {
  std::vector<Check> out;
  std::unordered_multimap<size_t, size_t> known;  // by hash
  for (const Check& c : checks) {
    const size_t hash = ir::hash(c.condition);
    const auto [first, last] = known.equal_range(hash);
    if (std::any_of(first, last,
                    [&](const auto& k) { return ir::equal(out[k.second].condition, c.condition); }))
      continue;
    known.emplace(hash, out.size());
    out.push_back(c);
  }
  return out;
}

/// Strings as the module keeps them: offsets, then the characters.
ConstantData packed(const ConstantNode& c) {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  uint64_t at = 0;
  const auto add = [&](const void* data, size_t n) {
    const auto* p = static_cast<const std::byte*>(data);
    bytes->insert(bytes->end(), p, p + n);
  };
  add(&at, sizeof at);
  for (const std::string& s : c.strings) {
    at += s.size();
    add(&at, sizeof at);
  }
  for (const std::string& s : c.strings) add(s.data(), s.size());
  return {bytes->data(), bytes->size(), bytes};
}

ElemType runtime_elem(ir::Elem elem) {
  if (elem == ir::Elem::F4E2M1) return ElemType::F4E2M1;
  if (elem == ir::Elem::F8E8M0) return ElemType::F8E8M0;
  return static_cast<ElemType>(elem);
}
static_assert(static_cast<int>(ElemType::Bool) == static_cast<int>(ir::Elem::Bool) &&
              static_cast<int>(ElemType::U2) == static_cast<int>(ir::Elem::U2) &&
              static_cast<int>(ElemType::F64) == static_cast<int>(ir::Elem::F64));

}  // namespace

ElemType elem_type(const TensorType& t) {
  return t.strings ? ElemType::String : runtime_elem(t.elem);
}

namespace {

ValueType held_type(const Type& type) {
  if (const TensorType* t = type.tensor()) return {elem_type(*t), {}};
  if (const UnrankedType* t = type.unranked())
    return {t->strings ? ElemType::String : runtime_elem(t->elem), {}};
  const bool is_sequence = type.sequence() != nullptr;
  ValueType out = held_type(is_sequence ? *type.sequence()->element : *type.optional()->element);
  require(out.wraps[2] == ValueType::Wrap::None, "sequences and optionals nest at most three deep");
  out.wraps[2] = out.wraps[1];
  out.wraps[1] = out.wraps[0];
  out.wraps[0] = is_sequence ? ValueType::Wrap::Sequence : ValueType::Wrap::Optional;
  return out;
}

}  // namespace

ValueType value_type(const Type& type) {
  ValueType out = held_type(type);
  if (type.unranked()) out.wraps[0] = ValueType::Wrap::Optional;
  return out;
}

Planner::Planner(const Graph& graph, const BuiltKernels& kernels, Module& module, bool share_memory)
    : graph_(graph),
      kernels_(kernels),
      module_(module),
      share_memory_(share_memory),
      plan_(module),
      symbols_(graph, plan_, [this](ValueId id) { return value(id); }) {
  for (uint32_t i = 0; i < module.constants.size(); ++i)
    constants_.emplace(checksum(module.constants[i].data, module.constants[i].bytes), i);
}

Plan Planner::run() {
  const Function& main = graph_.main();
  ports(main);
  const std::vector<Check> checks = distinct(graph_.checks);
  const auto is_bound = [&](const Check& c) { return symbols_.is_bound(c.condition); };
  // Formulas may count on what these tell of the sizes that are given.
  for (const Check& c : checks)
    if (is_bound(c)) check(c);
  symbols_.early();
  for (const Check& c : checks)
    if (!is_bound(c) && symbols_.is_early(c.condition)) check(c);
  lifetimes(main);
  early_dims(main);
  reserve();
  guards();
  plan_.end_prologue(arena_bytes_, arena_most_);
  for (size_t i = 0; i < main.inputs.size(); ++i)
    values_[main.inputs[i]] = plan_.input(static_cast<uint32_t>(i));
  outputs(main);
  nodes(main, checks);
  deliver(main);
  return plan_.finish();
}

void Planner::check(const Check& c) {
  plan_.check(symbols_.reg(c.condition), str(c.origin.text, ": ", c.message));
}

/// So that no call asks for memory, when the declared ranges bound what it needs.
void Planner::reserve() {
  const SizeBounds bounds(graph_);
  int64_t shared = 0, per_worker = 0;
  const auto add = [&](const KernelUse& use) {
    const target::Workspace& workspace = kernels_.kernels[use.kernel].code.workspace;
    shared = std::max(shared, bounds.most(work_of(use, workspace.shared)).value_or(0));
    per_worker = std::max(per_worker, bounds.most(work_of(use, workspace.per_worker)).value_or(0));
  };
  for (const auto& [node, use] : kernels_.uses) {
    add(use);
    for (const KernelVariant& v : use.variants) add(v.use);
  }
  plan_.reserve(shared, per_worker);
}

/// Which variants run, where the inputs tell.
void Planner::guards() {
  std::map<std::string, ir::Expr> all;
  for (const auto& [node, use] : kernels_.uses)
    for (const KernelVariant& v : use.variants)
      if (symbols_.is_early(v.when)) all.emplace(ir::print(v.when), v.when);
  for (const auto& [text, when] : all) guards_[text] = symbols_.reg(when);
}

/// A formula of a kernel's own symbols by those of the graph.
ir::Expr Planner::work_of(const KernelUse& use, const ir::Expr& formula) const {
  const BuiltKernel& kernel = kernels_.kernels[use.kernel];
  ir::VarMap known;
  for (size_t i = 0; i < use.scalars.size(); ++i)
    known[kernel.func.symbols.at(i).var] = use.scalars[i];
  return simplified(ir::substitute(formula, known));
}

bool Planner::is_early(const Shape& shape) const {
  return std::all_of(shape.begin(), shape.end(),
                     [&](const Dim& d) { return symbols_.is_early(d); });
}

/// The prologue computes the dimensions that follow from the inputs, so that values with those are
/// defined before the body runs.
void Planner::early_dims(const Function& main) {
  const auto add = [&](ValueId id) {
    const TensorType* t = id == kNoValue ? nullptr : graph_.type(id).tensor();
    if (t && !t->strings && is_early(t->shape)) early_dims_[id] = symbols_.regs(t->shape);
  };
  for (const Node& node : main.nodes)
    for (const ValueId id : node.outputs) add(id);
  for (const ValueId id : main.outputs) add(id);
}

std::vector<Reg> Planner::dims_of(ValueId id) {
  const auto found = early_dims_.find(id);
  return found == early_dims_.end() ? symbols_.regs(graph_.type(id).tensor()->shape)
                                    : found->second;
}

/// An output that a kernel makes is made in place, the first time that it is listed; `deliver`
/// copies the rest.
void Planner::outputs(const Function& main) {
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    const ValueId id = main.outputs[i];
    if (in_place_.contains(id) || !made_in_place(main, id)) continue;
    in_place_[id] = static_cast<uint32_t>(i);
    if (early_dims_.contains(id)) values_[id] = plan_.output(static_cast<uint32_t>(i), dims_of(id));
  }
}

bool Planner::made_in_place(const Function& main, ValueId id) const {
  if (graph_.value(id).constant || !graph_.type(id).tensor()) return false;
  for (const Node& node : main.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end())
      return by_kernel(node);
  return false;
}

void Planner::deliver(const Function& main) {
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    const ValueId id = main.outputs[i];
    const auto index = static_cast<uint32_t>(i);
    if (const auto found = in_place_.find(id); found != in_place_.end() && found->second == index)
      continue;
    if (early_dims_.contains(id))
      plan_.copy(plan_.output(index, dims_of(id)), value(id));
    else
      plan_.share(plan_.output(index), value(id));
  }
}

/// Is everything computed that the formula's symbols are read from? One node of the model may be
/// several here, and a check about the last of them may ask for a result of the first.
bool Planner::is_known(const ir::Expr& formula) const {
  const auto has = [&](ValueId id) { return values_.contains(id) || graph_.value(id).constant; };
  for (const ir::Var& var : ir::vars_of(formula))
    for (const SymbolInfo& s : graph_.symbols) {
      if (!(s.symbol.var == var)) continue;
      if (const FromElement* e = std::get_if<FromElement>(&s.source); e && !has(e->value))
        return false;
      if (const FromExtent* e = std::get_if<FromExtent>(&s.source); e && !has(e->value))
        return false;
      if (const FromFormula* f = std::get_if<FromFormula>(&s.source); f && !is_known(f->formula))
        return false;
    }
  return true;
}

void Planner::nodes(const Function& f, const std::vector<Check>& checks) {
  std::vector<const Check*> pending;
  for (const Check& c : checks)  // early ones of the main function stand in the prologue
    if (&f != &graph_.main() || !symbols_.is_early(c.condition)) pending.push_back(&c);
  for (size_t i = 0; i < f.nodes.size(); ++i) {
    const Node& node = f.nodes[i];
    std::erase_if(pending, [&](const Check* c) {
      if (!made_by(node, c->origin) || !is_known(c->condition)) return false;
      check(*c);
      return true;
    });
    if (!std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id == kNoValue || graph_.value(id).constant; }))
      run(node);
    if (&f == &graph_.main()) release(static_cast<int>(i));
  }
  for (const Check* c : pending) check(*c);  // of nodes that passes have removed
}

void Planner::run(const Node& node) {
  if (kernels_.parts.nodes.contains(&node))
    in_place(node);
  else if (node.op == &ops::check_indices_op())
    check_indices(node);
  else if (node.op->special == Special::View)
    view(node);
  else if (const auto use = kernels_.uses.find(&node); use != kernels_.uses.end())
    call(node, use->second);
  else if (!node.op->host.empty())
    host(node);
  else if (node.op->name == "if")
    if_node(node);
  else if (node.op->name == "loop")
    loop_node(node);
  else
    throw InternalError(str("no way to run `", node.op->name, "`"));
}

void Planner::view(const Node& node) {
  const ValueId id = node.outputs[0];
  const PlanValueId from = value(node.inputs[0]);
  const TensorType* t = graph_.type(id).tensor();
  if (!t) {
    plan_.share(shared(id), from);
    return;
  }
  if (t->strings) {
    host(node);
    return;
  }
  values_[id] = plan_.view(from, plan_.constant(0), elem_type(*t), dims_of(id));
  plan_.define(values_[id]);
}

/// The result of a concat is there once its parts are; those of a split are there already.
void Planner::in_place(const Node& node) {
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) continue;
    if (arena_.contains(id)) {
      make(id);
      continue;
    }
    const Part& part = kernels_.parts.places.at(id);
    values_[id] = plan_.view(value(part.whole), symbols_.reg(part.offset),
                             elem_type(*graph_.type(id).tensor()), dims_of(id));
    plan_.define(values_[id]);
  }
}

void Planner::call(const Node& node, const KernelUse& use) {
  // Everything is computed before the choice: what one side computes the others do not know.
  struct Operands {
    std::vector<PlanValueId> buffers;
    std::vector<Reg> scalars;
    PlanBuilder::Work work;
  };
  std::vector<PlanValueId> results;
  for (const ValueId id : use.outputs) results.push_back(make(id));
  const auto operands_of = [&](const KernelUse& u) {
    Operands out;
    for (const ValueId id : u.inputs) out.buffers.push_back(value(id));
    out.buffers.insert(out.buffers.end(), results.begin(), results.end());
    out.scalars = symbols_.regs(u.scalars);
    const target::Workspace& workspace = kernels_.kernels[u.kernel].code.workspace;
    out.work = {symbols_.reg(work_of(u, workspace.shared)),
                symbols_.reg(work_of(u, workspace.per_worker))};
    return out;
  };
  const auto run = [&](const KernelUse& u, const Operands& operands) {
    plan_.call(static_cast<uint32_t>(u.kernel), operands.buffers, operands.scalars, operands.work);
    calls_.push_back({&node, &u});
  };
  std::vector<Operands> operands;
  std::vector<Reg> chosen;
  for (const KernelVariant& v : use.variants) {
    operands.push_back(operands_of(v.use));
    const auto early = guards_.find(ir::print(v.when));
    chosen.push_back(early == guards_.end() ? symbols_.reg(v.when) : early->second);
  }
  operands.push_back(operands_of(use));
  std::vector<Reg> sizes;
  if (const auto some = kernels_.parts.some.find(&node); some != kernels_.parts.some.end())
    sizes.push_back(plan_.op(PlanOp::Not, symbols_.reg(some->second)));
  for (const ir::Expr& e : use.positive) sizes.push_back(symbols_.reg(ir::max(e, ir::Expr(0))));
  const PlanBuilder::Label end = plan_.label();
  for (const Reg size : sizes) plan_.jump_if_zero(size, end);
  for (size_t i = 0; i < use.variants.size(); ++i) {
    const PlanBuilder::Label other = plan_.label();
    plan_.jump_if_zero(chosen[i], other);
    run(use.variants[i].use, operands[i]);
    plan_.jump(end);
    plan_.place(other);
  }
  run(use, operands.back());
  plan_.place(end);
}

void Planner::host(const Node& node) {
  std::vector<HostAttribute> attributes;
  for (const NamedAttr& a : node.attrs.list())
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, Constant>)
            throw InternalError("host operators take tensors as inputs, not as attributes");
          else
            attributes.push_back({a.name, v});
        },
        a.value);
  std::vector<PlanValueId> inputs, outputs;
  for (const ValueId id : node.inputs) inputs.push_back(id == kNoValue ? kNone : value(id));
  for (const ValueId id : node.outputs) {
    if (id != kNoValue) {
      const TensorType* t = graph_.type(id).tensor();
      values_[id] = plan_.dynamic(value_type(graph_.type(id)),
                                  t ? static_cast<uint32_t>(t->rank()) : 0, graph_.value(id).name);
    }
    outputs.push_back(id == kNoValue ? kNone : values_[id]);
  }
  plan_.host_call(node.op->host, attributes, inputs, outputs);
}

tilewright::ValueId Planner::make(ValueId id) {
  if (in_place_.contains(id) || arena_.contains(id))
    if (const auto found = values_.find(id); found != values_.end()) return found->second;
  const TensorType& t = *graph_.type(id).tensor();
  const std::vector<Reg> dims = dims_of(id);
  PlanValueId v;
  if (const auto output = in_place_.find(id); output != in_place_.end()) {
    v = plan_.output(output->second, dims);
    plan_.alloc(v);
  } else if (arena_.contains(id)) {
    v = plan_.arena(arena_.at(id), elem_type(t), dims);
    if (!early_dims_.contains(id)) plan_.define(v);  // no elements, whatever its other dimensions
  } else {
    v = plan_.dynamic(elem_type(t), dims, graph_.value(id).name);
    plan_.alloc(v);
    dynamic_.push_back(id);
  }
  return values_[id] = v;
}

void Planner::release(int i) {
  std::erase_if(dynamic_, [&](ValueId id) {
    if (last_.at(id) > i) return false;
    plan_.free(values_.at(id));
    return true;
  });
}

/// Constants of the same bytes are stored once: variants of a module have most in common.
uint32_t Planner::constant_index(const ConstantData& data) {
  const uint64_t sum = checksum(data.data, data.bytes);
  for (auto [at, end] = constants_.equal_range(sum); at != end; ++at) {
    const ConstantData& other = module_.constants[at->second];
    if (other.bytes == data.bytes &&
        (data.bytes == 0 || std::memcmp(other.data, data.data, data.bytes) == 0))
      return at->second;
  }
  const auto index = static_cast<uint32_t>(module_.constants.size());
  module_.constants.push_back(data);
  constants_.emplace(sum, index);
  return index;
}

tilewright::ValueId Planner::value(ValueId id) {
  if (const auto found = values_.find(id); found != values_.end()) return found->second;
  const Value& v = graph_.value(id);
  require(static_cast<bool>(v.constant), "a value is used before it is computed");
  const ConstantNode& c = *v.constant;
  const ConstantData data =
      c.is_strings ? packed(c) : ConstantData{c.bytes.data(), c.bytes.size(), v.constant.shared()};
  return values_[id] = plan_.constant_value(constant_index(data), elem_type(c.type()),
                                            symbols_.regs(dims(c.shape)));
}

}  // namespace tilewright::driver
