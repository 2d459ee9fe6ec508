// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_model.h"

#include <algorithm>
#include <unordered_map>

#include "driver/plan_symbols.h"
#include "graph/op_def.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "module/plan_builder.h"
#include "support/str.h"
#include "target/llvm/compile.h"

namespace tilewright::driver {
namespace {

using namespace graph;
using graph::ValueId;
using PlanValueId = tilewright::ValueId;

ElemType elem_type(const TensorType& t) {
  return t.strings ? ElemType::String : static_cast<ElemType>(t.elem);
}
static_assert(static_cast<int>(ElemType::Bool) == static_cast<int>(ir::Elem::Bool) &&
              static_cast<int>(ElemType::U2) == static_cast<int>(ir::Elem::U2) &&
              static_cast<int>(ElemType::F64) == static_cast<int>(ir::Elem::F64));

ValueType value_type(const Type& type, int depth = 0) {
  if (const TensorType* t = type.tensor()) return {elem_type(*t), {}};
  if (const UnrankedType* t = type.unranked())
    return {t->strings ? ElemType::String : static_cast<ElemType>(t->elem), {}};
  require(depth < 3, "sequences and optionals nest at most three deep");
  const bool is_sequence = type.sequence() != nullptr;
  ValueType out =
      value_type(is_sequence ? *type.sequence()->element : *type.optional()->element, depth + 1);
  for (int i = 2; i > 0; --i) out.wraps[i] = out.wraps[i - 1];
  out.wraps[0] = is_sequence ? ValueType::Wrap::Sequence : ValueType::Wrap::Optional;
  return out;
}

Port port_of(const Graph& graph, ValueId id, const std::string& name) {
  Port port{.name = name, .type = value_type(graph.type(id)), .dims = {}};
  const TensorType* t = graph.type(id).tensor();
  if (!t) return port;
  for (const Dim& dim : t->shape) {
    PortDim d;
    if (const std::optional<int64_t> c = ir::const_int(dim)) {
      d.value = d.min = d.max = *c;
    } else {
      d.symbol = ir::print(dim);
      for (const SymbolInfo& s : graph.symbols)
        if (s.symbol.var == dim) {
          d.min = s.symbol.min;
          d.max = s.symbol.max;
          d.divisor = s.symbol.divisor;
        }
    }
    port.dims.push_back(d);
  }
  return port;
}

/// Offsets of values of known size in one arena: the largest first, each at the lowest place where
/// it meets none that lives at the same time.
class Arena {
 public:
  struct Item {
    ValueId id;
    int64_t bytes;
    int first, last;  // nodes
    int64_t offset = 0;
  };

  void add(Item item) { items_.push_back(item); }

  void place() {
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
    std::vector<const Item*> placed;
    for (Item& item : items_) {
      std::vector<const Item*> rivals;
      for (const Item* p : placed)
        if (p->first <= item.last && item.first <= p->last) rivals.push_back(p);
      std::sort(rivals.begin(), rivals.end(),
                [](const Item* a, const Item* b) { return a->offset < b->offset; });
      int64_t at = 0;
      for (const Item* r : rivals) {
        if (at + item.bytes <= r->offset) break;
        at = std::max(at, r->offset + r->bytes);
      }
      item.offset = at;
      bytes_ = std::max(bytes_, at + item.bytes);
      placed.push_back(&item);
      offsets_[item.id] = at;
    }
  }

  bool has(ValueId id) const { return offsets_.contains(id); }
  int64_t offset(ValueId id) const { return offsets_.at(id); }
  int64_t bytes() const { return bytes_; }

 private:
  std::vector<Item> items_;
  std::unordered_map<ValueId, int64_t> offsets_;
  int64_t bytes_ = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const BuiltKernels& kernels, Module& module)
      : graph_(graph),
        kernels_(kernels),
        module_(module),
        plan_(module),
        symbols_(graph, plan_, [this](ValueId id) { return value(id); }) {}

  Plan run() {
    const Function& main = graph_.main();
    for (size_t i = 0; i < main.inputs.size(); ++i) {
      module_.inputs.push_back(port_of(graph_, main.inputs[i], graph_.value(main.inputs[i]).name));
      symbols_.bind_input(static_cast<uint32_t>(i), main.inputs[i]);
    }
    for (const ValueId id : main.outputs)
      module_.outputs.push_back(port_of(graph_, id, graph_.value(id).name));
    symbols_.early();
    for (const Check& c : graph_.checks)
      if (symbols_.is_early(c.condition)) check(c);
    lifetimes(main);
    const int64_t bytes = (arena_.bytes() + 63) / 64 * 64;
    plan_.end_prologue(plan_.constant(bytes), bytes);
    for (size_t i = 0; i < main.inputs.size(); ++i)
      values_[main.inputs[i]] = plan_.input(static_cast<uint32_t>(i));
    outputs(main);
    nodes(main, graph_.checks);
    deliver(main);
    return plan_.finish();
  }

 private:
  void check(const Check& c) {
    plan_.check(symbols_.reg(c.condition), str(c.origin.text, ": ", c.message));
  }

  /// Which values of the main function live from which node to which, and places for those whose
  /// size is known. A view lives in the value that it looks at.
  void lifetimes(const Function& main) {
    std::unordered_map<ValueId, int> first, last;
    std::unordered_map<ValueId, ValueId> roots;
    const auto root = [&](ValueId id) {
      const auto found = roots.find(id);
      return found == roots.end() ? id : found->second;
    };
    std::unordered_map<ir::Var, ValueId> read_by_symbol;
    const int end = static_cast<int>(main.nodes.size());
    for (int i = 0; i < end; ++i) {
      const Node& node = main.nodes[static_cast<size_t>(i)];
      uses(node, [&](ValueId id) { last[root(id)] = i; });
      for (const ValueId id : node.outputs) {
        if (id == kNoValue) continue;
        if (node.op->special == Special::View) roots[id] = root(node.inputs[0]);
        first[id] = i;
        last[root(id)] = std::max(last[root(id)], i);
      }
    }
    // What a symbol is read from must be there for whoever asks first: until the end.
    for (const SymbolInfo& s : graph_.symbols) {
      if (const FromElement* e = std::get_if<FromElement>(&s.source)) last[root(e->value)] = end;
      if (const FromExtent* e = std::get_if<FromExtent>(&s.source)) last[root(e->value)] = end;
    }
    for (const ValueId id : main.outputs) last[root(id)] = end;
    for (const Node& node : main.nodes) {
      if (node.op->special == Special::View || node.op->special == Special::Control ||
          !node.op->host.empty())
        continue;
      for (const ValueId id : node.outputs) {
        const TensorType* t = id == kNoValue ? nullptr : graph_.type(id).tensor();
        if (!t || graph_.value(id).constant || is_output(main, id)) continue;
        const std::optional<int64_t> count = ir::const_int(graph::elements(t->shape));
        if (!count) continue;
        const int64_t bytes = (byte_size(t->elem, *count) + 63) / 64 * 64;
        arena_.add({.id = id, .bytes = bytes, .first = first[id], .last = last[root(id)]});
      }
    }
    arena_.place();
    last_ = std::move(last);
    roots_ = std::move(roots);
  }

  static bool is_output(const Function& main, ValueId id) {
    return std::find(main.outputs.begin(), main.outputs.end(), id) != main.outputs.end();
  }

  template <class F>
  static void uses(const Node& node, F&& f) {
    for (const ValueId id : node.inputs)
      if (id != kNoValue) f(id);
    for (const Function& body : node.bodies) {
      for (const Node& inner : body.nodes) uses(inner, f);
      for (const ValueId id : body.outputs) f(id);
    }
  }

  /// The first output that is a value made by a kernel is made in place; `deliver` copies the rest.
  void outputs(const Function& main) {
    for (size_t i = 0; i < main.outputs.size(); ++i) {
      const ValueId id = main.outputs[i];
      const TensorType* t = graph_.type(id).tensor();
      const bool made = made_in_place(main, id) && !in_place_.contains(id);
      const auto index = static_cast<uint32_t>(i);
      if (!made) continue;
      in_place_[id] = index;
      if (std::all_of(t->shape.begin(), t->shape.end(),
                      [&](const Dim& d) { return symbols_.is_early(d); }))
        values_[id] = plan_.output(index, symbols_.regs(t->shape));
    }
  }

  bool made_in_place(const Function& main, ValueId id) const {
    if (graph_.value(id).constant || !graph_.type(id).tensor()) return false;
    for (const Node& node : main.nodes)
      if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end())
        return node.op->special == Special::None || node.op->special == Special::Group
                   ? node.op->host.empty()
                   : false;
    return false;
  }

  void deliver(const Function& main) {
    for (size_t i = 0; i < main.outputs.size(); ++i) {
      const ValueId id = main.outputs[i];
      const auto index = static_cast<uint32_t>(i);
      if (const auto found = in_place_.find(id); found != in_place_.end() && found->second == index)
        continue;
      const TensorType* t = graph_.type(id).tensor();
      if (t && !t->strings) {
        const PlanValueId out = plan_.output(index, symbols_.regs(t->shape));
        if (!std::all_of(t->shape.begin(), t->shape.end(),
                         [&](const Dim& d) { return symbols_.is_early(d); }))
          plan_.alloc(out);
        plan_.copy(out, value(id));
      } else {
        plan_.share(plan_.output(index), value(id));
      }
    }
  }

  void nodes(const Function& f, const std::vector<Check>& checks) {
    for (size_t i = 0; i < f.nodes.size(); ++i) {
      const Node& node = f.nodes[i];
      for (const Check& c : checks)
        if (c.origin.text == node.origin.text && !symbols_.is_early(c.condition)) check(c);
      if (std::all_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId id) { return id == kNoValue || graph_.value(id).constant; }))
        continue;
      run(node);
      if (&f == &graph_.main()) release(static_cast<int>(i));
    }
  }

  void run(const Node& node) {
    if (node.op->special == Special::View) {
      const ValueId id = node.outputs[0];
      const TensorType& t = *graph_.type(id).tensor();
      const PlanValueId from = value(node.inputs[0]);
      values_[id] = plan_.view(from, plan_.constant(0), elem_type(t), symbols_.regs(t.shape));
      plan_.define(values_[id]);
    } else if (const auto use = kernels_.uses.find(&node); use != kernels_.uses.end()) {
      call(use->second);
    } else if (!node.op->host.empty()) {
      host(node);
    } else {
      throw Error({.code = "driver.plan.operator",
                   .at = {},
                   .message = str("`", node.op->name, "` cannot be run yet"),
                   .notes = {str("at ", node.origin.text)},
                   .help = "leave this operator out of the model"});
    }
  }

  void call(const KernelUse& use) {
    const BuiltKernel& kernel = kernels_.kernels[use.kernel];
    std::vector<PlanValueId> buffers;
    for (const ValueId id : use.inputs) buffers.push_back(value(id));
    for (const ValueId id : use.outputs) buffers.push_back(make(id));
    std::vector<Reg> scalars;
    ir::VarMap known;  // the kernel's own symbols by the graph's
    for (size_t i = 0; i < use.symbols.size(); ++i) {
      scalars.push_back(symbols_.reg(use.symbols[i].var));
      known[kernel.func.symbols.at(i).var] = use.symbols[i].var;
    }
    const auto bytes = [&](const ir::Expr& e) {
      return symbols_.reg(simplified(ir::substitute(e, known)));
    };
    plan_.call(static_cast<uint32_t>(use.kernel), buffers, scalars,
               {bytes(kernel.code.workspace.shared), bytes(kernel.code.workspace.per_worker)});
  }

  void host(const Node& node) {
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
      if (id == kNoValue) {
        outputs.push_back(kNone);
        continue;
      }
      const TensorType* t = graph_.type(id).tensor();
      values_[id] =
          plan_.dynamic(value_type(graph_.type(id)), t ? static_cast<uint32_t>(t->rank()) : 0);
      outputs.push_back(values_[id]);
    }
    plan_.host_call(node.op->host, attributes, inputs, outputs);
  }

  /// The value that a kernel writes: an output, a place in the arena, or memory of its own.
  PlanValueId make(ValueId id) {
    if (const auto found = values_.find(id); found != values_.end()) return found->second;
    const TensorType& t = *graph_.type(id).tensor();
    const std::vector<Reg> dims = symbols_.regs(t.shape);
    PlanValueId v;
    if (const auto output = in_place_.find(id); output != in_place_.end()) {
      v = plan_.output(output->second, dims);
      plan_.alloc(v);
    } else if (arena_.has(id)) {
      v = plan_.arena(plan_.constant(arena_.offset(id)), elem_type(t), dims);
    } else {
      v = plan_.dynamic(elem_type(t), dims);
      plan_.alloc(v);
      dynamic_.push_back(id);
    }
    return values_[id] = v;
  }

  /// Gives back what was allocated and is used for the last time by node i.
  void release(int i) {
    std::erase_if(dynamic_, [&](ValueId id) {
      if (last_.at(id) > i) return false;
      plan_.free(values_.at(id));
      return true;
    });
  }

  PlanValueId value(ValueId id) {
    if (const auto found = values_.find(id); found != values_.end()) return found->second;
    const Value& v = graph_.value(id);
    require(static_cast<bool>(v.constant), "a value is used before it is computed");
    const ConstantNode& c = *v.constant;
    const auto index = static_cast<uint32_t>(module_.constants.size());
    if (c.is_strings) {
      module_.constants.push_back(packed(c));
    } else {
      module_.constants.push_back({c.bytes.data(), c.bytes.size(), v.constant.shared()});
    }
    return values_[id] =
               plan_.constant_value(index, elem_type(c.type()), symbols_.regs(dims(c.shape)));
  }

  /// Strings as the module keeps them: offsets, then the characters.
  static ConstantData packed(const ConstantNode& c) {
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

  const Graph& graph_;
  const BuiltKernels& kernels_;
  Module& module_;
  PlanBuilder plan_;
  PlanSymbols symbols_;
  Arena arena_;
  std::unordered_map<ValueId, PlanValueId> values_;
  std::unordered_map<ValueId, uint32_t> in_place_;  // outputs that kernels write themselves
  std::unordered_map<ValueId, int> last_;
  std::unordered_map<ValueId, ValueId> roots_;
  std::vector<ValueId> dynamic_;
};

KernelParam::Access access_of(ir::Access access) {
  return access == ir::Access::In    ? KernelParam::Access::Read
         : access == ir::Access::Out ? KernelParam::Access::Write
                                     : KernelParam::Access::Update;
}

}  // namespace

void plan_model(const Graph& graph, const BuiltKernels& kernels, CodeImage image,
                const ir::TargetSpec& target, Module& module) {
  ModuleVariant variant;
  variant.triple = target.triple;
  variant.code = std::move(image);
  variant.needs.arch = arch_of(target.triple);
  add_features(variant.needs, target::llvm::feature_list(target));
  for (const BuiltKernel& k : kernels.kernels) {
    KernelEntry entry{.name = k.name, .params = {}};
    entry.scalars = static_cast<uint32_t>(k.func.symbols.size());
    for (const auto& [name, offset] : variant.code.entries)
      if (name == k.code.entry) entry.offset = offset;
    for (const ir::Param& p : k.func.params) entry.params.push_back({access_of(p.access), 0});
    variant.kernels.push_back(std::move(entry));
  }
  variant.plan = Planner(graph, kernels, module).run();
  for (const auto& [key, text] : graph.metadata) module.metadata.emplace_back(key, text);
  module.variants.push_back(std::move(variant));
}

}  // namespace tilewright::driver
